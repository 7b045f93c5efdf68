"""How many timers each app with a limit has and how many firings these plan, held against its limits.

Whoever changes timers moves the total of their app first, in the same transaction. Nothing is counted of an app without
a limit.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import structlog
from sqlalchemy import Connection, select

from wangtimer.core.errors import LimitReached, StoreAway
from wangtimer.core.timers.timer import Timer
from wangtimer.store.app_total import NOTHING, WITHOUT_LIMIT, Total, counted, refusal, together
from wangtimer.store.sql.tables import apps
from wangtimer.store.sql.timer_rows import bytes_of
from wangtimer.store.sql.total_counts import TotalCounts
from wangtimer.store.sql.total_slots import divide, locked, move, move_within

log = structlog.get_logger()

Result = TypeVar("Result")

# ms; an app that is refused is counted anew, but not more often than this: it reads the row of each of its timers. So a
# timer that has fired for the last time is no longer in the way soon after.
COUNTED_ANEW_AFTER_MS = 10_000

# ms; an app that cannot be counted is not tried again for so long: until then its limits do not count.
UNCOUNTED_FOR_MS = 60_000

# Returns how much an app may have.
MostOf = Callable[[str], Total]


class _BeginAgain(Exception):
    """The transaction begins again."""

    def __init__(self, app: str) -> None:
        super().__init__(app)
        self.app = app


class NoShare(_BeginAgain):
    """A slot of an app has no room: the transaction is to lock all slots before it holds any.

    SQL keeps the lock of a slot that was only looked at. Two that hold one each and lock all would wait for each other.
    """


class CountNeeded(_BeginAgain):
    """An app must be counted before its total can be moved."""


class _Exactly(threading.local):
    """The apps of which this thread's transaction locks all slots."""

    apps: frozenset[str] = frozenset()


class AppTotals:
    """Moves the totals of apps within transactions that change timers."""

    def __init__(self, most_of: MostOf, counts: TotalCounts) -> None:
        self._most_of = most_of
        self._counts = counts
        self._uncounted_until: dict[str, int] = {}
        self._exactly = _Exactly()

    def are_kept(self, app: str) -> bool:
        """Tell whether an app has a limit, so that its total is kept."""
        return self._most_of(app) != WITHOUT_LIMIT

    def transact(self, write: Callable[[], Result], now: int) -> Result:
        """Run a transaction in which totals grow, and again as long as one of them wants that."""
        self._exactly.apps = frozenset()
        while True:
            try:
                return write()
            except NoShare as none:
                self._exactly.apps |= {none.app}
            except CountNeeded as needed:
                self._count(needed.app, now)

    def _count(self, app: str, now: int) -> None:
        try:
            self._counts.count(app, now)
        except StoreAway as error:
            # Perhaps it has so many timers that SQL ends the statement.
            log.error("app_cannot_be_counted", app=app, error=str(error))
            self._uncounted_until[app] = now + UNCOUNTED_FOR_MS

    def move(self, sql: Connection, app: str, by: Total, now: int) -> None:
        """Change an app's total, before the timers; raises `LimitReached` where it may not grow so far.

        Where it grows, it runs within `transact`.
        """
        (refused,) = self.move_some(sql, app, [by], now)
        if refused is not None:
            raise refused

    def move_some(
        self, sql: Connection, app: str, by: Sequence[Total], now: int
    ) -> list[LimitReached | None]:
        """Change an app's total by as many of these as fit, one after the other; return why each other does not."""
        fits: list[LimitReached | None] = [None for _ in by]
        most = self._most_of(app)
        if most == WITHOUT_LIMIT or (whole := together(by)) == NOTHING:
            return fits
        if not any(one.grows for one in by):
            move(sql, app, whole)
            return fits
        if app not in self._exactly.apps:
            if move_within(sql, app, whole, most):
                return fits
            raise NoShare(app)
        stands = locked(sql, app)
        counted_at = sql.execute(select(apps.c.counted_at).where(apps.c.name == app)).scalar_one_or_none()
        is_countable = self._uncounted_until.get(app, 0) <= now
        if counted_at is None or (stands is None and not is_countable):
            return fits
        if stands is None:
            raise CountNeeded(app)
        stands, refused = _taken(app, stands, by, most)
        if any(refused) and is_countable and counted_at <= now - COUNTED_ANEW_AFTER_MS:
            raise CountNeeded(app)
        if not all(refused):
            divide(sql, app, stands, most)
        return refused

    def move_down(self, sql: Connection, gone: Iterable[Timer], is_deleted: bool) -> None:
        """Take timers of any apps, as they were, out of the totals: their firings, and themselves if deleted."""
        by_app: dict[str, Total] = {}
        for timer in gone:
            app = timer.definition.app
            if not self.are_kept(app):
                continue
            own = counted(timer)
            less = own + Total(bytes=bytes_of(timer)) if is_deleted else Total(0, own.firings_a_day)
            by_app[app] = by_app.get(app, NOTHING) + less
        self._take(sql, by_app)

    def take_timers(self, sql: Connection, apps_of: Iterable[str]) -> None:
        """Take timers that plan nothing out of the totals; each stands as its app. Their bytes count on until the next
        count.
        """
        self._take(sql, {app: Total(number) for app, number in Counter(apps_of).items()})

    def _take(self, sql: Connection, by_app: dict[str, Total]) -> None:
        # In one order, so that no two wait for each other.
        for app, less in sorted(by_app.items()):
            if less != NOTHING and self.are_kept(app):
                move(sql, app, NOTHING - less)


def _taken(
    app: str, stands: Total, by: Sequence[Total], most: Total
) -> tuple[Total, list[LimitReached | None]]:
    """Return a total that has grown by as many of these as fit, and why each other does not."""
    refused: list[LimitReached | None] = []
    for one in by:
        error = refusal(app, stands, one, most)
        stands = stands if error else stands + one
        refused.append(error)
    return stands, refused
