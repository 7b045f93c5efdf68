"""Which of an app's firings are wanted, and how they are found: no index holds an app's firings in order."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, select

from wangtimer.core.flow.firing import FiringKind, FiringStatus
from wangtimer.store.sql.keyset import by_index, in_this_order
from wangtimer.store.sql.tables import firings, timer_tags, timers

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
    """Return the conditions on the tags, which only living timers have."""
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
