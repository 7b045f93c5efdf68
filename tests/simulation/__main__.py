"""`python -m tests.simulation --seeds 10000`: many runs on all cores; `--seed 17`: one, step by step."""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter

from tests.simulation.run import Run, kind_of, run_kind

SHOWN = 10
SEEDS_A_PAGE = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="how many runs")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="run this one only, and print its steps")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args()
    if asked.seed is not None:
        return _show(asked.seed)
    return _campaign(range(asked.first, asked.first + asked.seeds), asked.jobs)


def _show(seed: int) -> int:
    run = run_kind(seed, is_traced=True)
    print("\n".join(run.trace))
    for what, detail in run.violations:
        print(f"{what}: {detail}")
    print(_line(run))
    return bool(run.violations)


def _campaign(seeds: range, jobs: int) -> int:
    started_at = time.monotonic()
    broken: list[Run] = []
    steps = sends = struck = 0
    worst: list[tuple[float, int, str]] = []
    kinds: Counter[str] = Counter()
    with multiprocessing.Pool(jobs) as pool:
        for run in pool.imap_unordered(run_kind, seeds, SEEDS_A_PAGE):
            steps, sends, struck = steps + run.steps, sends + run.sends, struck + bool(run.struck)
            kinds.update(fault.kind.value for fault in run.struck)
            worst = sorted([*worst, (run.late_ms, run.seed, _faults(run))], reverse=True)[:3]
            if run.violations:
                broken.append(run)
    took_s = time.monotonic() - started_at
    print(
        f"{len(seeds)} seeds from {seeds.start}, {steps} steps, {sends} sends in {took_s:.0f} s on {jobs} cores"
    )
    print(f"faults struck in {struck} runs: " + ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items())))
    for late_ms, seed, faults in worst:
        print(f"latest first send: {late_ms / 1_000:.1f} s, seed {seed} ({faults})")
    for run in sorted(broken, key=lambda run: (len(run.struck), run.seed))[:SHOWN]:
        print(_line(run))
    if not broken:
        print("nothing lost, nothing early, no second send without an excuse, nothing left over")
        return 0
    first = min(broken, key=lambda run: (len(run.struck), run.seed)).seed
    print(f"{len(broken)} of {len(seeds)} runs broke a promise. Step by step: make simulate SEED={first}")
    return 1


def _line(run: Run) -> str:
    verdict = "; ".join(f"{what} {detail}" for what, detail in run.violations[:3]) or "no promise broken"
    return f"seed {run.seed}, {kind_of(run.seed)} ({_faults(run)}): {verdict}"


def _faults(run: Run) -> str:
    return ", ".join(map(str, run.struck)) or "no fault"


if __name__ == "__main__":
    sys.exit(main())
