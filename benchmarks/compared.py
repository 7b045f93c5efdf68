"""The figures of two commits beside each other: the ratio of their medians, and whether it is within a bound."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan

from benchmarks.page import number
from benchmarks.workload import middle

# Firings of which, whatever the speed, a turn may have none.
PROMISED = ("lost", "early", "not_succeeded", "called_again")


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that is compared. A difference within the resolution says nothing."""

    name: str
    words: str
    more_is_better: bool = False
    resolution: float = 0.0


MEASURES = (
    Measure("cpu_us_per_firing", "our CPU a firing, µs"),
    # The target's log has whole milliseconds.
    Measure("late_p99_ms", "late p99, ms", resolution=1),
    Measure("calls_per_s", "calls/s", more_is_better=True),
    Measure("store_commands_per_firing", "store commands a firing"),
    Measure("broker_commands_per_firing", "broker commands a firing"),
    Measure("statements_per_firing", "SQL statements a firing"),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure of a row: its values in the order of the turns, NaN for none, and the largest ratio that is kept."""

    row: str
    measure: Measure
    base: Sequence[float]
    head: Sequence[float]
    most: float

    @property
    def ratio(self) -> float:
        """The head's median over the base's."""
        return _over(middle(self.head), middle(self.base))

    @property
    def ratios_of_turns(self) -> list[float]:
        """The ratio of each turn: the two values of a turn were measured one right after the other."""
        return [_over(head, base) for base, head in zip(self.base, self.head, strict=True)]

    @property
    def is_measured(self) -> bool:
        """Whether every turn has it: one that lost all its firings has no lateness."""
        return not isnan(self.ratio)

    @property
    def is_worse(self) -> bool:
        """Whether the head's median is worse by more than the bound, and by more than can be resolved."""
        return self._costs_more(middle(self.base), middle(self.head))

    @property
    def turns_disagree(self) -> bool:
        """Whether some two turns are worse by so much and others are not: the spread is wider than the bound.

        They are taken two by two, as each commit was second in one of them.
        """
        both = zip(_two_by_two(self.base), _two_by_two(self.head), strict=True)
        return len({self._costs_more(base, head) for base, head in both}) > 1

    @property
    def verdict(self) -> str:
        """What to think of it, in words."""
        if not self.is_measured:
            return "**not measured**"
        words = "**worse**" if self.is_worse else "kept"
        return f"{words}; turns disagree: more of them needed" if self.turns_disagree else words

    def _costs_more(self, base: float, head: float) -> bool:
        ratio = _over(base, head) if self.measure.more_is_better else _over(head, base)
        return ratio > self.most and abs(head - base) > self.measure.resolution

    @property
    def cells(self) -> list[str]:
        """Its cells of the table."""
        return [
            self.row,
            self.measure.words,
            _spread(middle(self.base), self.base, number),
            _spread(middle(self.head), self.head, number),
            _spread(self.ratio, self.ratios_of_turns, "{:.2f}".format),
            self.verdict,
        ]


HEAD_OF_TABLE = ["row", "figure", "base", "head", "ratio", "verdict"]


def _over(head: float, base: float) -> float:
    """Return the ratio; of two zeros 1, of NaN NaN."""
    if base:
        return head / base
    return head * inf if head else 1.0


def _two_by_two(values: Sequence[float]) -> list[float]:
    """Return the middle of each two; one that is left over says nothing."""
    return [middle(values[first : first + 2]) for first in range(0, len(values) - 1, 2)]


def _spread(of_all: float, of_turns: Sequence[float], written: Callable[[float], str]) -> str:
    """Return the figure of all turns, and in brackets the least and the largest; a dash where one is NaN."""
    if isnan(of_all):
        return number(nan)
    return f"{written(of_all)} ({written(min(of_turns))} to {written(max(of_turns))})"


# Of each turn: the figures of each row.
Turn = dict[str, dict[str, float]]


def compare(base: Sequence[Turn], head: Sequence[Turn], most: float) -> list[Compared]:
    """Return each figure that a turn has of the rows, row by row."""
    return [
        Compared(
            row,
            measure,
            [turn[row].get(measure.name, nan) for turn in base],
            [turn[row].get(measure.name, nan) for turn in head],
            most,
        )
        for row in base[0]
        for measure in MEASURES
        if any(measure.name in turn[row] for turn in (*base, *head))
    ]


def promise_breaches(who: str, turns: Sequence[Turn]) -> list[str]:
    """Return a line for each row with firings that break a promise."""
    return [
        f"{who}: {row}: {sum(turn[row][promise] for turn in turns):g} firings {promise.replace('_', ' ')}"
        for row in turns[0]
        for promise in PROMISED
        if any(turn[row][promise] for turn in turns)
    ]
