"""How many bytes of requests this process holds: far fewer firings fit with large bodies than with small ones."""

from collections.abc import Callable
from dataclasses import dataclass

from wangtimer.callback import Delivery
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.executor.capacity import Capacity
from wangtimer.store.redis.definitions import READ_BYTES

# What a part of a chunk takes while it is judged: a text with a character beyond U+FFFF takes four times its bytes.
PART_BYTES = 4 * READ_BYTES
# The kinds of parts that wait for room: one that is on time, and one that is late (as a number: `is_late`).
_KINDS, LATE = 2, 1


class Room(Capacity):
    """Room for `most` bytes of requests. Late ones may use half, so that those on time do not wait behind a backlog.

    While nothing is held any request has room: one larger than `most` goes alone. Waiting for room ends after
    `patience_s`.
    """

    def __init__(self, most: int, patience_s: float = 5.0) -> None:
        self._most = most
        self._patience_s = patience_s
        super().__init__(_KINDS, self._has_room_for_a_part)

    def wait(self, is_late: Callable[[], bool]) -> bool:
        """Wait until there is room for a part of a chunk; False where that took too long."""
        return self.enter(0, is_late, self._patience_s)

    def take(self, is_late: Callable[[], bool]) -> bool:
        """Wait for room for a part of a chunk as above, and hold it; `give` it back once the part is prepared."""
        return self.enter(PART_BYTES, is_late, self._patience_s)

    def give_part(self) -> None:
        """Give back what `take` held for a part."""
        self.give(PART_BYTES)

    def _has_room_for_a_part(self, held: int, is_late: int) -> bool:
        most = self._most // 2 if is_late else self._most
        return held == 0 or held + PART_BYTES <= most


@dataclass(frozen=True, slots=True)
class LaneRoom:
    """How much of lanes there is room for: with the engine, and for requests; none while nothing may be fired."""

    engine: Delivery
    room: Room
    may_fire: Callable[[], bool]

    def room_in(self, lane: SharedLane) -> int:
        """Return how many firings of a lane may be pulled."""
        return self.engine.room_in(lane) if self.may_fire() and self.room.has_room(LATE) else 0
