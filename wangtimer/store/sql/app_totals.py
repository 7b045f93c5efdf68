"""How many timers each app has and how many firings these plan: kept in the app's row, and held against its limits.

Whoever changes timers moves the totals of their app first, in the same transaction. So two creates of one app wait for
each other's commit, and none has to count rows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, case, func, select, update

from wangtimer.core.apps.described_limits import AppLimit, LimitsInForce
from wangtimer.core.errors import Limited, LimitReached
from wangtimer.core.kinds.how_often import firings_a_day
from wangtimer.core.time.zones import DAY_S
from wangtimer.core.timers.timer import Timer, TimerStatus
from wangtimer.store.sql.keyset import by_index
from wangtimer.store.sql.tables import apps, timers

# More than any app has.
UNBOUNDED = 2**62
# ms; an app that is refused is counted anew, but not more often than this: it reads the row of each of its timers. So a
# timer that has fired for the last time is no longer in the way soon after.
COUNTED_ANEW_AFTER_MS = 10_000

_MOVED: Any = {
    "timers": apps.c.timers + bindparam("more_timers"),
    "firings_a_day": apps.c.firings_a_day + bindparam("more_firings"),
}
_OF_APP = apps.c.name == bindparam("app")
_MOVE = update(apps).where(_OF_APP).values(_MOVED)
_MOVE_WITHIN = _MOVE.where(
    and_(
        apps.c.timers + bindparam("more_timers") <= bindparam("most_timers"),
        apps.c.firings_a_day + bindparam("more_firings") <= bindparam("most_firings"),
    )
)
_TOTALS = select(apps.c.timers, apps.c.firings_a_day, apps.c.counted_at).where(_OF_APP).with_for_update()
_PLANS = and_(timers.c.status == TimerStatus.ENABLED.value, timers.c.next_fire_at.is_not(None))
_COUNT = by_index(
    select(
        func.count().label("timers"),
        func.coalesce(func.sum(case((_PLANS, timers.c.firings_a_day), else_=0)), 0).label("firings_a_day"),
    ).where(timers.c.app == bindparam("app"), timers.c.tombstone == 0),
    "timer_of_app",
    timers,
)
_SET = (
    update(apps)
    .where(_OF_APP)
    .values(
        timers=bindparam("counted_timers"),
        firings_a_day=bindparam("counted_firings"),
        counted_at=bindparam("now"),
    )
)


@dataclass(frozen=True, slots=True)
class Total:
    """A number of living timers, and of firings a day that enabled ones plan; also how much these grow, or may grow."""

    timers: int = 0
    firings_a_day: int = 0

    def __add__(self, other: "Total") -> "Total":
        """Return both together."""
        return Total(self.timers + other.timers, self.firings_a_day + other.firings_a_day)

    def __sub__(self, other: "Total") -> "Total":
        """Return what is left of it without the other."""
        return Total(self.timers - other.timers, self.firings_a_day - other.firings_a_day)


NOTHING = Total()
WITHOUT_LIMIT = Total(UNBOUNDED, UNBOUNDED)

# Returns how much an app may have.
MostOf = Callable[[str], Total]


def counted(timer: Timer) -> Total:
    """Return what a living timer counts as: one whose last firing is planned counts as none of its firings."""
    plans = timer.definition.is_enabled and timer.next_fire_at is not None
    return Total(1, firings_a_day(timer.definition.schedule) if plans else 0)


def counted_all(some: Iterable[Timer]) -> Total:
    """Return what living timers count as together."""
    return sum(map(counted, some), NOTHING)


class AppTotals:
    """Moves the totals of apps within transactions that change timers. An app without a row has no totals."""

    def __init__(self, most_of: MostOf = lambda _: WITHOUT_LIMIT) -> None:
        self._most_of = most_of

    def move(self, sql: Connection, app: str, by: Total, now: int) -> None:
        """Change an app's totals, before the timers; raises `LimitReached` where it may not grow so far."""
        if by == NOTHING:
            return
        moved = {"app": app, "more_timers": by.timers, "more_firings": by.firings_a_day}
        if by.timers <= 0 and by.firings_a_day <= 0:
            sql.execute(_MOVE, moved)
            return
        most = self._bound(app, by)
        within = {"most_timers": most.timers, "most_firings": most.firings_a_day}
        if sql.execute(_MOVE_WITHIN, moved | within).rowcount:
            return
        stands = self._locked(sql, app, by, now)
        if stands is None:
            return
        _refuse(app, stands + by, most)
        sql.execute(_MOVE, moved)

    def move_some(
        self, sql: Connection, app: str, by: Sequence[Total], now: int
    ) -> list[LimitReached | None]:
        """Change an app's totals by as many of these as fit, one after the other; return why each other does not."""
        whole = sum(by, NOTHING)
        try:
            self.move(sql, app, whole, now)
            return [None for _ in by]
        except LimitReached:
            stands = self._locked(sql, app, whole, now) or NOTHING
        taken, refused = NOTHING, list[LimitReached | None]()
        for one in by:
            try:
                _refuse(app, stands + taken + one, self._bound(app, one))
            except LimitReached as error:
                refused.append(error)
                continue
            refused.append(None)
            taken += one
        sql.execute(_MOVE, {"app": app, "more_timers": taken.timers, "more_firings": taken.firings_a_day})
        return refused

    def _bound(self, app: str, by: Total) -> Total:
        """Return how far the totals may go: what does not grow may stay above a limit that was lowered."""
        most = self._most_of(app)
        return Total(
            most.timers if by.timers > 0 else UNBOUNDED,
            most.firings_a_day if by.firings_a_day > 0 else UNBOUNDED,
        )

    def _locked(self, sql: Connection, app: str, by: Total, now: int) -> Total | None:
        """Return an app's totals, its row locked; None: they are not counted yet, or it has no row."""
        row = sql.execute(_TOTALS, {"app": app}).one_or_none()
        if row is None or row.timers is None:
            return None
        stands = Total(row.timers, row.firings_a_day)
        if by.firings_a_day > 0 and row.counted_at <= now - COUNTED_ANEW_AFTER_MS:
            return count_anew(sql, app, now)
        return stands


