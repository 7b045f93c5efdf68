"""The purger: deletes what is past its retention, a few rows at a time, and counts the timers of apps anew."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import structlog

from wangtimer.base.in_turn import do_in_turn, rest_after
from wangtimer.core.errors import RowsLocked
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.fields import KEPT_AFTER_FAILURE
from wangtimer.store.sql.app_totals import AppTotals, TotalCounts
from wangtimer.store.sql.audit import AuditLog
from wangtimer.store.sql.dead_letters import DeadLetterStore
from wangtimer.store.sql.finished_timers import FinishedTimers
from wangtimer.store.sql.firings import FiringStore
from wangtimer.store.sql.kept_answers import KeptAnswers
from wangtimer.store.sql.parts import PartRule, parts_of
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

# Rows one transaction deletes: a few ms, so that nothing waits behind it.
PAGE = 1_000
# A purge spends so long on each kind of row, then it looks at the others; what is left is gone on with at once. A count
# of apps' timers reads each of their rows, and ends after as long.
LONGEST_S = 20.0
# Firings are looked through by parts of the time: what is not settled there is passed with each page.
PARTS_OF_A_PURGE = PartRule(shortest_ms=60_000, growth=2)
# A purge begins where the one before ended, and this often at the oldest firing: some may be settled by now.
FROM_OLDEST_EVERY_S = 86_400.0


@dataclass(slots=True)
class Purger:
    """Never touches a firing that is not settled; two of them at once waste work, and harm nothing."""

    firings: FiringStore
    timers: TimerStore
    kept_answers: KeptAnswers
    audit: AuditLog
    dead_letters: DeadLetterStore
    clock: Clock
    retention_ms: int
    audited_ms: int
    # Whether the last purge ended because its time was over.
    has_more: bool = field(default=False, init=False)
    # Moments before this, ms UTC, were looked through; and when to begin at the oldest again, s of the stop-watch.
    _done_before: int = field(default=0, init=False)
    _from_oldest_at: float = field(default=float("-inf"), init=False)

    def purge(self) -> int:
        """Delete what is past retention: settled firings, deleted timers, kept answers, old audit and dead letters.

        Returns how many firings were deleted. Each of the five is tried, and goes on until its time is over. Raises
        the first error (`StoreAway`) after all of them.
        """
        now = int(self.clock.now_ms())
        before = now - self.retention_ms
        purged = 0
        self.has_more = False

        def purge_firings() -> None:
            nonlocal purged
            for deleted in self._firings_before(before):
                purged += deleted

        do_in_turn(
            purge_firings,
            # A day later than firings, so that none of theirs is left.
            lambda: self._page_by_page(lambda: self.timers.purge(before - DAY_MS, PAGE)),
            lambda: self._page_by_page(lambda: self.kept_answers.purge(now, PAGE)),
            lambda: self._page_by_page(lambda: self.audit.purge(now - self.audited_ms, PAGE)),
            lambda: self._page_by_page(lambda: self.dead_letters.purge(now, self.retention_ms, PAGE)),
        )
        if purged:
            log.info("purged", firings=purged)
        return purged

    def _firings_before(self, before: int) -> Iterator[int]:
        """Delete settled firings page by page, and yield how many each page had, until `LONGEST_S` is over."""
        began_at = self.clock.monotonic()
        if began_at >= self._from_oldest_at:
            self._done_before, self._from_oldest_at = 0, began_at + FROM_OLDEST_EVERY_S
        oldest = self.firings.oldest_moment()
        if oldest is None:
            return
        since = max(oldest, self._done_before)
        for first, last in parts_of(since, before - 1, PARTS_OF_A_PURGE, self.clock, math.inf, None):
            begins_at = first
            while True:
                paged_at = self.clock.monotonic()
                page = self.firings.purge(last + 1, PAGE, since=begins_at)
                if not page.rows:
                    break
                yield page.rows
                begins_at = self._done_before = page.upto
                rest_after(self.clock, paged_at)
                if self._is_over(began_at):
                    return
            self._done_before = last + 1
            if last + 1 < before and self._is_over(began_at):
                return

    def _page_by_page(self, purge_page: Callable[[], int]) -> int:
        """Delete one page after the other until none is left or `LONGEST_S` is over; return how many rows."""
        began_at = paged_at = self.clock.monotonic()
        purged = 0
        while page := purge_page():
            purged += page
            rest_after(self.clock, paged_at)
            if self._is_over(began_at):
                break
            paged_at = self.clock.monotonic()
        return purged

    def _is_over(self, began_at: float) -> bool:
        """Tell whether `LONGEST_S` is over, and note that there may be more."""
        is_over = self.clock.monotonic() >= began_at + LONGEST_S
        self.has_more = self.has_more or is_over
        return is_over


# Timers one transaction looks at: some ten ms, so that nothing waits behind it. The sweep tells Redis of each deleted
# timer, 20,000 every 5 s.
FINISHED_PAGE = 500


@dataclass(slots=True)
class FinishedPurger:
    """Deletes each finished timer when its retention is over, or once its last firing has succeeded.

    Two purges at once waste work, and harm nothing.

    `retention_days` is for timers without a retention of their own, and for those kept only because they failed.
    """

    finished_timers: FinishedTimers
    clock: Clock
    retention_days: int
    # Whether the last purge ended because its time was over.
    has_more: bool = field(default=False, init=False)

    def purge(self) -> int:
        """Delete finished timers that are kept no longer; return how many. Raises `StoreAway`."""
        now = int(self.clock.now_ms())
        ends_at = self.clock.monotonic() + LONGEST_S
        purged, self.has_more = 0, False
        for days in (*self.finished_timers.kept_days(), None, KEPT_AFTER_FAILURE):
            purged += self._purge(days, now, ends_at)
        if purged:
            log.info("finished_timers_purged", timers=purged)
        return purged

    def _purge(self, days: int | None, now: int, ends_at: float) -> int:
        """Delete timers that are kept for `days`, and whose days are over at `now` (ms UTC), until `ends_at`.

        Timers that wait for an outcome are passed over; the next purge looks at them again, oldest first.
        """
        upto = now - (self.retention_days if days in (None, KEPT_AFTER_FAILURE) else days) * DAY_MS
        purged = 0
        behind: tuple[int, int] | None = (-1, 0)
        while behind is not None:
            began_at = self.clock.monotonic()
            if began_at >= ends_at:
                self.has_more = True
                break
            page = self.finished_timers.delete_page(days, upto, behind, FINISHED_PAGE, now)
            purged += page.deleted
            behind = page.last
            rest_after(self.clock, began_at)
        return purged


# ms; how long totals are kept without a count. Each change of a timer moves them. Two things make them differ: a
# process that does not know yet of an app's first limit, and timers that fired for the last time.
COUNTED_EVERY_MS = 600_000
APPS_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class TotalCounter:
    """Counts the timers of each app anew, now and then. Two of them at once waste work, and harm nothing."""

    total_counts: TotalCounts
    app_totals: AppTotals
    clock: Clock

    def count_all(self) -> int:
        """Count the apps counted longest ago, for `LONGEST_S`; return how many. Held ones wait. Raises `StoreAway`."""
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
        found = self.total_counts.to_count(before, APPS_AT_ONCE + len(held))
        return [app for app in found if app not in held]

    def _count(self, app: str, now: int) -> None:
        if not self.app_totals.are_kept(app):
            self.total_counts.forget(app)
            return
        self.total_counts.count(app, now)
        log.info("app_totals_counted", app=app)
