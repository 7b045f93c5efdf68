"""Lists of timers: filters, orders, and where a page goes on."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    RowMapping,
    Select,
    Table,
    and_,
    func,
    literal_column,
    not_,
    or_,
    select,
    true,
)

from wangtimer.core.errors import InvalidInput
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import BadTimers, Readable
from wangtimer.core.timers.timer import Timer, TimerStatus
from wangtimer.store.call_text import (
    BEFORE_URL_OF_TARGET,
    BEFORE_URL_OF_TIMER,
    URL_WITHIN,
    beginnings_of_calls_to,
    shown_url,
)
from wangtimer.store.sql.database import Database, SqlStore
from wangtimer.store.sql.parts import PartedLook, end_of_patience
from wangtimer.store.sql.statements import as_far_as, behind, by_index, in_this_order
from wangtimer.store.sql.tables import firings, targets, timer_tags, timers
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


# A page's first part is so many rows of its index, a count's the second; each next one is four times as many while that
# is quick, up to the last. So no statement reads more, however few of them are wanted.
FEW_ROWS, FEW_COUNTED, MOST_ROWS = 500, 5_000, 40_000
QUICK_S = 0.1
# What begins a key, or has a tag, is gathered and sorted if it is so few rows.
FEW_SORTED = 5_000


@dataclass(frozen=True, slots=True)
class TimerFilter:
    """Which of an app's living timers; None: any. `contains` ignores upper and lower case.

    `app` None: of all apps, sorted by id and without a `tag`.

    `next_before` (ms UTC): timers with a coming moment up to it. `is_enabled`: finished timers count as enabled.
    `host`, of one app: timers that call this host, in lower case, with a port or at any. `through` (set
    by `TimerLists`) are the names of the targets that do: timers that name them call it too.
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
    host: str | None = None
    through: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimerLabel:
    """By what people know a timer: its app, its key, and the URL (masked) or the named target that it calls now.

    `key` None: nothing is known of it any more. Neither a `url` nor a `target`: it is deleted.
    """

    app: str
    key: str | None = None
    url: str | None = None
    target: str | None = None


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


# By what a list is sorted. Names of an app's living timers are unique, and ids ascend with their age.
_KEYS: dict[SortKey, tuple[Column[Any], ...]] = {
    SortKey.ID: (timers.c.id,),
    SortKey.NAME: (timers.c.name,),
    SortKey.CREATED_AT: (timers.c.id,),
    SortKey.UPDATED_AT: (timers.c.updated_at, timers.c.id),
}


def _too_long() -> InvalidInput:
    return InvalidInput(
        "",
        "there are too many timers to look through in a few seconds",
        "look by how their keys or names begin, sorted by them, or by a tag that few have",
    )


