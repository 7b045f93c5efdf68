"""How many bytes of requests this process holds: of large bodies far fewer firings fit than of small ones."""

from collections.abc import Callable
from threading import Condition

from wangtimer.store.redis.definitions import READ_BYTES

# A part of a chunk while it is judged: a text with a character beyond U+FFFF takes four times its bytes.
PART_BYTES = 4 * READ_BYTES


class Room:
    """Room for `most` bytes of requests, half of it for what is late, so that nothing on time waits behind a backlog.

    Where nothing is held there is room for anything: a request larger than all of it goes alone. Who waits for room
    gives up after `patience_s`.
    """

    def __init__(self, most: int = 64_000_000, patience_s: float = 5.0) -> None:
        self._most = most
        self._patience_s = patience_s
        self._held = 0
        self._has_changed = Condition()

    @property
    def held(self) -> int:
        """How many bytes are held."""
        return self._held

    def has_any(self, is_late: bool) -> bool:
        """Tell whether there is room for a part of a chunk now."""
        most = self._most // 2 if is_late else self._most
        return self._held == 0 or self._held + PART_BYTES <= most

    def wait(self, is_late: Callable[[], bool]) -> bool:
        """Wait until there is room for a part of a chunk; False where that took too long."""
        with self._has_changed:
            return self._has_changed.wait_for(lambda: self.has_any(is_late()), self._patience_s)

    def take(self, is_late: Callable[[], bool]) -> bool:
        """Wait for room for a part of a chunk as above, and hold it; `give` it back once the part is prepared."""
        with self._has_changed:
            has_room = self._has_changed.wait_for(lambda: self.has_any(is_late()), self._patience_s)
            if has_room:
                self._held += PART_BYTES
            return has_room

    def hold(self, number: int) -> None:
        """Hold so many bytes more."""
        with self._has_changed:
            self._held += number

    def give(self, number: int) -> None:
        """Hold so many bytes less."""
        if number:
            with self._has_changed:
                self._held -= number
                self._has_changed.notify_all()

    def give_part(self) -> None:
        """Hold no more what was taken for a part."""
        self.give(PART_BYTES)
