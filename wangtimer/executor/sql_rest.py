"""Whether SQL is asked now: while it hangs, each who asked would wait out a time-out, and hold a thread and firings."""

from collections.abc import Iterator
from contextlib import contextmanager

from wangtimer.core.errors import StoreAway
from wangtimer.core.time.clock import Clock

# While somebody has waited this long for an answer, nobody else asks.
LONG_S = 1.0
# Nor for so long after somebody waited so in vain.
REST_S = 2.0


class SqlRest:
    """An SQL that refuses at once is asked on and on: that holds up nobody."""

    def __init__(self) -> None:
        self._asked_at: list[float] = []
        self._lasts_until = float("-inf")

    def lasts(self, clock: Clock) -> bool:
        """Tell whether SQL is better not asked now."""
        now = clock.monotonic()
        return now < self._lasts_until or any(now - at >= LONG_S for at in tuple(self._asked_at))

    @contextmanager
    def asking(self, clock: Clock) -> Iterator[None]:
        """Note how long SQL takes for what is asked within; `StoreAway` passes through."""
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
