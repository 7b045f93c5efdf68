"""What a call of a numbered timer tells, so that its receiver sees gaps and repeats by itself."""

from typing import NamedTuple

# Lost firings are counted up to this: then it means that many, or more.
MOST_LOST = 1_000


class Continuity(NamedTuple):
    """A firing's place among those of its timer, when it is about to be sent.

    `seq` is its number; None: it has none. `last_success_at` is the moment (ms UTC) of the last planned firing before
    it that succeeded; None: none is known. `lost` is how many moments between the two failed for good, or were skipped
    by a policy; what is still under way is not among them, nor is what the owner took back. None: it is not known.
    """

    seq: int | None
    last_success_at: int | None
    lost: int | None

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
