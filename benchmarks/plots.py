"""The figures as pictures: lateness beside the peers', drain rates, the curve of more processes."""

from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot
from matplotlib.figure import Figure

from benchmarks.results import Result, Results
from benchmarks.workload import middle
from benchmarks.workloads.burst import BURST
from benchmarks.workloads.peers import PEERS_BESIDE, variants_in
from benchmarks.workloads.scale import COPIES, SCALE, figure_name

# The workloads in which every call is answered at once.
TIMED = ("steady", "brisk", "ticking", "heavy", "burst")
PERCENTILES = ("late_p50_ms", "late_p99_ms", "late_p999_ms", "late_max_ms")
# A log axis has no zero. nginx logs whole milliseconds, so less than one is drawn as a half.
LEAST_MS = 0.5
# Makes the same figures give the same file.
mpl.rcParams["svg.hashsalt"] = "wangtimer"


def draw(results: Results, directory: Path) -> list[Path]:
    """Draw the measured results; return the files."""
    directory.mkdir(parents=True, exist_ok=True)
    held = results.by_workload
    drawn = []
    if timed := [held[name] for name in TIMED if name in held]:
        drawn.append(_draw_lateness(timed, directory / "lateness.svg"))
    if PEERS_BESIDE.name in held:
        drawn.append(_draw_peers(held[PEERS_BESIDE.name], directory / "peers.svg"))
    if BURST.name in held:
        drawn.append(_draw_drains(held[BURST.name], directory / "drains.svg"))
    if SCALE.name in held:
        drawn.append(_draw_scale(held[SCALE.name], directory / "scale.svg"))
    return drawn


def _draw_lateness(results: Iterable[Result], path: Path) -> Path:
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for result in results:
        values = [max(LEAST_MS, middle(result.values(name))) for name in PERCENTILES]
        axes.plot(["p50", "p99", "p99.9", "max"], values, "o-", label=result.workload)
    axes.set(yscale="log", ylabel="lateness, ms", title="Lateness at the target, median of the runs")
    axes.legend()
    return _save(figure, path)


def _draw_peers(result: Result, path: Path) -> Path:
    variants = variants_in(result)
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for offset, measure in ((-0.2, "steady_p99_ms"), (0.2, "ticking_p99_ms")):
        values = [max(LEAST_MS, middle(result.values(f"{measure}.{variant}"))) for variant in variants]
        axes.barh([place + offset for place in range(len(variants))], values, 0.4, label=measure)
    axes.set_yticks(range(len(variants)), [variant.replace(" (", "\n(") for variant in variants], fontsize=7)
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="ms", title="p99 lateness at 1,000/s")
    axes.legend()
    return _save(figure, path)


def _draw_drains(result: Result, path: Path) -> Path:
    named = {
        "bare CurlMulti loop": "bare_calls_per_s",
        "WangTimer": "calls_per_s",
        "WangTimer, outcome rows": "outcomes_per_s",
        "BullMQ, no SQL": "bullmq_calls_per_s",
    }
    return _draw_bars(
        {label: middle(result.values(name)) for label, name in named.items()},
        "Drain of a burst due at one moment",
        path,
    )


def _draw_scale(result: Result, path: Path) -> Path:
    rates = {
        f"{triggers} trigger\n{callbacks} callback": middle(result.values(figure_name(triggers, callbacks)))
        for triggers, callbacks in COPIES
    }
    return _draw_bars(rates, "Drain with more processes", path)


def _draw_bars(rates: dict[str, float], title: str, path: Path) -> Path:
    figure, axes = pyplot.subplots(figsize=(7, 4))
    axes.bar_label(axes.bar(list(rates), list(rates.values())), fmt="{:,.0f}")
    axes.set(ylabel="calls/s", title=title)
    return _save(figure, path)


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    pyplot.close(figure)
    return path
