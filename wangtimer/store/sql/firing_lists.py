"""Lists of firings: an app's or a timer's, by outcome, time and lateness; and all attempts of one firing.

No index holds an app's firings in order.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    func,
    select,
    union_all,
)

from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus
from wangtimer.core.time.clock import Clock
from wangtimer.store.sql.database import Database, SqlStore
from wangtimer.store.sql.firing_rows import NOT_SENT, written
from wangtimer.store.sql.firings import PENDING, FiringRecord, read_records, record_of
from wangtimer.store.sql.parts import PARTS_OF_COUNTS, PartRule, end_of_patience, parts_of
from wangtimer.store.sql.statements import by_index, in_this_order, readable_page
from wangtimer.store.sql.tables import attempts, firings, timer_tags, timers

# Up to so many timers are named in the query: each has its firings in order. For an app with more timers, all firings
# of a time are searched for its own.
MOST_NAMED = 500


@dataclass(frozen=True, slots=True)
class FiringFilter:
    """Which of an app's firings; None: any, and of any app. Moments in ms UTC, `first` and `last` both included.

    `later_than_ms`: firings whose first send was later by more than this. `is_living`: of timers that are not deleted.
    `tag`: of an app's timers that have it; a deleted timer has none.
    """

    app: str | None
    timer_id: int | None = None
    statuses: tuple[FiringStatus, ...] = ()
    first: int | None = None
    last: int | None = None
    later_than_ms: int | None = None
    kind: FiringKind | None = None
    is_living: bool = False
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a filter's firings may be: from `first` to `last` (ms UTC), of these timers; None: too many to name."""

    wanted: FiringFilter
    first: int
    last: int
    timer_ids: tuple[int, ...] | None

    @property
    def is_ordered(self) -> bool:
        """Whether an index holds them in order: they are one timer's."""
        return self.timer_ids is not None and len(self.timer_ids) == 1

    def narrow(self, query: Select[Any]) -> Select[Any]:
        """Return the query, narrowed to these firings; the caller adds the time."""
        wanted = self.wanted
        if self.timer_ids is None:
            query = _joined(query, wanted)
        else:
            query = query.where(firings.c.timer_id.in_(self.timer_ids))
        if wanted.later_than_ms is not None:
            query = query.where(firings.c.lateness_ms > wanted.later_than_ms)
        if wanted.kind is not None:
            query = query.where(firings.c.kind == wanted.kind.value)
        index = "PRIMARY" if self.timer_ids is None else "firing_of_timer"
        if wanted.statuses:
            query = query.where(firings.c.status.in_([status.value for status in wanted.statuses]))
            # Either index may hold fewer rows: the timer's firings, or those with the status. The server sees which.
            index = "firing_due" if self.timer_ids is None else "firing_of_timer, firing_due"
        return by_index(query, index)

    def within(self, part: tuple[int, int]) -> ColumnElement[bool]:
        """Return the condition that firings lie in a part of the time; `narrow` gives the rest.

        No firing is due before its moment. That bounds reads by the index of statuses, which begins with no moment.
        """
        in_part = firings.c.fire_at.between(*part)
        return and_(in_part, firings.c.due_at >= part[0]) if self.wanted.statuses else in_part


def reach_of(sql: Connection, wanted: FiringFilter) -> Reach:
    """Return where the firings may be; `first` is later than `last` if there can be none."""
    oldest, newest = (
        sql.execute(select(end(firings.c.fire_at))).scalar_one() for end in (func.min, func.max)
    )
    ids = _ids_of(sql, wanted)
    if oldest is None or ids == ():
        return Reach(wanted, 0, -1, ())
    first = oldest if wanted.first is None else max(oldest, wanted.first)
    last = newest if wanted.last is None else min(newest, wanted.last)
    return Reach(wanted, first, last, ids)


def _ids_of(sql: Connection, wanted: FiringFilter) -> tuple[int, ...] | None:
    """Return the ids of the timers; None: too many to name."""
    if wanted.app is None and wanted.timer_id is None:
        return None
    ids = tuple(row.id for row in sql.execute(_timers_of(wanted).limit(MOST_NAMED + 1)))
    return ids if len(ids) <= MOST_NAMED else None


def _timers_of(wanted: FiringFilter) -> Select[tuple[int]]:
    if wanted.tag is not None:
        tagged = select(timer_tags.c.timer_id.label("id")).where(*_is_tagged(wanted, wanted.tag))
        return by_index(tagged, "PRIMARY", timer_tags)
    query = select(timers.c.id).where(*_is_wanted(wanted))
    return by_index(query, "timer_of_app" if wanted.timer_id is None else "PRIMARY", timers)


def _joined(query: Select[Any], wanted: FiringFilter) -> Select[Any]:
    """Return the query that reads firings first and looks up each one's timer: the other way reads all of the app's."""
    if wanted.app is None:
        return query
    if wanted.tag is not None:
        its_tag = and_(timer_tags.c.timer_id == firings.c.timer_id, *_is_tagged(wanted, wanted.tag))
        return by_index(in_this_order(query.join(timer_tags, its_tag)), "PRIMARY", timer_tags)
    its_timer = and_(timers.c.id == firings.c.timer_id, *_is_wanted(wanted))
    return by_index(in_this_order(query.join(timers, its_timer)), "PRIMARY", timers)


