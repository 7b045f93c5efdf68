"""Compares two sets of waiting firings without reading either."""

from typing import NamedTuple

# An id has up to 53 bits: Redis' numbers do not hold the sum of two ids exactly, but that of 2,000 remainders.
ID_MODULUS = 1 << 20


class Tally(NamedTuple):
    """How many firings wait, and the sums of their timers' ids modulo `ID_MODULUS` and of their due moments (ms UTC).

    Different sets may have the same tally, but not because firings got lost on the way.
    """

    number: int = 0
    timer_ids: int = 0
    due_at: int = 0

    def plus(self, other: "Tally") -> "Tally":
        """Return the tally of both sets together."""
        return Tally(*map(sum, zip(self, other, strict=True)))
