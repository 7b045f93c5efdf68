"""The purger: deletes what is past its retention, a few rows at a time."""

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import DAY_MS
from wangtimer.in_turn import do_in_turn
from wangtimer.store.sql.audit import AuditLog
from wangtimer.store.sql.firings import FiringStore
from wangtimer.store.sql.kept_answers import KeptAnswers
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

# Rows one transaction deletes: a few ms, so that nothing waits behind it.
PAGE = 1_000
# A purge spends so long on each kind of row, however much is left.
LONGEST_S = 20.0
PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class Purger:
    """Never touches a firing that is not settled; two of them at once waste work, and harm nothing."""

    firings: FiringStore
    timers: TimerStore
    answers: KeptAnswers
    audit: AuditLog
    clock: Clock
    retention_ms: int
    audited_ms: int

    def purge(self) -> int:
        """Delete settled firings past retention, timers deleted that long ago, answers kept for a day, and old audit.

        Returns how many firings were deleted. Each of the four is tried, and goes on until its time is over. Raises
        the first error (`StoreAway`) after all of them.
        """
        now = int(self.clock.now_ms())
        before = now - self.retention_ms
        purged = 0

        def purge_firings() -> None:
            nonlocal purged
            purged = self._page_by_page(lambda: self.firings.purge(before, PAGE))

        do_in_turn(
            purge_firings,
            # A day later than firings, so that none of theirs is left.
            lambda: self._page_by_page(lambda: self.timers.purge(before - DAY_MS, PAGE)),
            lambda: self._page_by_page(lambda: self.answers.purge(now, PAGE)),
            lambda: self._page_by_page(lambda: self.audit.purge(now - self.audited_ms, PAGE)),
        )
        if purged:
            log.info("purged", firings=purged)
        return purged

    def _page_by_page(self, purge_page: Callable[[], int]) -> int:
        """Delete one page after the other until none is left or `LONGEST_S` is over; return how many rows."""
        ends_at = self.clock.monotonic() + LONGEST_S
        purged = 0
        while self.clock.monotonic() < ends_at and (page := purge_page()):
            purged += page
            self.clock.sleep(PAUSE_S)
        return purged
