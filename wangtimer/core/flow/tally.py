"""How two sets of waiting firings are held against each other without reading either."""

from typing import NamedTuple

# An id has up to 53 bits: of two of them Redis' numbers would not hold the sum. Of 2,000 remainders they do.
ID_MODULUS = 1 << 20


class Tally(NamedTuple):
    """How many firings wait, and the sums of their timers' ids modulo `ID_MODULUS` and of their due moments (ms UTC).

    Sets that are not the same may have the same tally, but not by what gets lost on the way.
    """

    number: int = 0
    timer_ids: int = 0
    due_at: int = 0

    @classmethod
    def of_one(cls, timer_id: int, due_at: int) -> "Tally":
        """Return the tally of one firing."""
        return cls(1, timer_id % ID_MODULUS, due_at)

    def plus(self, other: "Tally") -> "Tally":
        """Return the tally of both sets together."""
        return Tally(*map(sum, zip(self, other, strict=True)))
