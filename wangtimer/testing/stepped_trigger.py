"""The trigger, one turn after the other: between two turns the real one sleeps, and here nobody may sleep."""

from collections.abc import Iterator

from wangtimer.core.flow.slicing import Slice
from wangtimer.trigger import Trigger, Watch


class SteppedTrigger(Trigger):
    """Its rules are the trigger's own; only the loop around them stands here, as it does in `Trigger.watch`."""

    __slots__ = ()

    def turns(self, slice_: Slice, token: str, credit: int) -> Iterator[float]:
        """Make the turns of `watch`; after each but the last, yield how long to pause, in seconds."""
        with self.credits.share(slice_, credit) as share:
            watch = Watch(slice_, token, share, self.clock.monotonic())
            while turn := self._turn(watch):
                has_lost_data = self._has_lost_data(watch, turn)
                self._send(watch, turn.now_armed)
                if has_lost_data and self._reload(watch.slice):
                    continue
                if self._may_close(watch, turn):
                    self._close(watch)
                    return
                yield self._pause_s(watch.slice, turn)
