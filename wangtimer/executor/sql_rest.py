"""Whether SQL is asked now: while it hangs, each question would wait for a time-out, and hold a thread and firings."""

from collections.abc import Iterator
from contextlib import contextmanager

from wangtimer.core.errors import StoreAway
from wangtimer.core.time.clock import Clock

# While one question has waited this long for its answer, no other is asked.
LONG_S = 1.0
# After a question waited so long in vain, none is asked for this long.
REST_S = 2.0


class SqlRest:
    """Rests only from SQL that hangs. SQL that refuses at once is asked each time: that holds up nobody."""

    def __init__(self) -> None:
        self._asked_at: list[float] = []
        self._lasts_until = float("-inf")

    def lasts(self, clock: Clock) -> bool:
        """Tell whether SQL is better not asked now."""
        now = clock.monotonic()
        return now < self._lasts_until or any(now - at >= LONG_S for at in tuple(self._asked_at))

    @contextmanager
    def asking(self, clock: Clock) -> Iterator[None]:
        """Note how long SQL takes to answer the block's question; `StoreAway` passes through."""
        asked_at = clock.monotonic()
        self._asked_at.append(asked_at)
        try:
            yield
        except StoreAway:
            if (now := clock.monotonic()) - asked_at >= LONG_S:
                self._lasts_until = now + REST_S
            raise
        finally:
            self._asked_at.remove(asked_at)
