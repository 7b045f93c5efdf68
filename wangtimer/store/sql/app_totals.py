"""How many timers each app with a limit has and how many firings these plan, held against its limits.

Whoever changes timers moves the total of their app first, in the same transaction. Nothing is counted of an app without
a limit: its timers are counted before the limit first counts, and now and then, so that no error lasts.

A total is divided over slots, so that transactions which change it do not wait for each other. A transaction changes
the slot of its connection, and no slot grows beyond its share of the limit: so the slots together never do. A slot that
has used up its share gets a new one when all slots are locked and divided anew. The fewer timers are left to the limit,
the more often that is.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import structlog
from sqlalchemy import (
    Connection,
    LargeBinary,
    and_,
    bindparam,
    case,
    cast,
    func,
    insert,
    select,
    true,
    update,
)

from wangtimer.core.errors import LimitReached, StoreAway
from wangtimer.core.timers.timer import Timer, TimerStatus
from wangtimer.store.app_total import NOTHING, UNBOUNDED, WITHOUT_LIMIT, Total, counted, refusal, together
from wangtimer.store.sql.apps import forget_total
from wangtimer.store.sql.database import SqlStore
from wangtimer.store.sql.statements import by_index, update_by_index
from wangtimer.store.sql.tables import app_totals, apps, timers
from wangtimer.store.sql.timer_rows import bytes_of

log = structlog.get_logger()
Result = TypeVar("Result")


# ms; an app that is refused is counted anew, but not more often than this: it reads the row of each of its timers. So a
# timer that has fired for the last time is no longer in the way soon after.
COUNTED_ANEW_AFTER_MS = 10_000
# ms; an app that cannot be counted is not tried again for so long: until then its limits do not count.
UNCOUNTED_FOR_MS = 60_000
# As many connections change timers of one app without a wait, if each has a slot of its own.
SLOTS = 16
# No limit: slots that are divided by it are divided anew by the next that grows.
NOT_DIVIDED = Total(-1, -1, -1)
# Returns how much an app may have.
MostOf = Callable[[str], Total]

# The columns of what is counted, each with that of its limit.
_LIMIT_OF = {"timers": "most_timers", "firings_a_day": "most_firings", "bytes": "most_bytes"}
_OF_APP = app_totals.c.app == bindparam("of_app")
_MOVED = {name: app_totals.c[name] + bindparam(f"more_{name}") for name in _LIMIT_OF}
_MOVE = update(app_totals).where(_OF_APP, app_totals.c.slot == bindparam("of_slot")).values(_MOVED)
_MOVE_WITHIN = _MOVE.where(
    # A share of another limit says nothing about this one.
    *(app_totals.c[limit] == bindparam(f"limit_{name}") for name, limit in _LIMIT_OF.items()),
    *(moved <= bindparam(f"share_{name}") for name, moved in _MOVED.items()),
)
_OF_ALL = select(*(app_totals.c[name] for name in _LIMIT_OF)).where(_OF_APP)
_LOCK = by_index(_OF_ALL, "PRIMARY", app_totals).order_by(app_totals.c.slot).with_for_update()


def _divided(name: str) -> Any:
    is_larger = app_totals.c.slot < bindparam(f"larger_{name}")
    return bindparam(f"each_{name}") + case((is_larger, 1), else_=0)


_DIVIDE = update_by_index(
    update(app_totals)
    .where(_OF_APP)
    .values(
        {name: _divided(name) for name in _LIMIT_OF}
        | {limit: bindparam(f"limit_{name}") for name, limit in _LIMIT_OF.items()}
    ),
    "PRIMARY",
)


def move(sql: Connection, app: str, by: Total) -> None:
    """Change an app's total, whatever it may be; without effect where it is not counted."""
    sql.execute(_MOVE, _moved(sql, app, by))


def move_within(sql: Connection, app: str, by: Total, most: Total) -> bool:
    """Change an app's total, if its connection's slot has room for it; tell whether it had."""
    moved = _moved(sql, app, by)
    slot = moved["of_slot"]
    shares = {
        f"share_{name}": _share(getattr(most, name), slot) if getattr(by, name) > 0 else UNBOUNDED
        for name in _LIMIT_OF
    }
    return bool(sql.execute(_MOVE_WITHIN, moved | _named("limit", most) | shares).rowcount)


def locked(sql: Connection, app: str) -> Total | None:
    """Return an app's total, all of its slots locked until the transaction ends; None: it is not counted."""
    rows = sql.execute(_LOCK, {"of_app": app}).all()
    return together(Total(*row) for row in rows) if len(rows) == SLOTS else None


def divide(sql: Connection, app: str, total: Total, most: Total) -> None:
    """Divide a total evenly over an app's slots, which are locked. If it is within the limit `most`, each slot is."""
    values = _named("limit", most)
    for name in _LIMIT_OF:
        values[f"each_{name}"], values[f"larger_{name}"] = divmod(getattr(total, name), SLOTS)
    sql.execute(_DIVIDE, {"of_app": app} | values)


def _moved(sql: Connection, app: str, by: Total) -> dict[str, Any]:
    return {"of_app": app, "of_slot": _slot_of(sql)} | _named("more", by)


def _named(prefix: str, total: Total) -> dict[str, Any]:
    return {f"{prefix}_{name}": getattr(total, name) for name in _LIMIT_OF}


def _slot_of(sql: Connection) -> int:
    """Return the slot of a connection: the server numbers them, and those of one pool mostly one after the other."""
    driver: Any = sql.connection.dbapi_connection
    # SQLite has one writer at a time.
    return driver.thread_id() % SLOTS if hasattr(driver, "thread_id") else 0


def _share(most: int, slot: int) -> int:
    """Return how much of a limit a slot has: those of all slots are together the limit."""
    each, larger = divmod(most, SLOTS)
    return each + (slot < larger)


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


class TotalCounts(SqlStore):
    """Finds apps whose totals are old, and counts them. Nobody waits for a count."""

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
    """Give an app the slots it lacks, where there is one; its row is locked."""
    if sql.execute(select(apps.c.name).where(apps.c.name == app).with_for_update()).one_or_none():
        there = set(sql.execute(select(app_totals.c.slot).where(app_totals.c.app == app)).scalars())
        missing = [{"app": app, "slot": slot} for slot in range(SLOTS) if slot not in there]
        if missing:
            sql.execute(insert(app_totals), missing)


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

    def __init__(self, most_of: MostOf, total_counts: TotalCounts) -> None:
        self._most_of = most_of
        self._counts = total_counts
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
        """Change an app's total, before the timers, within `transact` where it grows; raises `LimitReached`."""
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
        if not any(growth.grows for growth in by):
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
        """Take out timers that plan nothing, each stands as its app. Their bytes count until the next count."""
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
    for growth in by:
        error = refusal(app, stands, growth, most)
        stands = stands if error else stands + growth
        refused.append(error)
    return stands, refused
