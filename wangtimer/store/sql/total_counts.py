"""Counts the timers of apps with a limit: before the limit first counts, and now and then, so that no error lasts."""

from functools import partial
from typing import Any

from sqlalchemy import Connection, LargeBinary, and_, bindparam, case, cast, func, select, true, update

from wangtimer.core.timers.timer import TimerStatus
from wangtimer.store.app_total import Total
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.keyset import by_index, update_by_index
from wangtimer.store.sql.tables import app_totals, apps, timers
from wangtimer.store.sql.total_slots import NOT_DIVIDED, add_slots, divide, forget_total, locked

_PLANS = and_(timers.c.status == TimerStatus.ENABLED.value, timers.c.next_fire_at.is_not(None))


def _bytes_of(column: Any) -> Any:
    return func.coalesce(func.length(cast(column, LargeBinary)), 0)


_LIVING = by_index(
    select(
        func.count().label("timers"),
        func.coalesce(func.sum(case((_PLANS, timers.c.firings_a_day), else_=0)), 0).label("firings"),
        func.coalesce(func.sum(_bytes_of(timers.c.notify) + _bytes_of(timers.c.bounds)), 0).label("bytes"),
    ).where(timers.c.app == bindparam("of_app"), timers.c.tombstone == 0),
    "timer_of_app",
    timers,
).subquery()


def _kept(column: Any) -> Any:
    found = select(func.coalesce(func.sum(column), 0)).where(app_totals.c.app == bindparam("of_app"))
    return by_index(found, "PRIMARY", app_totals).scalar_subquery()


# One statement, which sees one moment: a transaction under way is in both figures or in none.
_DRIFT = (
    select(
        apps.c.counted_at,
        (_LIVING.c.timers - _kept(app_totals.c.timers)).label("timers"),
        (_LIVING.c.firings - _kept(app_totals.c.firings_a_day)).label("firings_a_day"),
        (_LIVING.c.bytes - _kept(app_totals.c.bytes)).label("bytes"),
    )
    .select_from(apps.join(_LIVING, true()))
    .where(apps.c.name == bindparam("of_app"))
)


class TotalCounts:
    """Finds apps whose totals are old, and counts them. Nobody waits for a count."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def to_count(self, before: int, limit: int) -> list[str]:
        """Return apps with a total that was last counted before a moment (ms UTC), the longest ago first."""
        query = select(apps.c.name).where(apps.c.counted_at > 0, apps.c.counted_at < before)
        query = by_index(query, "app_counted", apps).order_by(apps.c.counted_at).limit(limit)
        return self._database.read(lambda sql: list(sql.execute(query).scalars()))

    def count(self, app: str, now: int) -> None:
        """Count an app's timers, and move its total by what it is wrong by. Without effect where there is no app."""
        self._database.write(partial(_add_slots, app=app))
        seen = self._database.read(lambda sql: sql.execute(_DRIFT, {"of_app": app}).one_or_none())
        if seen is None:
            return
        drift = Total(int(seen.timers), int(seen.firings_a_day), int(seen.bytes))
        is_as_seen = and_(apps.c.name == app, apps.c.counted_at == seen.counted_at)
        counting = update(apps).where(is_as_seen).values(counted_at=max(now, seen.counted_at + 1))
        counting = update_by_index(counting, "PRIMARY")

        def work(sql: Connection) -> None:
            # Else somebody else has counted it meanwhile, and moved the total by the same.
            if sql.execute(counting).rowcount and (stands := locked(sql, app)) is not None:
                divide(sql, app, stands + drift, NOT_DIVIDED)

        self._database.write(work)

    def forget(self, app: str) -> None:
        """Forget the total of an app that has no limit any more."""
        self._database.write(partial(forget_total, app=app), waits_for_locks=False)


def _add_slots(sql: Connection, app: str) -> None:
    if sql.execute(select(apps.c.name).where(apps.c.name == app).with_for_update()).one_or_none():
        add_slots(sql, app)
