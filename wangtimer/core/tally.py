"""How two sets of waiting firings are held against each other without reading either."""

from typing import NamedTuple


class Tally(NamedTuple):
    """How many firings wait, and the sums of their timers' ids and of their due moments (ms UTC).

    Sets that are not the same may have the same tally, but not by what gets lost on the way.
    """

    number: int = 0
    timer_ids: int = 0
    due_at: int = 0

    def plus(self, other: "Tally") -> "Tally":
        """Return the tally of both sets together."""
        return Tally(*map(sum, zip(self, other, strict=True)))
