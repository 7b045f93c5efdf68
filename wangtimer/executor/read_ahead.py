"""Read ahead: what was read in one go for the firings of several lanes, so that each lane need not read for itself."""

from collections.abc import Sequence
from typing import NamedTuple

from wangtimer.executor.case import RowsAndParked
from wangtimer.store.redis.definitions import DefinitionsRead

# What was read so long ago is read again: in between a timer may have been changed.
AHEAD_LASTS_S = 0.3


class ReadAhead(NamedTuple):
    """Definitions and rows, read at `read_at` (s of the stop-watch); `rows` None: SQL did not answer."""

    read: DefinitionsRead
    rows: RowsAndParked | None
    read_at: float

    def definitions_of(self, timer_ids: Sequence[int], now: float) -> DefinitionsRead | None:
        """Return what was read of these timers; None if they are to be read again."""
        read = self.read
        if (
            not self._lasts(now)
            or read.until is None
            or any(timer_id not in read.sizes for timer_id in timer_ids)
        ):
            return None
        asked = set(timer_ids)
        return read._replace(
            definitions={
                timer_id: read.definitions[timer_id] for timer_id in asked if timer_id in read.definitions
            },
            sizes={timer_id: read.sizes[timer_id] for timer_id in asked},
        )

    def rows_by(self, now: float) -> RowsAndParked | None:
        """Return the rows; None if they are to be read again."""
        return self.rows if self._lasts(now) else None

    def _lasts(self, now: float) -> bool:
        return now - self.read_at <= AHEAD_LASTS_S
