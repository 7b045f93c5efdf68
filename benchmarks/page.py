"""`docs/benchmarks.md`, rendered from the results. The history that people wrote between the two marks is kept.

python -m benchmarks.page    # writes it anew from what was measured, without measuring
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path

from benchmarks.results import Result, Results
from benchmarks.stand import MARIADB_ROOM, SERVERS
from benchmarks.workload import PROMISES, Figure, Workload, middle
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.peers import MEASURES, PEERS_BESIDE, variants_in
from tests.e2e.deployment import PROCESSES

OUT = Path("docs/benchmarks.md")
BEGINS, ENDS = "<!-- history -->", "<!-- /history -->"

PAGE = """# Benchmarks

Real processes on one machine: the Procfile's, MariaDB with durable commits (`innodb_flush_log_at_trx_commit=1`; buffer
pool {pool} MiB), two Redis servers without persistence, and nginx as the target, whose log says to the millisecond
when each call came. Moments are those of the load, not those of WangTimer's tables. Timers are inserted as rows and
planned by the product's migrator; only `create` and `celery` go over HTTP. `plan`, `purge`, `messages` and `consumers`
are single processes with servers of their own. A workload that loses a firing or fires one early has failed, however
fast.

    make bench                                      # everything; what is below took {minutes} minutes
    make bench WORKLOADS="steady burst" RUNS=1      # these rows only
    make bench SCALE=0.1                            # a tenth of the timers and seconds: a smoke test
    make pair BASE=<commit>                         # that commit and this one in turns: what a change costs

A machine is not the same from one hour to the next: on 2026-11-22 unchanged code fell from 10,263 calls/s to 2,990
within a quarter of an hour. So a change is judged by a pair, not by figures of two days. The disk decides the p99 of
`create`, where each request waits for a durable commit.

{machine}

## Workloads

A commit is the latest one that changed what runs. What was measured before commits were recorded was "before" the
commit that brought the figures.

{workloads}

## Figures

Median and worst of the runs. A bound holds for the median, or for every run where it says so. What no run may have (a
lost, early or doubled firing, a failed outcome) has a line only where a run had it.

{table}

CPU seconds per 1,000 firings, median of the runs, from arming to the last outcome row:

{cpu}

## Peers in the same run

Each system with the same target and the same kinds of moments: {peers_measure}. Its setting
drained fastest of those in `benchmarks/peers/`, which names the source of each; `python -m benchmarks.peers` tries
them all. CPU is that of all its processes, its Redis or RabbitMQ included (ours: MariaDB too); only WangTimer writes
outcomes to SQL. A dash: it is not on the machine, or did not take the calls in before the first of them was due.

{peers}

## History

What was changed for speed, or made calls dearer; "dropped" was tried and is not in the code. Two or more values are
alternating runs. Figures are of 2 cores, and comparable within a row alone. Dates are of 2026.

{begins}
{history}
{ends}
"""
NO_HISTORY = "Nothing yet."


def render(results: Results, workloads: Mapping[str, Workload], history: str) -> str:
    """Return the page; `history` is what people wrote."""
    shown = {name: result for name, result in results.by_workload.items() if name in workloads}
    return PAGE.format(
        pool=MARIADB_ROOM["innodb_buffer_pool_size"] >> 20,
        minutes=round(sum(result.took_s for result in shown.values()) / 60) or "?",
        machine="\n".join(f"* {name}: {value}" for name, value in sorted(results.machine.items())),
        workloads=_workload_list(shown, workloads),
        table=_workload_table(shown, workloads),
        cpu=_cpu_table(shown, workloads),
        peers_measure=PEERS_BESIDE.measures,
        peers=_peer_table(shown.get(PEERS_BESIDE.name)),
        begins=BEGINS,
        history=history,
        ends=ENDS,
    )


def kept_history(path: Path) -> str:
    """Return the text between the marks of the existing page.

    Raises `ValueError` where a page has no marks, because its text would be lost.
    """
    if not path.exists():
        return NO_HISTORY
    text = path.read_text(encoding="utf-8")
    if BEGINS not in text or ENDS not in text:
        raise ValueError(f"{path} has no {BEGINS} ... {ENDS}: put them around the text to keep")
    return text.partition(BEGINS)[2].partition(ENDS)[0].strip() or NO_HISTORY


def row(workload: Workload, figure: Figure, result: Result) -> list[str]:
    """Return the cells of one figure."""
    values = result.values(figure.name)
    kept = ("yes" if figure.is_kept(values) else "**no**") if figure.has_bound else ""
    scale = "" if result.scale == 1 else f" (scale {result.scale:g})"
    return [
        f"{workload.name}{scale}",
        f"{_words(figure)}, {figure.unit}",
        number(middle(values)),
        number(figure.worst(values)),
        figure.bound,
        kept,
    ]


def _words(figure: Figure) -> str:
    """Return the figure's name without its unit, which has a column of its own."""
    name, size = figure.name.partition(".")[::2]
    words = name.removesuffix(f"_{figure.unit.lower()}").replace("_", " ")
    return f"{words} ({size.replace('_', ' ')})" if size else words


def number(value: float) -> str:
    """Return a figure formatted for people."""
    if isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def _workload_list(shown: Mapping[str, Result], workloads: Mapping[str, Workload]) -> str:
    return "\n".join(
        f"* **{name}**: {workload.measures}; {measured(shown[name])}"
        for name, workload in workloads.items()
        if name in shown
    )


def measured(result: Result) -> str:
    """Return how often, when, on what and by which code a workload was run, in words."""
    runs = "1 run" if len(result.runs) == 1 else f"{len(result.runs)} runs"
    return f"{runs} at {result.measured_at} UTC, commit {result.commit}, on {result.ran_on}"


def _workload_table(shown: Mapping[str, Result], workloads: Mapping[str, Workload]) -> str:
    rows = [
        row(workload, figure, shown[name])
        for name, workload in workloads.items()
        if name in shown and name != PEERS_BESIDE.name
        for figure in workload.figures
        if not _is_zero_as_promised(figure, shown[name])
    ]
    return markdown(["workload", "figure", "median", "worst", "bound", "kept"], rows)


def _is_zero_as_promised(figure: Figure, result: Result) -> bool:
    is_promise = figure in PROMISES or (figure.is_strict and figure.at_most == 0)
    return is_promise and not any(result.values(figure.name))


def _cpu_table(shown: Mapping[str, Result], workloads: Mapping[str, Workload]) -> str:
    kinds = (*PROCESSES, *SERVERS)
    rows = []
    for name in workloads:
        if name in shown and f"cpu_s_per_1000.{kinds[0]}" in shown[name].runs[0]:
            medians = [middle(shown[name].values(f"cpu_s_per_1000.{kind}")) for kind in kinds]
            rows.append([name, *(f"{value:.3f}" for value in medians)])
    return markdown(["workload", *kinds], rows)


def _peer_table(result: Result | None) -> str:
    if result is None:
        return "Not measured yet."
    rows = [
        [variant, *(number(middle(result.values(f"{measure}.{variant}"))) for measure in MEASURES)]
        for variant in variants_in(result)
    ]
    return markdown(["system (setting)", *(measure.replace("_", " ") for measure in MEASURES)], rows)


def main() -> None:
    """Write the page anew."""
    results = Results.read(OUT.with_suffix("") / "results.json")
    OUT.write_text(render(results, WORKLOADS, kept_history(OUT)), encoding="utf-8")


if __name__ == "__main__":
    main()