def count_anew(sql: Connection, app: str, now: int) -> Total:
    """Count an app's timers, write its totals and return them; its row must be locked.

    Others who change its timers wait for that row, and their changes are not seen yet.
    """
    found: Row[Any] = sql.execute(_COUNT, {"app": app}).one()
    total = Total(int(found.timers), int(found.firings_a_day))
    figures = {"counted_timers": total.timers, "counted_firings": total.firings_a_day}
    sql.execute(_SET, {"app": app, "now": now} | figures)
    return total


def move_down(sql: Connection, gone: Iterable[Timer], is_deleted: bool) -> None:
    """Take timers of any apps, as they were, out of the totals: their firings, and themselves if they are deleted."""
    by_app: dict[str, Total] = {}
    for timer in gone:
        own = counted(timer)
        less = own if is_deleted else Total(0, own.firings_a_day)
        by_app[timer.definition.app] = by_app.get(timer.definition.app, NOTHING) + less
    _take(sql, by_app)


def take_timers(sql: Connection, apps_of: Iterable[str]) -> None:
    """Take timers that plan nothing out of the totals; each stands as its app."""
    _take(sql, {app: Total(number) for app, number in Counter(apps_of).items()})


def _take(sql: Connection, by_app: dict[str, Total]) -> None:
    # In one order, so that no two wait for each other.
    for app, less in sorted(by_app.items()):
        if less != NOTHING:
            moved = {"more_timers": -less.timers, "more_firings": -less.firings_a_day}
            sql.execute(_MOVE, {"app": app} | moved)


def _refuse(app: str, would_be: Total, most: Total) -> None:
    """Raise `LimitReached`, with both figures, if an app would have too much."""
    if would_be.timers > most.timers:
        raise LimitReached(
            Limited.TIMERS,
            f"app {app!r} would have {would_be.timers:,} timers, and may have {most.timers:,}",
            "delete some, or ask an operator for a higher limit",
        )
    if would_be.firings_a_day > most.firings_a_day:
        raise LimitReached(
            Limited.FIRINGS,
            f"the enabled timers of app {app!r} would plan {_a_second(would_be)} firings a second, and may plan "
            f"{_a_second(most)}",
            "let timers fire less often, disable some, or ask an operator for a higher limit",
        )


def _a_second(total: Total) -> str:
    text = f"{total.firings_a_day / DAY_S:,.5f}"
    return text.rstrip("0").rstrip(".")


def most_of(limits: LimitsInForce) -> Total:
    """Return how much an app with these limits may have."""
    most, a_second = limits.of(AppLimit.TIMERS), limits.of(AppLimit.FIRINGS_PER_SECOND)
    return Total(
        UNBOUNDED if most is None else most,
        UNBOUNDED if a_second is None else a_second * DAY_S,
    )
