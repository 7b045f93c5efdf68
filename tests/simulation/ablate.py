"""`python -m tests.simulation.ablate`: each rule left out in turn, and the first run that breaks a promise then."""

import multiprocessing
import os
import sys
import time
from dataclasses import dataclass
from random import Random

from tests.simulation.fault import DURATIONS_MS, RARE, ROLLBACK_DEPTHS_MS, TYPICAL, Fault, Kind
from tests.simulation.rules import RULES, Rule
from tests.simulation.run import Run, run_seed

MOST_SEEDS = 600


@dataclass(frozen=True, slots=True)
class Ablation:
    """A rule left out: how many runs it took, and the first one that broke a promise, if any."""

    rule: str
    runs: int
    broken: Run | None


def leave_out(name: str, most_seeds: int = MOST_SEEDS) -> Ablation:
    """Run seeds without the rule until a promise is broken, that many at most."""
    rule = RULES[name]
    with rule.without():
        for seed in range(most_seeds):
            run = run_without(rule, seed)
            if run.violations:
                return Ablation(name, seed + 1, run)
    return Ablation(name, most_seeds, None)


def run_without(rule: Rule, seed: int) -> Run:
    """Run a seed: every other one with a fault of those that need the rule, if there are such."""
    faults = None
    if rule.is_calm:
        faults = []
    elif rule.strikes and seed % 2 == 0:
        faults = [_strike(rule, Random(seed))]
    return run_seed(seed, faults=faults, clock_behind_ms=rule.clock_behind_ms)


def _strike(rule: Rule, random: Random) -> Fault:
    kind, label = random.choice(rule.strikes)
    return Fault(
        kind,
        label,
        nth=random.randint(1, (RARE | TYPICAL)[label]),
        lasts_ms=random.choice(DURATIONS_MS.get(kind, (0,))),
        depth_ms=random.choice(ROLLBACK_DEPTHS_MS) if kind is Kind.REDIS_ROLLBACK else 0,
    )


def main() -> int:
    names = [name for name in RULES if not sys.argv[1:] or sys.argv[1] in name]
    started_at = time.monotonic()
    unseen = []
    with multiprocessing.Pool(os.cpu_count() or 1) as pool:
        for ablation in pool.imap_unordered(leave_out, names):
            print(_line(ablation), flush=True)
            if ablation.broken is None:
                unseen.append(ablation.rule)
    print(
        f"{len(names) - len(unseen)} of {len(names)} rules are missed, in {time.monotonic() - started_at:.0f} s"
    )
    print("not missed in these runs: " + (", ".join(sorted(unseen)) or "none"))
    return 0


def _line(ablation: Ablation) -> str:
    if ablation.broken is None:
        return f"  not missed  {ablation.rule}: {ablation.runs} runs"
    what, detail = ablation.broken.violations[0]
    faults = ", ".join(map(str, ablation.broken.struck)) or "no fault"
    return f"  MISSED      {ablation.rule}: run {ablation.runs}: {what} {detail} ({faults})"


if __name__ == "__main__":
    sys.exit(main())
