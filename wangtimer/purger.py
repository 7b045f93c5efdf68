"""The purger: deletes settled firings past retention, and answers kept for a day, a few at a time."""

from dataclasses import dataclass

import structlog

from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import DAY_MS
from wangtimer.store.sql.firings import FiringStore
from wangtimer.store.sql.kept_answers import KeptAnswers
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

# Rows one transaction deletes: a few ms, so that nothing waits behind it.
PAGE = 1_000
# One purge ends after this long, however much is left.
LONGEST_S = 20.0
PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class Purger:
    """Never touches a firing that is not settled; two of them at once waste work, and harm nothing."""

    firings: FiringStore
    timers: TimerStore
    answers: KeptAnswers
    clock: Clock
    retention_ms: int

    def purge(self) -> int:
        """Delete settled firings past retention, timers deleted that long ago, and answers kept for a day.

        Returns how many firings were deleted. Raises `StoreAway`.
        """
        now = int(self.clock.now_ms())
        before = now - self.retention_ms
        ends_at = self.clock.monotonic() + LONGEST_S
        purged = 0
        while (page := self.firings.purge(before, PAGE)) and self.clock.monotonic() < ends_at:
            purged += page
            self.clock.sleep(PAUSE_S)
        # A day later than firings, so that none of theirs is left.
        self.timers.purge(before - DAY_MS, PAGE)
        while self.answers.purge(now, PAGE) == PAGE and self.clock.monotonic() < ends_at:
            self.clock.sleep(PAUSE_S)
        if purged:
            log.info("purged", firings=purged)
        return purged