class TimerLists(SqlStore):
    """Pages stay right while rows come and go: each goes on after a key, not after a number of rows.

    A timer whose row cannot be read is noted; the page has the next timer instead.
    """

    def __init__(self, database: Database, clock: Clock, bad_timers: BadTimers) -> None:
        super().__init__(database)
        self._clock = clock
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
        """Return up to `limit` timers in order, from after a value and id, or after `skipped` timers.

        Raises `InvalidInput` if they are not found within 8 s, and `TooManyAtOnce`.
        """
        wanted = self._with_targets(wanted)
        way = self._way(wanted, order)
        query = way.narrow(select(timers), wanted, now).order_by(*way.order)
        is_numbered, page = bool(skipped), list[Timer]()
        for part in self._parts(way, wanted.app, None if after is None else way.values(*after), is_numbered):
            of_part = query.where(part)
            while room := limit - len(page):
                rows = self._mappings(of_part.limit(room).offset(skipped))
                found = self._read(rows)
                page += found.values()
                if is_numbered:
                    # Else the place of one that cannot be read is the next one's.
                    limit -= len(found.bad)
                if len(rows) < room:
                    break
                of_part, skipped = of_part.where(way.behind([rows[-1][key.name] for key in way.keys])), 0
            if len(page) == limit:
                break
            skipped = 0 if rows or not skipped else skipped - self._number(way, wanted, now, part)
        return page

    def chosen(self, wanted: TimerFilter, limit: int, now: int, after_id: int) -> Readable[int, Timer]:
        """Return the first `limit` timers with an id over `after_id`; unreadable ones in `bad`. Raises as `page`."""
        wanted = self._with_targets(wanted)
        way = self._way(wanted, Order())
        query = way.narrow(select(timers), wanted, now).order_by(*way.order)
        rows: list[RowMapping] = []
        for part in self._parts(way, wanted.app, [after_id]):
            rows += self._mappings(query.where(part).limit(limit - len(rows)))
            if len(rows) == limit:
                break
        return self._read(rows)

    def count(self, wanted: TimerFilter, now: int, after_id: int = 0) -> int:
        """Return how many such timers have an id over `after_id`; raises as `page`."""
        wanted = self._with_targets(wanted)
        way = self._way(wanted, Order())
        parts = self._parts(way, wanted.app, [after_id], is_whole=True)
        return sum(self._number(way, wanted, now, part) for part in parts)

    def _number(self, way: "_Way", wanted: TimerFilter, now: int, part: ColumnElement[bool]) -> int:
        query = way.narrow(select(func.count()), wanted, now).where(part)
        return self._database.read(lambda sql: int(sql.execute(query).scalar_one()))

    def _with_targets(self, wanted: TimerFilter) -> TimerFilter:
        """Return the filter with the names of the app's targets at its host: an app has 1,000 targets at most."""
        if wanted.host is None:
            return wanted
        at_host = _calls(targets.c.content, BEFORE_URL_OF_TARGET, wanted.host)
        query = select(targets.c.name).where(targets.c.app == wanted.app, at_host)
        query = by_index(query, "PRIMARY", targets)
        names = self._database.read(lambda sql: sql.execute(query).scalars().all())
        return replace(wanted, through=tuple(names))

    def _way(self, wanted: TimerFilter, order: Order) -> "_Way":
        """Return along which index such timers are read in this order, or are found where they are few."""
        in_order = _in_order(wanted, order)
        if in_order.is_few or in_order.seeks(wanted):
            return in_order
        for narrow in _narrow(wanted, order):
            if self._end(narrow, None, FEW_SORTED) is None:
                return narrow
        return in_order

    def _parts(
        self, way: "_Way", app: str | None, after: Sequence[Any] | None, is_whole: bool = False
    ) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions of each part of the way, from behind these values on; raises as `PartedLook`.

        Rows that the index has as they are wanted need no parts, unless all of them are read.
        """
        begin: ColumnElement[bool] = true() if after is None else way.behind(after)
        if way.is_few or not (way.is_wider or is_whole):
            yield begin
            return
        rows = FEW_COUNTED if is_whole else FEW_ROWS
        with PartedLook(self._clock, app, end_of_patience(self._clock), _too_long) as look:
            while True:
                began_at = look.go_on()
                end = self._end(way, after, rows)
                yield begin if end is None else and_(begin, way.as_far_as(end))
                if end is None:
                    return
                after, begin = end, way.behind(end)
                is_quick = self._clock.monotonic() < began_at + QUICK_S
                rows = min(4 * rows, MOST_ROWS) if is_quick else max(rows // 4, FEW_ROWS)

    def _end(self, way: "_Way", after: Sequence[Any] | None, rows: int) -> Sequence[Any] | None:
        """Return the values of the last of so many rows of the index; None: there are fewer."""
        query = way.entries(after).offset(rows - 1).limit(1)
        found = self._database.read(lambda sql: sql.execute(query).one_or_none())
        return None if found is None else list(found)

    def of_ids(self, app: str, ids: Sequence[int]) -> Readable[int, Timer]:
        """Return the app's living timers of these ids, by id; other ids are absent."""
        wanted = and_(timers.c.app == app, timers.c.tombstone == 0, timers.c.id.in_(sorted(ids)))
        return (
            self._read(self._mappings(by_index(select(timers).where(wanted), "PRIMARY", timers)))
            if ids
            else Readable()
        )

    def apps_of(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the apps of timers by their ids, of deleted ones too."""
        query = by_index(
            select(timers.c.id, timers.c.app).where(timers.c.id.in_(sorted(set(ids)))), "PRIMARY", timers
        )
        return self._database.read(lambda sql: {row.id: row.app for row in sql.execute(query)})

    def labels_of(self, ids: Iterable[int]) -> dict[int, TimerLabel]:
        """Return by what timers are known, by their ids, of deleted ones too: one statement, which reads no bodies."""
        wanted = sorted(set(ids))
        begin = func.substr(timers.c.notify, 1, URL_WITHIN).label("begin")
        columns = (timers.c.id, timers.c.app, timers.c.name, timers.c.target, begin)
        query: Select[Any] = select(*columns).where(timers.c.id.in_(wanted))
        query = by_index(query, "PRIMARY", timers)
        rows = self._mappings(query) if wanted else ()
        found: dict[int, TimerLabel] = {}
        for row in rows:
            # That of a timer with a target is only what stands behind the target's.
            url = None if row["target"] else shown_url(row["begin"])
            found[row["id"]] = TimerLabel(row["app"], row["name"], url, row["target"])
        return found

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

    def _read(self, rows: Sequence[RowMapping]) -> Readable[int, Timer]:
        found = read_rows(rows, timer_of)
        if found.bad:
            self._bad_timers.note(found.bad)
        return found


@dataclass(frozen=True, slots=True)
class _Way:
    """An index along which timers are read: the table that has it, its bounds, and its columns in the wanted order.

    `is_wider`: it has rows that are not wanted. `is_few`: it has few rows, which are sorted by `keys`.
    """

    index: str
    bounds: tuple[ColumnElement[bool], ...]
    keys: tuple[Column[Any], ...]
    descending: bool
    is_wider: bool
    table: Table = timers
    is_few: bool = False

    @property
    def order(self) -> list[ColumnElement[Any]]:
        return [key.desc() if self.descending else key.asc() for key in self.keys]

    def values(self, value: int | str, timer_id: int) -> list[int | str]:
        """Return the values of the keys of a timer, by the value that it is sorted by and its id."""
        return [timer_id if key is timers.c.id else value for key in self.keys]

    def narrow(self, query: Select[Any], wanted: TimerFilter, now: int) -> Select[Any]:
        """Return the query, of the wanted timers along this index."""
        query = query.where(_wanted(wanted, now))
        if self.table is timers:
            query = by_index(query.select_from(timers), self.index, timers)
            return query if wanted.tag is None else query.where(_has_tag(wanted.app, wanted.tag))
        tagged = query.select_from(timer_tags.join(timers, timers.c.id == timer_tags.c.timer_id))
        tagged = tagged.where(*self.bounds, func.char_length(timer_tags.c.tag) == len(wanted.tag or ""))
        return in_this_order(by_index(by_index(tagged, self.index, timer_tags), "PRIMARY", timers))

    def entries(self, after: Sequence[Any] | None) -> Select[Any]:
        """Return the query of the keys of all entries behind these values, wanted or not: of the index alone."""
        if self.is_few:
            entry: Select[Any] = select(literal_column("1")).select_from(self.table).where(*self.bounds)
            return by_index(entry, self.index, self.table)
        keys = self.keys if self.table is timers else (timer_tags.c.timer_id,)
        query = by_index(select(*keys).where(*self.bounds), self.index, self.table)
        if after is not None:
            query = query.where(behind(keys, after, self.descending))
        return query.order_by(*(key.desc() if self.descending else key.asc() for key in keys))

    def behind(self, values: Sequence[Any]) -> ColumnElement[bool]:
        return behind(self.keys, values, self.descending)

    def as_far_as(self, values: Sequence[Any]) -> ColumnElement[bool]:
        return as_far_as(self.keys, values, self.descending)

    def seeks(self, wanted: TimerFilter) -> bool:
        """Whether its bounds already are those of a tag or of a name's begin, or there are neither."""
        if wanted.app is None or (wanted.prefix is None and wanted.tag is None):
            return True
        return self.table is timer_tags or (wanted.prefix is not None and timers.c.name in self.keys)


def _in_order(wanted: TimerFilter, order: Order) -> _Way:
    """Return the index that has the timers in this order, or has the few that have these names."""
    key, down, is_narrowed = order.key, order.descending, wanted != TimerFilter(wanted.app)
    if wanted.app is None:
        # Of all apps' timers, which are sorted by id alone. Without a bound MariaDB calls it a reading of the whole.
        return _Way("PRIMARY", (timers.c.id > 0,), (timers.c.id,), down, is_wider=True)
    of_app, lives = timers.c.app == wanted.app, timers.c.tombstone == 0
    if wanted.name is not None or wanted.names is not None:
        return _Way("timer_app_name", (), _KEYS[key], down, is_wider=False, is_few=True)
    if key is SortKey.NAME:
        return _Way("timer_app_name", (of_app, *_begins(wanted.prefix)), _KEYS[key], down, is_wider=True)
    if key is SortKey.UPDATED_AT:
        return _Way("timer_of_app_updated", (of_app, lives), _KEYS[key], down, is_narrowed)
    if wanted.tag is not None:
        return _tagged(wanted.app, wanted.tag, order)
    return _Way("timer_of_app", (of_app, lives), _KEYS[key], down, is_narrowed)


def _narrow(wanted: TimerFilter, order: Order) -> Iterator[_Way]:
    """Yield ways whose rows are wanted, or hardly more are, but in another order."""
    assert wanted.app is not None
    if wanted.prefix is not None:
        bounds = (timers.c.app == wanted.app, *_begins(wanted.prefix))
        yield _Way("timer_app_name", bounds, _KEYS[order.key], order.descending, is_wider=False, is_few=True)
    if wanted.tag is not None:
        yield replace(_tagged(wanted.app, wanted.tag, order), is_few=True)


def _tagged(app: str, tag: str, order: Order) -> _Way:
    of_tag = timer_tags.c.app == app, timer_tags.c.tag == tag
    return _Way("PRIMARY", of_tag, _KEYS[order.key], order.descending, is_wider=True, table=timer_tags)


def _begins(prefix: str | None) -> list[ColumnElement[bool]]:
    """Return the bounds of names with this prefix; a few others may lie within."""
    if prefix is None:
        return []
    end = _behind_all_with(prefix)
    return [timers.c.name >= prefix, *([] if end is None else [timers.c.name < end])]


def _behind_all_with(prefix: str) -> str | None:
    """Return the least text behind all that begin with the prefix, by code points; None: there is none."""
    kept = prefix.rstrip(chr(sys.maxunicode))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    # Half surrogates are no characters.
    return kept[:-1] + chr(0xE000 if 0xD800 <= following < 0xE000 else following)


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
        begin = _is(func.substr(timers.c.name, 1, len(wanted.prefix)), wanted.prefix)
        conditions += [*_begins(wanted.prefix), begin]
    if wanted.contains is not None:
        conditions.append(_contains(timers.c.name, wanted.contains))
    if wanted.status is not None:
        conditions.append(_has_status(wanted.status, now))
    if wanted.is_enabled is not None:
        status = TimerStatus.ENABLED if wanted.is_enabled else TimerStatus.DISABLED
        conditions.append(timers.c.status == status.value)
    if wanted.host is not None:
        direct = _calls(timers.c.notify, BEFORE_URL_OF_TIMER, wanted.host)
        conditions.append(or_(direct, timers.c.target.in_(wanted.through)))
    if wanted.next_before is not None:
        conditions.append(_fires_before(wanted.next_before, now))
    return and_(*conditions)


def _has_tag(app: str | None, tag: str) -> ColumnElement[bool]:
    """Return the condition that a timer has a tag, which is looked up for each timer."""
    of_timer = timer_tags.c.app == app, timer_tags.c.timer_id == timers.c.id
    found: Select[Any] = select(literal_column("1")).where(*of_timer, _is(timer_tags.c.tag, tag)).limit(1)
    return by_index(found, "PRIMARY", timer_tags).correlate(timers).scalar_subquery().is_not(None)


def _is(text: ColumnElement[str], wanted: str) -> ColumnElement[bool]:
    # MariaDB ignores trailing spaces when it compares.
    return and_(text == wanted, func.char_length(text) == len(wanted))


def _comparable(names: Sequence[str]) -> list[str]:
    """Return the names that a timer can have: none ends in a space, which MariaDB ignores when it compares."""
    return [name for name in names if not name.endswith(" ")]


def _calls(stored: ColumnElement[str], before: str, host: str) -> ColumnElement[bool]:
    """Return the condition that a stored call, whose URL stands behind `before`, goes to a host."""

    def begins(begin: str, ends: str) -> ColumnElement[bool]:
        whole = before + begin
        is_begin = func.lower(func.substr(stored, 1, len(whole))) == whole
        return and_(is_begin, func.substr(stored, len(whole) + 1, 1).in_(tuple(ends)))

    return or_(*(begins(*beginning) for beginning in beginnings_of_calls_to(host)))


def _contains(text: ColumnElement[str], wanted: str) -> ColumnElement[bool]:
    """Return the condition that a text contains another, upper and lower case aside.

    The server lowers both, by the collation of the column, from which the wanted text takes its own. A sigma at the end
    of a word is a sigma, and `İ` an `i`, whether its dot is a sign of its own in lower case or not.
    """
    escaped = re.sub(r"[/%_]", r"/\g<0>", wanted)
    both = text, func.substr(text, 1, 0) + escaped
    lowered = (func.replace(func.lower(text), "ς", "σ") for text in both)
    held, asked = (func.replace(text, "i\u0307", "i") for text in lowered)
    return held.like("%" + asked + "%", escape="/")


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
