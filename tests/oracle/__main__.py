"""`python -m tests.oracle --cases 100000`: cron against its oracles; `--case 17`: one case with both lists."""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from textwrap import indent, shorten

from tests.oracle.case import make_case
from tests.oracle.comparison import Comparison, compare
from tests.oracle.differences import Reason

SHOWN = 10
LIST_WIDTH = 240
CASES_A_PAGE = 50


@dataclass(slots=True)
class Tally:
    """What all cases came to."""

    cases: int = 0
    never_fire: int = 0
    moments: int = 0
    with_a_moment: int = 0
    with_a_change: int = 0
    read_by_cronsim: int = 0
    moments_by_cronsim: int = 0
    differing: int = 0
    by_reason: Counter[Reason] = field(default_factory=Counter)
    unexplained: list[Comparison] = field(default_factory=list)

    def add(self, one: Comparison) -> None:
        self.cases += 1
        self.never_fire += one.never_fires
        self.moments += len(one.ours)
        self.with_a_moment += bool(one.ours)
        self.with_a_change += one.case.has_change
        self.read_by_cronsim += one.is_read_by_cronsim
        self.moments_by_cronsim += one.moments_by_cronsim
        self.differing += bool(one.reasons)
        self.by_reason.update(one.reasons)
        if one.unexplained:
            self.unexplained.append(one)

    def table(self) -> str:
        rows = [
            ("cases", self.cases),
            ("  with a moment in their window", self.with_a_moment),
            ("  with a change of clocks in their window", self.with_a_change),
            ("  refused, since they never fire", self.never_fire),
            ("moments compared with brute force", self.moments),
            ("cases that cronsim can read", self.read_by_cronsim),
            ("moments compared with cronsim", self.moments_by_cronsim),
            ("cases in which cronsim differs, explained", self.differing),
            *((f"  {reason.value}", self.by_reason[reason]) for reason in Reason),
            ("unexplained", len(self.unexplained)),
        ]
        return "\n".join(f"{name:<72}{count:>12,}" for name, count in rows)


def compare_numbered(seed: int, number: int) -> Comparison:
    return compare(make_case(seed, number))


def tally_of(comparisons: Iterable[Comparison]) -> Tally:
    tally = Tally()
    for one in comparisons:
        tally.add(one)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000, help="how many cases")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other cases")
    parser.add_argument("--first", type=int, default=0, help="the first case's number")
    parser.add_argument("--case", type=int, help="compare this one only, and print all of it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args()
    if asked.case is not None:
        return _show(compare_numbered(asked.seed, asked.case))
    return _campaign(asked.seed, range(asked.first, asked.first + asked.cases), asked.jobs)


def _show(one: Comparison) -> int:
    print(one.case)
    print(f"ours: {list(one.ours)}")
    for reason in one.reasons:
        print(reason.value)
    for what in one.unexplained:
        print(f"UNEXPLAINED\n{what}")
    return bool(one.unexplained)


def _campaign(seed: int, numbers: range, jobs: int) -> int:
    started_at = time.monotonic()
    with multiprocessing.Pool(jobs) as pool:
        tally = tally_of(pool.imap_unordered(partial(compare_numbered, seed), numbers, CASES_A_PAGE))
    took_s = time.monotonic() - started_at
    print(tally.table())
    print(f"seed {seed}, {took_s:.0f} s in {jobs} processes")
    for one in sorted(tally.unexplained, key=lambda one: one.case.number)[:SHOWN]:
        print(f"\n{one.case}")
        for what in one.unexplained:
            print(indent("\n".join(shorten(line, LIST_WIDTH) for line in what.splitlines()), "  "))
    if not tally.unexplained:
        return 0
    first = min(one.case.number for one in tally.unexplained)
    print(f"\n{len(tally.unexplained)} unexplained. One by one: make cron-oracle SEED={seed} CASE={first}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
