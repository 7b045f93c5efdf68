"""Scheduled work on a clock that the test moves."""

import heapq
from collections.abc import Callable
from itertools import count

from wangtimer.testing.doubles import HandClock

Work = Callable[[], object]

# How long the clock has run before its first moment, as the stages are careful for some seconds after a start.
UP_SINCE_MS = 3_600_000


class SteeredClock(HandClock):
    """Time moves only when the test says so; `sleep` returns at once."""

    def __init__(self, now_ms: float) -> None:
        super().__init__(now_ms - UP_SINCE_MS)

    def sleep(self, seconds: float) -> None:
        """Return at once."""

    def move_to(self, moment_ms: float) -> None:
        """Move on to a moment, ms UTC; never back."""
        self._now_ms = max(self._now_ms, moment_ms)


class Events:
    """Work by its moment. Work of the same moment is done in the order in which it was added."""

    def __init__(self, clock: SteeredClock) -> None:
        self._clock = clock
        self._order = count()
        self._coming: list[tuple[float, int, Work]] = []

    @property
    def next_at(self) -> float:
        """The moment of the next work, ms UTC; `inf` where there is none."""
        return self._coming[0][0] if self._coming else float("inf")

    def at(self, moment_ms: float, work: Work) -> None:
        """Add work for a moment; past work is done next."""
        heapq.heappush(self._coming, (max(moment_ms, self._clock.now_ms()), next(self._order), work))

    def soon(self, work: Work) -> None:
        """Add work for the current moment, after the work that waits for it already."""
        self.at(self._clock.now_ms(), work)

    def do_next(self) -> None:
        """Do the next work; the clock must be at its moment or later."""
        heapq.heappop(self._coming)[2]()
