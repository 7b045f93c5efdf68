"""How many firings a lane may hold in Redis: the rest waits in SQL alone."""

from collections.abc import Collection
from threading import Lock

from wangtimer.core.flow.slicing import SharedLane

# Bytes of Redis that a firing takes in a lane.
BYTES_A_FIRING = 250
# Every lane may hold so many, however many the others hold.
LEAST = 100
# A lane is fed once it holds no more than this part of what it may hold.
FED_AT = 1 / 2


class LaneBudget:
    """A lane holds at most as many firings as are free: one full lane takes half of all, two take a third each.

    Each process counts by what it last saw of the lanes; every method may be called from any thread.
    """

    def __init__(self, memory_bytes: int, least: int = LEAST) -> None:
        self._firings = memory_bytes // BYTES_A_FIRING
        self._least = least
        self._waiting: dict[SharedLane, int] = {}
        self._total = 0
        self._lock = Lock()

    def note(self, lane: SharedLane, waiting: int) -> None:
        """Learn how many firings wait in a lane."""
        with self._lock:
            self._total += waiting - self._waiting.get(lane, 0)
            self._waiting[lane] = waiting

    def keep(self, lanes: Collection[SharedLane]) -> None:
        """Forget all other lanes: nothing waits there any more."""
        with self._lock:
            self._waiting = {lane: number for lane, number in self._waiting.items() if lane in lanes}
            self._total = sum(self._waiting.values())

    def most_of(self, lane: SharedLane) -> int:
        """Return how many firings the lane may hold."""
        with self._lock:
            others = self._total - self._waiting.get(lane, 0)
        return max(self._least, (self._firings - others) // 2)

    def few_of(self, lane: SharedLane) -> int:
        """Return the number of waiting firings at or below which the lane is to be fed, if SQL holds more."""
        return int(self.most_of(lane) * (1 - FED_AT))

    def room_of(self, lane: SharedLane) -> int:
        """Return how many more firings the lane may hold."""
        return max(0, self.most_of(lane) - self._waiting.get(lane, 0))
