"""What a call of a numbered timer tells, so that its receiver sees gaps and repeats by itself."""

from collections.abc import Iterable
from typing import NamedTuple, Self

# Lost firings are counted among so many before one: if all are lost, it means that many, or more.
MOST_LOST = 1_000


class Continuity(NamedTuple):
    """A firing's place among those of its timer, when it is about to be sent.

    `seq` is its number; None: it has none. `last_success_at` is the moment (ms UTC) of the last planned firing before
    it that succeeded; None: none of the last `MOST_LOST` did. `lost` is how many moments between the two failed for
    good, or were skipped by a policy; what is still under way is not among them, nor is what the owner took back.
    Where nobody looked far enough, `last_success_at` is None and `lost` at least so many; None: none that is known of.
    """

    seq: int | None
    last_success_at: int | None
    lost: int | None

    def with_lost(self, moments: Iterable[int]) -> Self:
        """Return it with those of these moments (ms UTC) lost too that are after the last success."""
        if self.lost is None:
            return self
        after = -1 if self.last_success_at is None else self.last_success_at
        more = sum(moment > after for moment in moments)
        return self._replace(lost=min(self.lost + more, MOST_LOST)) if more else self

    def at_least(self) -> Self:
        """Return it as what is known where only the last few firings were looked at, and none of them succeeded."""
        return self._replace(lost=self.lost or None)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers that tell it."""
        told = (
            ("X-WangTimer-Sequence", self.seq),
            ("X-WangTimer-Last-Success", self.last_success_at),
            ("X-WangTimer-Lost-Since", self.lost),
        )
        return tuple((name, str(value)) for name, value in told if value is not None)

    @property
    def event_sequence(self) -> str | None:
        """Its number as a CloudEvent tells it: padded, so that texts compare as the numbers do; None: it has none."""
        return None if self.seq is None else f"{self.seq:019d}"
