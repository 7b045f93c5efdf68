"""How many firings a lane may hold in Redis: what it cannot hold waits in SQL alone."""

from collections.abc import Collection
from threading import Lock

from wangtimer.core.flow.slicing import SharedLane

# What a firing that waits in a lane takes of Redis.
BYTES_A_FIRING = 250
# A lane may hold so many however much the others hold.
LEAST = 100
# A lane is fed once it holds no more than this part of what it may hold.
FED_AT = 1 / 2


class LaneBudget:
    """A lane holds at most as many firings as are free: alone half of all, two that take all they can a third each.

    Each process counts by what it saw of the lanes last; every method may be called from any thread.
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
        """Forget all other lanes: nobody waits there any more."""
        with self._lock:
            self._waiting = {lane: number for lane, number in self._waiting.items() if lane in lanes}
            self._total = sum(self._waiting.values())

    def most_of(self, lane: SharedLane) -> int:
        """Return how many firings the lane may hold."""
        with self._lock:
            others = self._total - self._waiting.get(lane, 0)
        return max(self._least, (self._firings - others) // 2)

    def few_of(self, lane: SharedLane) -> int:
        """Return how many waiting are so few that the lane is to be fed, where SQL holds more."""
        return int(self.most_of(lane) * (1 - FED_AT))

    def room_of(self, lane: SharedLane) -> int:
        """Return how many more firings the lane may hold."""
        return max(0, self.most_of(lane) - self._waiting.get(lane, 0))
