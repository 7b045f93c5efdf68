"""How many bytes of requests this process holds: far fewer firings fit with large bodies than with small ones."""

from collections.abc import Callable
from threading import Condition

from wangtimer.store.redis.definitions import READ_BYTES

# What a part of a chunk takes while it is judged: a text with a character beyond U+FFFF takes four times its bytes.
PART_BYTES = 4 * READ_BYTES


class Room:
    """Room for `most` bytes of requests. Late ones may use half, so that those on time do not wait behind a backlog.

    While nothing is held any request has room: one larger than `most` goes alone. Waiting for room ends after
    `patience_s`.
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
        """Give back what `take` held for a part."""
        self.give(PART_BYTES)