def _is_tagged(wanted: FiringFilter, tag: str) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [
        timer_tags.c.app == wanted.app,
        timer_tags.c.tag == tag,
        # MariaDB ignores trailing spaces when it compares.
        func.char_length(timer_tags.c.tag) == len(tag),
    ]
    return conditions if wanted.timer_id is None else [*conditions, timer_tags.c.timer_id == wanted.timer_id]


def _is_wanted(wanted: FiringFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [] if wanted.app is None else [timers.c.app == wanted.app]
    if wanted.timer_id is not None:
        conditions.append(timers.c.id == wanted.timer_id)
    return [*conditions, timers.c.tombstone == 0] if wanted.is_living else conditions


# Each timer is a part of one compound statement; SQLite takes 500 parts.
TIMERS_A_QUERY = 100
# For many timers all firings of a part are read before the first is known, and a second may hold enough. For one timer
# they are read in order.
PARTS_OF_MANY = PartRule(shortest_ms=1_000, growth=8)
PARTS_OF_ONE = PartRule(shortest_ms=86_400_000, growth=8)
_KEY = (firings.c.fire_at, firings.c.timer_id)


class FiringLists(SqlStore):
    """Latest first, pages by key; a deleted timer's firings still belong to its app."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database)
        self._clock = clock

    def page(
        self,
        wanted: FiringFilter,
        limit: int,
        after: tuple[int, int] | None = None,
        is_patient: bool = False,
    ) -> list[FiringRecord]:
        """Return up to `limit` firings after this moment and timer.

        Raises `InvalidInput` if they are not found within 8 s, unless `is_patient`.
        """
        reach = self._reach(wanted)
        last = reach.last if after is None else min(reach.last, after[0])
        ends_at = math.inf if is_patient else end_of_patience(self._clock)
        rule = _part_rule(reach)
        parts = parts_of(reach.first, last, rule, self._clock, ends_at, wanted.app, latest_first=True)
        return self._first_of(reach, parts, limit, after, descending=True)

    def one(self, timer_id: int, fire_at: int) -> FiringRecord | None:
        """Return the timer's firing of this moment (ms UTC); None where there is none."""
        query = select(firings).where(firings.c.timer_id == timer_id, firings.c.fire_at == fire_at)
        row = self._database.read(lambda sql: sql.execute(query).mappings().one_or_none())
        return None if row is None else record_of(row)

    def count(self, wanted: FiringFilter) -> int:
        """Return how many firings there are; raises `InvalidInput` if they are too many to count within 8 s."""
        return self._count(self._reach(wanted), end_of_patience(self._clock))

    def by_status(self, wanted: FiringFilter) -> dict[FiringStatus, int]:
        """Return how many have each status, zeros included; raises `InvalidInput` if there are too many to count."""
        counts: Counter[FiringStatus] = Counter()
        reach = self._reach(wanted)
        query = reach.narrow(select(firings.c.status, func.count().label("number"))).group_by(
            firings.c.status
        )
        ends_at = end_of_patience(self._clock)
        for part in parts_of(reach.first, reach.last, PARTS_OF_COUNTS, self._clock, ends_at, wanted.app):
            counts += _counted(self._mappings(query.where(reach.within(part))))
        return {status: counts[status] for status in FiringStatus}

    def oldest(self, wanted: FiringFilter, limit: int) -> tuple[list[Firing], int]:
        """Return up to `limit` firings, earliest first, and how many there are. Raises `InvalidInput` after 8 s."""
        ends_at = end_of_patience(self._clock)
        reach = self._reach(wanted)
        parts = parts_of(reach.first, reach.last, _part_rule(reach), self._clock, ends_at, wanted.app)
        found = [record.firing for record in self._first_of(reach, parts, limit)]
        if len(found) < limit:
            return found, len(found)
        return found, max(len(found), self._count(reach, ends_at))

    def living(self, app: str, timer_ids: Iterable[int]) -> set[int]:
        """Return the ids that belong to living timers of the app."""
        query = select(timers.c.id).where(
            timers.c.app == app, timers.c.tombstone == 0, timers.c.id.in_(sorted(set(timer_ids)))
        )
        query = by_index(query, "PRIMARY", timers)
        return self._database.read(lambda sql: set(sql.execute(query).scalars()))

    def last_outcomes(self, timer_ids: Sequence[int], now: int) -> dict[int, FiringRecord]:
        """Return each timer's latest firing that has an outcome, up to `now` (ms UTC)."""
        found: dict[int, FiringRecord] = {}
        for start in range(0, len(timer_ids), TIMERS_A_QUERY):
            page = timer_ids[start : start + TIMERS_A_QUERY]
            found |= {record.firing.timer_id: record for record in self._last_outcomes(page, now)}
        return found

    def latest_scheduled(self, timer_ids: Sequence[int], now: int) -> dict[int, FiringRecord]:
        """Return each timer's latest scheduled firing, up to `now` (ms UTC)."""
        found: dict[int, FiringRecord] = {}
        scheduled = select(firings).where(
            firings.c.fire_at <= now, firings.c.kind == FiringKind.SCHEDULED.value
        )
        for start in range(0, len(timer_ids), TIMERS_A_QUERY):
            records = self._latest_of_each(scheduled, timer_ids[start : start + TIMERS_A_QUERY])
            found |= {record.firing.timer_id: record for record in records}
        return found

    def _last_outcomes(self, timer_ids: Sequence[int], now: int) -> list[FiringRecord]:
        if not timer_ids:
            return []
        settled = select(firings).where(firings.c.fire_at <= now, firings.c.status != PENDING)
        return self._latest_of_each(settled, timer_ids)

    def _latest_of_each(self, wanted: Select[Any], timer_ids: Sequence[int]) -> list[FiringRecord]:
        latest = by_index(wanted.order_by(firings.c.fire_at.desc()).limit(1), "firing_of_timer")
        each = (latest.where(firings.c.timer_id == timer_id).subquery() for timer_id in timer_ids)
        return read_records(self._mappings(union_all(*(select(latest_row) for latest_row in each))))

    def _first_of(
        self,
        reach: Reach,
        parts: Iterable[tuple[int, int]],
        limit: int,
        after: tuple[int, int] | None = None,
        descending: bool = False,
    ) -> list[FiringRecord]:
        """Return the first firings in order; later parts are not read."""
        return readable_page(
            self._database,
            reach.narrow(select(firings)),
            _KEY,
            after,
            limit,
            lambda row: record_of(row._mapping),
            descending,
            parts=map(reach.within, parts),
        )

    def _reach(self, wanted: FiringFilter) -> Reach:
        return self._database.read(lambda sql: reach_of(sql, wanted))

    def _count(self, reach: Reach, ends_at: float) -> int:
        query = reach.narrow(select(func.count()).select_from(firings))
        parts = parts_of(reach.first, reach.last, PARTS_OF_COUNTS, self._clock, ends_at, reach.wanted.app)
        return sum(self._number(query.where(reach.within(part))) for part in parts)

    def _number(self, query: Select[Any]) -> int:
        return self._database.read(lambda sql: int(sql.execute(query).scalar_one()))


def _counted(rows: Iterable[RowMapping]) -> Counter[FiringStatus]:
    # A status that only another version knows is left to that version.
    known = {status.value: status for status in FiringStatus}
    return Counter({known[row["status"]]: row["number"] for row in rows if row["status"] in known})


def _part_rule(reach: Reach) -> PartRule:
    return PARTS_OF_ONE if reach.is_ordered else PARTS_OF_MANY


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One attempt and its outcome: moments in ms UTC, durations in ms since its call began.

    `status` is failed if another attempt followed. `sent_at` is None if no byte went out, `connect_ms` if there was no
    connection, `first_byte_ms` if there was no answer. `made_at` is `sent_at`, or when an attempt was made of which no
    byte went out; None if none was made.
    """

    number: int
    status: FiringStatus
    sent_at: int | None
    cost_ms: int | None
    connect_ms: int | None
    first_byte_ms: int | None
    http_status: int | None
    output: str
    error: str
    made_at: int | None


@dataclass(frozen=True, slots=True)
class FiringHistory:
    """A firing and its attempts so far, the first one first."""

    record: FiringRecord
    attempts: list[AttemptRecord]


class AttemptStore(SqlStore):
    """Reads attempts; `firing_rows.py` writes them."""

    def history(self, timer_id: int, fire_at: int) -> FiringHistory | None:
        """Return the timer's firing of this moment (ms UTC) with its attempts; None where there is none."""
        return self._database.read(lambda sql: _history(sql, timer_id, fire_at))


def _history(sql: Connection, timer_id: int, fire_at: int) -> FiringHistory | None:
    own = and_(firings.c.timer_id == timer_id, firings.c.fire_at == fire_at)
    row = sql.execute(select(firings).where(own)).mappings().one_or_none()
    if row is None:
        return None
    # The row may have moved on between these two reads: then its former attempt is the row's own, not an earlier one.
    before = and_(
        attempts.c.timer_id == timer_id,
        attempts.c.fire_at == fire_at,
        attempts.c.attempt < row["attempt"],
    )
    kept = sql.execute(select(attempts).where(before).order_by(attempts.c.attempt)).mappings()
    found = [_attempt_of(attempt) for attempt in kept]
    record = record_of(row)
    if record.firing.status is not FiringStatus.PENDING and record.firing.attempt > 0:
        found.append(_attempt_of(row))
    return FiringHistory(record, found)


def _attempt_of(row: Mapping[Any, Any]) -> AttemptRecord:
    made_at, first_byte_ms = written(row, "sent_at"), written(row, "first_byte_ms")
    is_unsent = first_byte_ms == NOT_SENT
    return AttemptRecord(
        row["attempt"],
        FiringStatus(row["status"]),
        None if is_unsent else made_at,
        written(row, "cost_ms"),
        written(row, "connect_ms"),
        None if is_unsent else first_byte_ms,
        written(row, "http_status"),
        row["output"],
        row["error"],
        made_at,
    )
