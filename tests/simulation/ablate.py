"""`python -m tests.simulation.ablate`: each rule left out in turn, and the first runs that break a promise then."""

import argparse
import multiprocessing
import os
import sys
import time
from dataclasses import dataclass, field
from functools import partial

from tests.simulation.judge import Violation
from tests.simulation.rules import RULES, Rule
from tests.simulation.run import Run, run_seed


@dataclass(slots=True)
class Ablation:
    """A rule left out: how many runs were made, and those that broke a promise that hold with the rule in."""

    rule: str
    runs: int = 0
    broken: list[Run] = field(default_factory=list)


def leave_out(name: str, most_runs: int, wanted: int) -> Ablation:
    """Run seeds without the rule until so many break a promise only because of that, `most_runs` at most."""
    rule = RULES[name]
    ablation = Ablation(name)
    while ablation.runs < most_runs and len(ablation.broken) < wanted:
        seed = ablation.runs
        ablation.runs += 1
        run = run_without(rule, seed)
        if (run.violations or rule.worse) and _is_missed(rule, run, run_with(rule, seed)):
            ablation.broken.append(run)
    return ablation


def _is_missed(rule: Rule, without: Run, run: Run) -> bool:
    return not run.violations and (bool(without.violations) or is_worse(rule, without, run))


def is_worse(rule: Rule, without: Run, run: Run) -> bool:
    """Tell whether the run came out clearly worse without the rule, by the rule's own measure."""
    if not rule.worse:
        return False
    least = 3_000 if rule.worse.endswith("_ms") else 1
    return bool(getattr(without, rule.worse) - getattr(run, rule.worse) >= least)


def run_without(rule: Rule, seed: int) -> Run:
    """Run a seed with the rule left out, and what hides that."""
    with rule.without():
        return run_seed(seed, faults=rule.faults(seed), clock_behind_ms=rule.clock_behind_ms, draw=rule.draw)


def run_with(rule: Rule, seed: int) -> Run:
    """Run the same with the rule in, and what hides its absence still left out."""
    with rule.around():
        return run_seed(seed, faults=rule.faults(seed), draw=rule.draw)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.ablate", description=__doc__)
    parser.add_argument("rule", nargs="?", default="", help="a part of a rule's name; without it: all")
    parser.add_argument("--runs", type=int, default=600, help="runs at most for each rule")
    parser.add_argument("--wanted", type=int, default=1, help="broken runs to find for each rule")
    asked = parser.parse_args()
    names = [name for name in RULES if asked.rule in name]
    if not names:
        print(f"no rule has {asked.rule!r} in its name; there are: {', '.join(sorted(RULES))}")
        return 2
    started_at = time.monotonic()
    unseen = []
    with multiprocessing.Pool(os.cpu_count() or 1) as pool:
        leave_one_out = partial(leave_out, most_runs=asked.runs, wanted=asked.wanted)
        for ablation in pool.imap_unordered(leave_one_out, names):
            print(_line(ablation), flush=True)
            if not ablation.broken:
                unseen.append(ablation.rule)
    took_s = time.monotonic() - started_at
    print(f"{len(names) - len(unseen)} of {len(names)} rules are missed, in {took_s:.0f} s")
    print("not missed in these runs: " + (", ".join(sorted(unseen)) or "none"))
    return 0


def _line(ablation: Ablation) -> str:
    if not ablation.broken:
        return f"  not missed  {ablation.rule}: {ablation.runs} runs"
    what, detail = _first(ablation.broken[0])
    faults = ", ".join(map(str, ablation.broken[0].struck)) or "no fault"
    seeds = ", ".join(f"{run.seed} {_first(run)[0]}" for run in ablation.broken)
    return f"  MISSED      {ablation.rule}: seeds {seeds}\n{'':14}{what} {detail} ({faults})"


def _first(run: Run) -> Violation:
    return run.violations[0] if run.violations else ("WORSE", "than with the rule, by its own measure")


if __name__ == "__main__":
    sys.exit(main())
