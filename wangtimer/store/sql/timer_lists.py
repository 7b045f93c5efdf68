"""Lists of timers: filters, orders, and where a page goes on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Select, and_, func, literal_column, not_, or_, select

from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.timers.bad_timers import BadTimers, Readable
from wangtimer.core.timers.timer import Timer, TimerStatus
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.keyset import behind, by_index, in_this_order
from wangtimer.store.sql.tables import firings, timer_tags, timers
from wangtimer.store.sql.timer_rows import read_rows, timer_of


class ListedStatus(StrEnum):
    """A timer's status as its owner sees it: an enabled one without a moment left is finished."""

    DISABLED = "disabled"
    ENABLED = "enabled"
    FINISHED = "finished"


class SortKey(StrEnum):
    """What a list is sorted by; the id decides among equals."""

    ID = "id"
    NAME = "name"
    CREATED_AT = "createdAt"
    UPDATED_AT = "updatedAt"


_COLUMNS = {
    SortKey.ID: timers.c.id,
    SortKey.NAME: timers.c.name,
    SortKey.CREATED_AT: timers.c.created_at,
    SortKey.UPDATED_AT: timers.c.updated_at,
}


@dataclass(frozen=True, slots=True)
class TimerFilter:
    """Which of an app's living timers; None: any. `contains` ignores upper and lower case.

    `app` None: of all apps, sorted by id and without a `tag`.

    `next_before` (ms UTC): timers with a coming moment up to it. `is_enabled`: finished timers count as enabled.
    """

    app: str | None
    name: str | None = None
    prefix: str | None = None
    contains: str | None = None
    status: ListedStatus | None = None
    tag: str | None = None
    next_before: int | None = None
    is_enabled: bool | None = None
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """The key to sort by, and whether the largest comes first."""

    key: SortKey = SortKey.ID
    descending: bool = False

    def value_of(self, timer: Timer) -> int | str:
        """Return the timer's value of the key."""
        match self.key:
            case SortKey.ID:
                return timer.id
            case SortKey.NAME:
                return timer.name
            case SortKey.CREATED_AT:
                return timer.created_at
            case SortKey.UPDATED_AT:
                return timer.updated_at


