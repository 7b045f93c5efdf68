"""Measure two commits in turns on this machine, and print the ratio of their figures.

    python -m benchmarks.pair BASE [--head HEAD] [--rows "steady ticking burst"] [--turns 3] [--most 1.02]

The exit code is 1 where a figure of the head is worse than the base's by more than the bound, or a firing was lost or
early.
"""

import argparse
import signal
import sys
from collections.abc import Sequence

from benchmarks.checkout import Checkout, NoSuchCommit, has_changes
from benchmarks.compared import HEAD_OF_TABLE, Turn, broken, compare
from benchmarks.machine import ran_on
from benchmarks.page import markdown
from benchmarks.turn import ROWS

SHOWN = "steady ticking burst"


def main() -> int:
    """Measure what the command line asks for; return the exit code."""
    asked = read_command_line(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    try:
        base, head = Checkout.of(asked.base), Checkout.of(asked.head)
    except NoSuchCommit as wrong:
        raise SystemExit(str(wrong)) from None
    if has_changes():
        print(
            f"changes of the working tree are not measured, only {head.title}: commit them first", flush=True
        )
    for checkout in (base, head):
        checkout.prepare()
    taken = take_turns(base, head, asked)
    return report(base, head, *taken, asked)


def read_command_line(words: Sequence[str]) -> argparse.Namespace:
    """Read it; ends the program with a message where it is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pair", description=__doc__.splitlines()[0])
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--head", default="HEAD", help="the commit that is judged")
    parser.add_argument("--rows", default=SHOWN, type=str.split, help=f"of {', '.join(ROWS)}")
    parser.add_argument("--turns", default=3, type=int, help="turns of each commit")
    parser.add_argument("--most", default=1.02, type=float, help="the largest ratio that is kept")
    parser.add_argument("--scale", default=1.0, type=float, help="share of the full numbers and seconds")
    asked = parser.parse_args(words)
    if unknown := set(asked.rows) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    if not asked.rows or asked.turns < 1 or asked.most < 1:
        parser.error("a pair takes a row at least, a turn at least, and a ratio of 1 or more")
    return asked


def take_turns(base: Checkout, head: Checkout, asked: argparse.Namespace) -> tuple[list[Turn], list[Turn]]:
    """Measure base, head, base, head, ...; return the turns of each."""
    taken: tuple[list[Turn], list[Turn]] = ([], [])
    for number in range(asked.turns):
        for side, turns in zip((base, head), taken, strict=True):
            print(f"turn {number + 1} of {asked.turns}: {side.asked}", flush=True)
            turns.append(side.take_turn(asked.rows, asked.scale))
    return taken


def report(
    base: Checkout, head: Checkout, of_base: list[Turn], of_head: list[Turn], asked: argparse.Namespace
) -> int:
    """Print the table, and what is wrong; return the exit code."""
    figures = compare(of_base, of_head, asked.most)
    print(f"\nbase: {base.title}\nhead: {head.title}")
    print(
        f"{ran_on()}; medians of {asked.turns} turns in alternation, in brackets the least and the largest;"
    )
    print("the ratio is that of the medians, in brackets those of the single turns.\n")
    print(markdown(HEAD_OF_TABLE, [one.cells for one in figures]) + "\n")
    wrong = broken(base.asked, of_base) + broken(head.asked, of_head)
    wrong += [f"worse: {one.row}: {one.measure.words}: {one.cells[4]}" for one in figures if one.is_worse]
    print("\n".join(wrong) or f"no figure is worse by more than {asked.most:g}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
