"""Keeps a bunch of ticks from running one by one, and long work from running twice at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from wangtimer.core.time.clock import Clock


@dataclass(slots=True)
class Pace:
    """Lets one tick through every `least_s` seconds: ticks that queued up while workers were away count as one."""

    clock: Clock
    least_s: float
    _last_at: float = field(default=float("-inf"), init=False)
    _lock: Lock = field(default_factory=Lock, init=False)
    _under_way: Lock = field(default_factory=Lock, init=False)

    def is_due(self) -> bool:
        """Tell whether this tick is to run, by this process's stop-watch."""
        with self._lock:
            now = self.clock.monotonic()
            if now - self._last_at < self.least_s:
                return False
            self._last_at = now
            return True

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Tell whether this tick is to run; it is not while an earlier one is under way."""
        if not self._under_way.acquire(blocking=False):
            yield False
            return
        try:
            yield self.is_due()
        finally:
            self._under_way.release()
