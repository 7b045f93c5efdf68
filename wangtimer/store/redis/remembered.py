"""This process's memory of definitions in use: it saves reading their texts again."""

from sys import getsizeof
from threading import Lock

from wangtimer.core.schedules.schedule import bounds_in
from wangtimer.core.timers.timer import Definition

# About 20,000 definitions without a body.
MOST_BYTES = 30_000_000
# Bytes of a definition beside its text and its body.
OWN_BYTES = 1_200
# Bytes counted for each excluded day. Timers with the same days share them, but each may be the only one that is left.
DAY_BYTES = 8


class Remembered:
    """Definitions by timer, each with the text it was read from; emptied when they would take too many bytes."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._by_timer: dict[int, tuple[bytes, Definition]] = {}
        self._held = 0
        self._lock = Lock()

    @property
    def held(self) -> int:
        """How many bytes are counted as held."""
        return self._held

    def recall(self, timer_id: int, text: bytes) -> Definition | None:
        """Return the definition that was read from this very text; None if it is not remembered."""
        known = self._by_timer.get(timer_id)
        return known[1] if known is not None and known[0] == text else None

    def keep(self, timer_id: int, text: bytes, definition: Definition) -> None:
        """Remember the definition read from a text, in place of an older one."""
        with self._lock:
            older = self._by_timer.pop(timer_id, None)
            if older is not None:
                self._held -= _cost(*older)
            cost = _cost(text, definition)
            if self._held + cost > self._most_bytes:
                self._by_timer.clear()
                self._held = 0
            self._by_timer[timer_id] = text, definition
            self._held += cost


def _cost(text: bytes, definition: Definition) -> int:
    bounds = bounds_in(definition.schedule)
    excluded = None if bounds is None else bounds.excluded
    days = 0 if excluded is None else len(excluded.days) + len(excluded.working)
    return OWN_BYTES + len(text) + getsizeof(definition.notify.body) + DAY_BYTES * days
