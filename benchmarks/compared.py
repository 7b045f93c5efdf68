"""The figures of two commits beside each other: the ratio of their medians, and whether it is within a bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

# Firings that were lost or early: whatever the speed, a turn that has one has failed.
PROMISED = ("lost", "early")


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
    """One figure of a row: its values in the order of the turns, and the largest ratio that is kept."""

    row: str
    measure: Measure
    base: Sequence[float]
    head: Sequence[float]
    most: float

    @property
    def ratio(self) -> float:
        """The head's median over the base's."""
        return _over(median(self.head), median(self.base))

    @property
    def turns(self) -> list[float]:
        """The ratio of each turn: the two values of a turn were measured one right after the other."""
        return [_over(head, base) for base, head in zip(self.base, self.head, strict=True)]

    @property
    def is_worse(self) -> bool:
        """Whether the head's median is worse by more than the bound, and by more than can be resolved."""
        return self._costs_more(median(self.base), median(self.head))

    @property
    def is_open(self) -> bool:
        """Whether some turns are worse by so much and others are not: the spread is wider than the bound."""
        return (
            len({self._costs_more(base, head) for base, head in zip(self.base, self.head, strict=True)}) > 1
        )

    @property
    def verdict(self) -> str:
        """What to think of it, in words."""
        words = "**worse**" if self.is_worse else "kept"
        return f"{words}; turns disagree: more of them needed" if self.is_open else words

    def _costs_more(self, base: float, head: float) -> bool:
        ratio = _over(base, head) if self.measure.more_is_better else _over(head, base)
        return ratio > self.most and abs(head - base) > self.measure.resolution

    @property
    def cells(self) -> list[str]:
        """Its cells of the table."""
        return [
            self.row,
            self.measure.words,
            _spread(self.base),
            _spread(self.head),
            f"{self.ratio:.2f} ({min(self.turns):.2f} to {max(self.turns):.2f})",
            self.verdict,
        ]


HEAD_OF_TABLE = ["row", "figure", "base", "head", "ratio", "verdict"]


def _over(head: float, base: float) -> float:
    """Return the ratio; of two zeros 1."""
    if base:
        return head / base
    return float("inf") if head else 1.0


def _spread(values: Sequence[float]) -> str:
    """Return the median, and in brackets the least and the largest."""
    return f"{_short(median(values))} ({_short(min(values))} to {_short(max(values))})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


# Of each turn: the figures of each row.
Turn = dict[str, dict[str, float]]


def compare(base: Sequence[Turn], head: Sequence[Turn], most: float) -> list[Compared]:
    """Return each figure that the rows have, row by row."""
    return [
        Compared(
            row,
            measure,
            [turn[row][measure.name] for turn in base],
            [turn[row][measure.name] for turn in head],
            most,
        )
        for row in base[0]
        for measure in MEASURES
        if measure.name in base[0][row]
    ]


def broken(who: str, turns: Sequence[Turn]) -> list[str]:
    """Return a line for each row with firings that were lost or early."""
    return [
        f"{who}: {row}: {sum(turn[row][promise] for turn in turns):g} firings {promise}"
        for row in turns[0]
        for promise in PROMISED
        if any(turn[row][promise] for turn in turns)
    ]
