"""`docs/benchmarks.md`, rendered from the results. The text that people wrote between the two marks is kept."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path

from benchmarks.results import Result, Results
from benchmarks.stand import MARIADB_ROOM, SERVERS
from benchmarks.workload import Figure, Workload, middle
from benchmarks.workloads.peers import MEASURES, OURS, PEERS_BESIDE
from tests.e2e.deployment import PROCESSES

LOG_BEGINS, LOG_ENDS = "<!-- log -->", "<!-- /log -->"

PAGE = """# Benchmarks

Real processes on one machine: the Procfile's, MariaDB with durable commits (`innodb_flush_log_at_trx_commit=1`; buffer
pool {pool} MiB), two Redis servers without persistence, and nginx as the target, whose log says to the millisecond
when each call came. Moments are those of the load, not those of WangTimer's tables. Timers are inserted as rows and
planned by the product's migrator; only `create` and `celery` go over HTTP. `messages` and `consumers` are single
processes with servers of their own. A workload that loses a firing or fires one early has failed, however fast.

    make bench                                      # everything; what is below took {minutes} minutes
    python -m benchmarks steady burst --runs 1      # these rows only
    python -m benchmarks --scale 0.1                # a tenth of the timers and seconds: a smoke test

{machine}

## Workloads

Median and worst of the runs. A bound holds for the median, or for every run where it says so.

{table}

CPU seconds per 1,000 firings, median of the runs, from arming to the last outcome row:

{cpu}

## Peers in the same run

Each system in every setting tried, with the same target and the same kinds of moments: {peers_measure}.
The best setting of each is in bold. CPU is that of all its processes, its Redis or RabbitMQ included (ours: MariaDB
too); only WangTimer writes outcomes to SQL. A dash: it is not on the machine, or did not take the calls in before the
first of them was due. Where a setting comes from stands in `benchmarks/peers/`.

{peers}

{plots}

## What was tried

{log_begins}
{log}
{log_ends}
"""
NO_LOG = "Nothing yet."


def render(results: Results, workloads: Mapping[str, Workload], plots: Sequence[str], log: str) -> str:
    """Return the page; `plots` are addresses of pictures, `log` is what people wrote."""
    shown = {name: result for name, result in results.by_workload.items() if name in workloads}
    return PAGE.format(
        pool=MARIADB_ROOM["innodb_buffer_pool_size"] >> 20,
        minutes=round(sum(result.took_s for result in shown.values()) / 60) or "?",
        machine="\n".join(f"* {name}: {value}" for name, value in results.machine.items()),
        table=_workload_table(shown, workloads),
        cpu=_cpu_table(shown, workloads),
        peers_measure=PEERS_BESIDE.measures,
        peers=_peer_table(shown.get(PEERS_BESIDE.name)),
        plots="\n\n".join(f"![{Path(plot).stem}]({plot})" for plot in plots),
        log_begins=LOG_BEGINS,
        log=log,
        log_ends=LOG_ENDS,
    )


def kept_log(path: Path) -> str:
    """Return the text between the marks of the existing page.

    Raises `ValueError` where a page has no marks, because its text would be lost.
    """
    if not path.exists():
        return NO_LOG
    text = path.read_text(encoding="utf-8")
    if LOG_BEGINS not in text or LOG_ENDS not in text:
        raise ValueError(f"{path} has no {LOG_BEGINS} ... {LOG_ENDS}: put them around the text to keep")
    return text.partition(LOG_BEGINS)[2].partition(LOG_ENDS)[0].strip() or NO_LOG


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


def _workload_table(shown: Mapping[str, Result], workloads: Mapping[str, Workload]) -> str:
    rows = [
        row(workload, figure, shown[name])
        for name, workload in workloads.items()
        if name in shown and name != PEERS_BESIDE.name
        for figure in workload.figures
    ]
    measures = "\n".join(
        f"* **{name}**: {workload.measures}; {_runs(len(shown[name].runs))} at {shown[name].measured_at} UTC "
        f"on {shown[name].ran_on}"
        for name, workload in workloads.items()
        if name in shown
    )
    return measures + "\n\n" + markdown(["workload", "figure", "median", "worst", "bound", "kept"], rows)


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"


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
    prefix = f"{MEASURES[0]}."
    variants = [name.removeprefix(prefix) for name in result.runs[0] if name.startswith(prefix)]
    best = best_variants(result)
    rows = []
    for variant in variants:
        name = f"**{variant}**" if variant in best else variant
        rows.append([name, *(number(middle(result.values(f"{measure}.{variant}"))) for measure in MEASURES)])
    return markdown(["system (setting)", *(measure.replace("_", " ") for measure in MEASURES)], rows)


def best_variants(result: Result) -> list[str]:
    """Return ours, and each peer's setting that drained fastest. Settings that lost calls count only if all did."""
    prefix = "calls_per_s."
    best: dict[str, tuple[bool, float, str]] = {}
    for name in result.runs[0]:
        if name.startswith(prefix):
            variant = name.removeprefix(prefix)
            rate = middle(result.values(name))
            lost = max(result.values(f"lost.{variant}"))
            rank = (lost == 0, 0.0 if isnan(rate) else rate, variant)
            system = variant.partition(" (")[0]
            best[system] = max(best.get(system, rank), rank)
    return sorted((variant for _, _, variant in best.values()), key=lambda variant: variant != OURS)
