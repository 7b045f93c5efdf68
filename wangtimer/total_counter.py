"""The counter of totals: counts the timers of each app anew, now and then."""

from dataclasses import dataclass

import structlog

from wangtimer.core.errors import RowsLocked
from wangtimer.core.time.clock import Clock
from wangtimer.store.sql.app_totals import AppTotals
from wangtimer.store.sql.total_counts import TotalCounts

log = structlog.get_logger()

# ms; how long totals are kept without a count. Each change of a timer moves them. Two things make them differ: a
# process that does not know yet of an app's first limit, and timers that fired for the last time.
COUNTED_EVERY_MS = 600_000
# A count of an app's timers reads each of their rows.
LONGEST_S = 20.0
APPS_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class TotalCounter:
    """Two of them at once waste work, and harm nothing."""

    counts: TotalCounts
    totals: AppTotals
    clock: Clock

    def count_all(self) -> int:
        """Count the apps that were counted longest ago, until `LONGEST_S` is over; return how many.

        An app whose rows somebody else holds is left to the next count. Raises `StoreAway`.
        """
        now, ends_at = int(self.clock.now_ms()), self.clock.monotonic() + LONGEST_S
        counted = 0
        held: set[str] = set()
        while names := self._to_count(now - COUNTED_EVERY_MS, held):
            for app in names:
                if (counted or held) and self.clock.monotonic() > ends_at:
                    return counted
                try:
                    self._count(app, now)
                    counted += 1
                except RowsLocked:
                    held.add(app)
        return counted

    def _to_count(self, before: int, held: set[str]) -> list[str]:
        found = self.counts.to_count(before, APPS_AT_ONCE + len(held))
        return [app for app in found if app not in held]

    def _count(self, app: str, now: int) -> None:
        if not self.totals.are_kept(app):
            self.counts.forget(app)
            return
        self.counts.count(app, now)
        log.info("app_totals_counted", app=app)
