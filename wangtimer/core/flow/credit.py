"""Credit: how many firings of a minute may stand armed at once, and how the minute's slices share it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from wangtimer.core.flow.slicing import Slice


@dataclass(slots=True, eq=False)
class Share:
    """One slice's part of its minute's credit: always `own`, more while others leave theirs unused.

    `used` members are armed or running. `waiting` is what the slice holds if it has more to arm at once, else 0.
    """

    slice: Slice
    own: int
    used: int = 0
    waiting: int = 0
    has_ended: bool = False

    def note(self, used: int, waiting: int) -> None:
        """Record the slice's numbers, after each turn."""
        self.used = used
        self.waiting = waiting


@dataclass(slots=True)
class Credits:
    """The credit of each minute, `whole`, shared by the slices that this process watches; any thread may ask.

    Buckets differ: one that a minute had from its start holds several times the firings of the one opened last. With
    equal shares a burst would end with one slice that drains on its own share while cores are idle.
    """

    whole: int
    _minutes: dict[int, list[Share]] = field(default_factory=dict, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    @contextmanager
    def share(self, slice_: Slice, own: int) -> Iterator[Share]:
        """Give the slice a share. When it ends, its credit goes to the other slices of its minute."""
        share = Share(slice_, own)
        with self._lock:
            others = self._minutes.get(slice_.minute, [])
            stand = [other for other in others if not (other.has_ended and other.slice == slice_)]
            self._minutes[slice_.minute] = [*stand, share]
        try:
            yield share
        finally:
            share.note(0, 0)
            share.has_ended = True
            with self._lock:
                if all(share.has_ended for share in self._minutes[slice_.minute]):
                    del self._minutes[slice_.minute]

    def of(self, share: Share) -> int:
        """Return how many members of the share's slice may stand armed now.

        Credit that other slices of the minute do not use goes to slices with more to arm at once, in proportion to what
        each holds.
        """
        if not share.waiting:
            return share.own
        together = self._minutes[share.slice.minute]
        kept = sum(sharer.own if sharer.waiting else sharer.used for sharer in together)
        left = min(self.whole, sum(sharer.own for sharer in together)) - kept
        return share.own + max(0, left) * share.waiting // sum(sharer.waiting for sharer in together)
