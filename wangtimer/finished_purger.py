"""The purger of finished timers: deletes each when its retention is over, or once its last firing has succeeded."""

from dataclasses import dataclass, field

import structlog

from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.fields import KEPT_AFTER_FAILURE
from wangtimer.in_turn import rest_after
from wangtimer.store.sql.finished_timers import FinishedTimers

log = structlog.get_logger()

# Timers one transaction looks at: some ten ms, so that nothing waits behind it.
PAGE = 500
# A purge ends after this long, and is gone on with at once. The sweep tells Redis of each deleted timer, 20,000 every
# 5 s.
LONGEST_S = 20.0


@dataclass(slots=True)
class FinishedPurger:
    """Two purges at once waste work, and harm nothing.

    `default_days` is for timers without a retention of their own, and for those that are kept only because they failed.
    """

    timers: FinishedTimers
    clock: Clock
    default_days: int
    # Whether the last purge ended because its time was over.
    has_more: bool = field(default=False, init=False)

    def purge(self) -> int:
        """Delete finished timers that are kept no longer; return how many. Raises `StoreAway`."""
        now = int(self.clock.now_ms())
        ends_at = self.clock.monotonic() + LONGEST_S
        purged, self.has_more = 0, False
        for days in (*self.timers.kept_days(), None, KEPT_AFTER_FAILURE):
            purged += self._purge(days, now, ends_at)
        if purged:
            log.info("finished_timers_purged", timers=purged)
        return purged

    def _purge(self, days: int | None, now: int, ends_at: float) -> int:
        """Delete timers that are kept for `days`, and whose days are over at `now` (ms UTC), until `ends_at`.

        Timers that wait for an outcome are passed over; the next purge looks at them again, oldest first.
        """
        upto = now - (self.default_days if days in (None, KEPT_AFTER_FAILURE) else days) * DAY_MS
        purged = 0
        behind: tuple[int, int] | None = (-1, 0)
        while behind is not None:
            began_at = self.clock.monotonic()
            if began_at >= ends_at:
                self.has_more = True
                break
            page = self.timers.delete_page(days, upto, behind, PAGE, now)
            purged += page.deleted
            behind = page.last
            rest_after(self.clock, began_at)
        return purged
