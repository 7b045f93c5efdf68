"""Ids of timers: never given out again, whatever SQL forgets.

A definition in Redis, an outcome that waits there for SQL, a member of a slice name a timer by its id. A database that
lost its last commits counts on from an older id; then one app's target would be called for another's timer. So ids come
from the time and chance, not from a count that can go back. The primary key still decides: a clash is tried again.
"""

from secrets import randbelow
from threading import Lock

# 2020-01-01 UTC, ms; so that 41 bits of ms reach to 2089, and ids stay within the 53 bits of a number in JSON.
EPOCH_MS = 1_577_836_800_000
CHANCE_BITS = 12
# Ids of one ms follow one another at steps up to this, so that those of one process ascend.
LONGEST_STEP = 64


class TimerIds:
    """Gives out ids that ascend: larger than all before of this process, and than any that a database counted."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last = 0

    def next(self, now: int) -> int:
        """Return the id of a timer that is made at `now`, ms UTC."""
        # Not `random`: processes that were forked would draw the same.
        earliest = (max(now - EPOCH_MS, 0) << CHANCE_BITS) + randbelow(1 << CHANCE_BITS)
        with self._lock:
            self._last = max(earliest, self._last + 1 + randbelow(LONGEST_STEP))
            return self._last
