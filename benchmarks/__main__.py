"""Run workloads, print each as a JSON line and table rows, and update their part of docs/benchmarks.md.

    python -m benchmarks [workload ...] [--runs 3] [--scale 1.0] [--out docs/benchmarks.md]

The exit code is 1 where a bound was missed, a firing lost or early.
"""

import argparse
import json
import sys
import tempfile
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.checkout import code_here
from benchmarks.machine import describe, ran_on
from benchmarks.page import kept_history, markdown, render, row
from benchmarks.results import Result, Results
from benchmarks.target import Target
from benchmarks.workload import Bench, Workload, middle
from benchmarks.workloads import WORKLOADS

OUT = Path("docs/benchmarks.md")


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    asked = _read_command_line()
    try:
        history = kept_history(asked.out)
    except ValueError as unsafe:  # checked first, so that no measurement is lost
        raise SystemExit(str(unsafe)) from None
    home = asked.out.with_suffix("")
    missed: list[str] = []
    for name in asked.workloads or WORKLOADS:
        try:
            result = _measure(WORKLOADS[name], asked.runs, asked.scale)
        except Exception as error:  # the other workloads are still measured
            traceback.print_exc()
            missed.append(f"{name}: not measured: {error}")
            continue
        missed += _report(WORKLOADS[name], result)
        # Written after each, so that an interrupted run keeps what it has.
        results = Results.read(home / "results.json")
        results.by_workload[name] = result
        results.machine = describe(Path(tempfile.gettempdir()))
        results.write(home / "results.json")
        asked.out.write_text(render(results, WORKLOADS, history), encoding="utf-8")
    for miss in missed:
        print(f"missed: {miss}", flush=True)
    return 1 if missed else 0


def _read_command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", help=f"which of {', '.join(WORKLOADS)}; all when left out")
    parser.add_argument("--runs", type=int, default=3, help="runs of each workload")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full numbers and seconds")
    parser.add_argument("--out", type=Path, default=OUT, help="the page; results go beside it")
    asked = parser.parse_args()
    unknown = set(asked.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    return asked


def _measure(workload: Workload, runs: int, scale: float) -> Result:
    began_at = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="wangtimer-bench-") as made:
        directory = Path(made)
        with Target(directory / "target") as target:
            bench = Bench(directory, target, scale)
            measured = [dict(one) for one in workload.measure(bench, runs)]
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    took_s = round(time.monotonic() - began_at, 1)
    return Result(workload.name, now, code_here(), ran_on(), scale, took_s, measured)


def _report(workload: Workload, result: Result) -> list[str]:
    """Print the JSON line and the rows; return what was missed."""
    names = result.runs[0]
    line = {
        "workload": workload.name,
        "scale": result.scale,
        "median": {name: round(middle(result.values(name)), 4) for name in names},
        "worst": {f.name: round(f.worst(result.values(f.name)), 4) for f in workload.figures},
    }
    print(json.dumps(line), flush=True)
    rows = [row(workload, figure, result) for figure in workload.figures]
    print(markdown(["workload", "figure", "median", "worst", "bound", "kept"], rows), flush=True)
    return [
        f"{workload.name}: {figure.name} {figure.judged(result.values(figure.name)):g}, bound {figure.bound}"
        for figure in workload.figures
        if figure.has_bound and not figure.is_kept(result.values(figure.name))
    ]


if __name__ == "__main__":
    sys.exit(main())