class TimerLists:
    """Pages stay right while rows come and go: each goes on after a key, not after a number of rows.

    A timer whose row cannot be read is noted; the page has the next timer instead.
    """

    def __init__(self, database: Database, bad_timers: BadTimers) -> None:
        self._database = database
        self._bad_timers = bad_timers

    def page(
        self,
        wanted: TimerFilter,
        order: Order,
        limit: int,
        now: int,
        after: tuple[int | str, int] | None = None,
        skipped: int = 0,
    ) -> list[Timer]:
        """Return up to `limit` timers in order, from after the given value and id, or after `skipped` timers."""
        keys = (_COLUMNS[order.key], timers.c.id)
        whole = _read_along(select(timers), wanted, order.key).where(_wanted(wanted, now))
        whole = whole.order_by(*(key.desc() if order.descending else key.asc() for key in keys))
        page: list[Timer] = []
        while True:
            query = whole if after is None else whole.where(behind(keys, after, order.descending))
            room = limit - len(page)
            rows = self._rows(query.limit(room).offset(skipped))
            found = self._read(rows)
            page += found.values()
            if not found.bad or len(rows) < room or skipped:
                return page
            after = rows[-1][keys[0].name], rows[-1]["id"]

    def chosen(self, wanted: TimerFilter, limit: int, now: int, after_id: int) -> Readable[int, Timer]:
        """Return the first `limit` timers with an id over `after_id`; those that cannot be read are in `bad`."""
        query = _read_along(select(timers), wanted, SortKey.ID).where(
            _wanted(wanted, now), timers.c.id > after_id
        )
        return self._read(self._rows(query.order_by(timers.c.id).limit(limit)))

    def count(self, wanted: TimerFilter, now: int, after_id: int = 0) -> int:
        """Return how many such timers have an id over `after_id`."""
        rest = timers.c.id > after_id
        counting = _read_along(select(func.count()), wanted, SortKey.ID)
        query = counting.where(_wanted(wanted, now), rest)
        return self._database.read(lambda sql: int(sql.execute(query).scalar_one()))

    def of_ids(self, app: str, ids: Sequence[int]) -> Readable[int, Timer]:
        """Return the app's living timers of these ids, by id; other ids are absent."""
        wanted = and_(timers.c.app == app, timers.c.tombstone == 0, timers.c.id.in_(sorted(ids)))
        return (
            self._read(self._rows(by_index(select(timers).where(wanted), "PRIMARY", timers)))
            if ids
            else Readable()
        )

    def apps_of(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the apps of timers by their ids, of deleted ones too."""
        query = by_index(
            select(timers.c.id, timers.c.app).where(timers.c.id.in_(sorted(set(ids)))), "PRIMARY", timers
        )
        return self._database.read(lambda sql: {row.id: row.app for row in sql.execute(query)})

    def known(self, app: str, ids: Sequence[int]) -> set[int]:
        """Return the ids that belong to living timers of the app, unreadable ones included."""
        if not ids:
            return set()
        wanted = and_(timers.c.app == app, timers.c.tombstone == 0, timers.c.id.in_(sorted(ids)))
        query = by_index(select(timers.c.id).where(wanted), "PRIMARY", timers)
        return self._database.read(lambda sql: set(sql.execute(query).scalars()))

    def unknown(self, app: str, names: Sequence[str]) -> list[str]:
        """Return the names that no living timer of the app has, in the given order."""
        wanted = and_(timers.c.app == app, timers.c.tombstone == 0, timers.c.name.in_(_comparable(names)))
        query = by_index(select(timers.c.name).where(wanted), "timer_app_name", timers)
        known = self._database.read(lambda sql: set(sql.execute(query).scalars()))
        return [name for name in dict.fromkeys(names) if name not in known]

    def _rows(self, query: Select[Any]) -> Sequence[RowMapping]:
        return self._database.read(lambda sql: sql.execute(query).mappings().all())

    def _read(self, rows: Sequence[RowMapping]) -> Readable[int, Timer]:
        found = read_rows(rows, timer_of)
        if found.bad:
            self._bad_timers.note(found.bad)
        return found


def _read_along(query: Select[Any], wanted: TimerFilter, key: SortKey) -> Select[Any]:
    """Return the query with hints to read along the index that has the timers close together, or in this order."""
    if wanted.tag is not None:
        # Along the ids of all timers with the tag.
        tagged = query.select_from(timer_tags.join(timers, timers.c.id == timer_tags.c.timer_id))
        return in_this_order(by_index(by_index(tagged, "PRIMARY", timer_tags), "PRIMARY", timers))
    in_order_of_name = wanted.name is not None or key is SortKey.NAME
    index = "timer_app_name" if in_order_of_name else "timer_of_app"
    if wanted.app is None:
        index = "PRIMARY"
    return by_index(query.select_from(timers), index, timers)


def _wanted(wanted: TimerFilter, now: int) -> ColumnElement[bool]:
    conditions = [timers.c.tombstone == 0]
    if wanted.app is not None:
        conditions.insert(0, timers.c.app == wanted.app)
    if wanted.name is not None:
        conditions.append(_is(timers.c.name, wanted.name))
    if wanted.names is not None:
        conditions.append(timers.c.name.in_(_comparable(wanted.names)))
    if wanted.prefix is not None:
        # Not LIKE, which ignores case in SQLite.
        conditions.append(_is(func.substr(timers.c.name, 1, len(wanted.prefix)), wanted.prefix))
    if wanted.contains is not None:
        conditions.append(func.lower(timers.c.name).contains(wanted.contains.lower(), autoescape=True))
    if wanted.status is not None:
        conditions.append(_has_status(wanted.status, now))
    if wanted.is_enabled is not None:
        status = TimerStatus.ENABLED if wanted.is_enabled else TimerStatus.DISABLED
        conditions.append(timers.c.status == status.value)
    if wanted.tag is not None:
        conditions += [timer_tags.c.app == wanted.app, _is(timer_tags.c.tag, wanted.tag)]
    if wanted.next_before is not None:
        conditions.append(_fires_before(wanted.next_before, now))
    return and_(*conditions)


def _is(text: ColumnElement[str], wanted: str) -> ColumnElement[bool]:
    # MariaDB ignores trailing spaces when it compares.
    return and_(text == wanted, func.char_length(text) == len(wanted))


def _comparable(names: Sequence[str]) -> list[str]:
    """Return the names that a timer can have: none ends in a space, which MariaDB ignores when it compares."""
    return [name for name in names if not name.endswith(" ")]


def _has_status(status: ListedStatus, now: int) -> ColumnElement[bool]:
    if status is ListedStatus.DISABLED:
        return timers.c.status == TimerStatus.DISABLED.value
    # The same rule as `Timer.is_finished`.
    is_finished = and_(timers.c.next_fire_at.is_(None), timers.c.planned_until <= now)
    is_enabled = timers.c.status == TimerStatus.ENABLED.value
    return and_(is_enabled, is_finished if status is ListedStatus.FINISHED else not_(is_finished))


def _fires_before(moment: int, now: int) -> ColumnElement[bool]:
    planned = and_(
        firings.c.timer_id == timers.c.id,
        firings.c.fire_at > now,
        firings.c.fire_at <= moment,
        firings.c.status == FiringStatus.PENDING.value,
    )
    is_enabled = timers.c.status == TimerStatus.ENABLED.value
    # With a limit, MariaDB seeks each timer's first firing; without, it first gathers the firings of all timers.
    first = by_index(select(literal_column("1")).where(planned).limit(1), "firing_of_timer")
    is_planned = first.correlate(timers).scalar_subquery().is_not(None)
    return and_(is_enabled, or_(timers.c.next_fire_at <= moment, is_planned))
