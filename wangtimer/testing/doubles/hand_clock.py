"""A clock that stands still until it is moved."""

from threading import Lock

# The first millisecond of a minute, in January 2027.
START_MS = 1_800_000_000_000


class HandClock:
    """`sleep` moves it, so an hour of waiting takes no time. Its wall clock and stop-watch move together."""

    def __init__(self, now_ms: float = START_MS) -> None:
        self._started_at_ms = self._now_ms = float(now_ms)
        self._lock = Lock()

    def now_ms(self) -> float:
        """Return ms since 1970-01-01 UTC."""
        return self._now_ms

    def latest_ms(self) -> float:
        """Return now: this clock never steps."""
        return self.now_ms()

    def earliest_ms(self) -> float:
        """Return now: this clock never steps."""
        return self.now_ms()

    def monotonic(self) -> float:
        """Return seconds of the stop-watch, 0 at the start."""
        return (self._now_ms - self._started_at_ms) / 1_000

    def sleep(self, seconds: float) -> None:
        """Move on by `seconds`."""
        with self._lock:
            self._now_ms += max(0.0, seconds) * 1_000

    def move_to(self, moment_ms: float) -> None:
        """Move on to a moment, ms UTC; never back."""
        self.sleep((moment_ms - self._now_ms) / 1_000)
