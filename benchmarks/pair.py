"""Measure two commits in turns on this machine, and print the ratio of their figures.

    python -m benchmarks.pair BASE [--head HEAD] [--rows "steady ticking burst"] [--turns 4] [--most 1.02] [--scale 1.0]

The exit code is 1 where a figure of the head is worse than the base's by more than the bound or was not measured, or a
firing was lost, early or not recorded as succeeded. It is 2 where a turn could not be taken; those before it are shown.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from math import inf

from benchmarks.checkout import Checkout, NoSuchCommit, NotMeasured, has_changes
from benchmarks.compared import HEAD_OF_TABLE, Turn, compare, promise_breaches
from benchmarks.machine import ran_on
from benchmarks.page import markdown
from benchmarks.turn import ROWS

SHOWN = "steady ticking burst"
# A tenth of ten seconds: rows whose timers are due at full seconds need a whole one.
SMALLEST_SCALE = 0.1
# The exit code where a turn could not be taken.
NOT_MEASURED = 2


def main() -> int:
    """Measure what the command line asks for; return the exit code."""
    options = read_command_line(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    try:
        base, head = Checkout.of(options.base), Checkout.of(options.head)
    except NoSuchCommit as wrong:
        raise SystemExit(str(wrong)) from None
    if has_changes():
        print(
            f"changes of the working tree are not measured, only {head.title}: commit them first", flush=True
        )
    for checkout in (base, head):
        checkout.prepare()
    taken = take_turns(base, head, options)
    return report(base, head, *taken, options)


def read_command_line(words: Sequence[str]) -> argparse.Namespace:
    """Read it; ends the program with a message where it is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pair", description=__doc__.splitlines()[0])
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--head", default="HEAD", help="the commit that is judged")
    parser.add_argument("--rows", default=SHOWN, type=str.split, help=f"of {', '.join(ROWS)}")
    parser.add_argument("--turns", default=4, type=int, help="turns of each commit, an even number")
    parser.add_argument("--most", default=1.02, type=float, help="the largest ratio that is kept")
    parser.add_argument("--scale", default=1.0, type=float, help="share of the full numbers and seconds")
    options = parser.parse_args(words)
    if wrong := _wrong_in(options):
        parser.error(wrong)
    return options


def _wrong_in(options: argparse.Namespace) -> str | None:
    """Return what is wrong and what to write instead. NaN and infinity are wrong: no ratio is more than they are."""
    if unknown := set(options.rows) - set(ROWS):
        return f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}"
    if not options.rows:
        return f"--rows names no row; there are {', '.join(ROWS)}"
    if options.turns < 1 or options.turns % 2:
        return f"--turns {options.turns}: take an even number, so that each commit is second as often as the other"
    if not 1 <= options.most < inf:
        return f"--most {options.most:g}: take a ratio of 1 or more, such as 1.02 for 2 %"
    if not SMALLEST_SCALE <= options.scale < inf:
        return f"--scale {options.scale:g}: take a share of {SMALLEST_SCALE:g} or more"
    return None


def take_turns(base: Checkout, head: Checkout, options: argparse.Namespace) -> tuple[list[Turn], list[Turn]]:
    """Measure base, head, head, base, base, head, ...; return the turns of each.

    Neither always comes second: on 2026-11-29 the second of a turn took 5 to 9 % more CPU in a burst, whichever of
    two commits it was. Where one could not be measured, return the turns before that.
    """
    taken: tuple[list[Turn], list[Turn]] = ([], [])
    for number in range(options.turns):
        sides = list(zip((base, head), taken, strict=True))
        for side, turns in reversed(sides) if number % 2 else sides:
            print(f"turn {number + 1} of {options.turns}: {side.called}", flush=True)
            try:
                turns.append(side.take_turn(options.rows, options.scale))
            except NotMeasured as why:
                print(why, flush=True)
                return taken[0][:number], taken[1][:number]
    return taken


def report(
    base: Checkout, head: Checkout, of_base: list[Turn], of_head: list[Turn], options: argparse.Namespace
) -> int:
    """Print the table, and what is wrong; return the exit code."""
    if len(of_base) < options.turns:
        print(f"only {len(of_base)} of {options.turns} turns were taken, which proves nothing", flush=True)
    if not of_base:
        return NOT_MEASURED
    figures = compare(of_base, of_head, options.most)
    print(f"\nbase: {base.title}\nhead: {head.title}")
    print(
        f"{ran_on()}, scale {options.scale:g}; medians of {len(of_base)} turns in alternation, in brackets the least "
        "and the largest;"
    )
    print("the ratio is that of the medians, in brackets those of the single turns.\n")
    print(markdown(HEAD_OF_TABLE, [one.cells for one in figures]) + "\n")
    wrong = promise_breaches(base.called, of_base) + promise_breaches(head.called, of_head)
    wrong += [f"worse: {one.row}: {one.measure.words}: {one.cells[4]}" for one in figures if one.is_worse]
    wrong += [f"not measured: {one.row}: {one.measure.words}" for one in figures if not one.is_measured]
    open_ones = [f"{one.row}: {one.measure.words}" for one in figures if one.turns_disagree]
    if open_ones:
        print(f"take more turns, they disagree: {', '.join(open_ones)}")
    print("\n".join(wrong) or f"no figure is over {options.most:g} times the base's", flush=True)
    if len(of_base) < options.turns:
        return NOT_MEASURED
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
