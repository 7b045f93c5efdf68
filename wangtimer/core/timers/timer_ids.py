"""Ids of timers: none is given out twice, even if SQL loses commits.

Definitions, parked outcomes and members in Redis name a timer by its id. A database that lost its last commits would
count on from an older id; then one app's target would be called for another's timer. So ids come from time and chance,
not from a count that can go back. The primary key still decides: after a clash another id is tried.
"""

from secrets import randbelow
from threading import Lock

# 2020-01-01 UTC, ms: 41 bits of ms then reach to 2089, and ids stay within the 53 bits of a number in JSON.
EPOCH_MS = 1_577_836_800_000
CHANCE_BITS = 12
# Ids of one ms follow each other at steps up to this, so that those of one process ascend.
LONGEST_STEP = 64


class TimerIds:
    """Gives out ascending ids: larger than all before in this process, and than any that a database counted."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last = 0

    def next(self, now: int) -> int:
        """Return the id of a timer that is made at `now`, ms UTC."""
        # Not `random`: forked processes would draw the same numbers.
        earliest = (max(now - EPOCH_MS, 0) << CHANCE_BITS) + randbelow(1 << CHANCE_BITS)
        with self._lock:
            self._last = max(earliest, self._last + 1 + randbelow(LONGEST_STEP))
            return self._last
