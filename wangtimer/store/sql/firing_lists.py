"""Lists of firings: an app's or a timer's, by outcome, time and lateness."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Executable, RowMapping, Select, func, select, union_all

from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus
from wangtimer.core.time.clock import Clock
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firing_filter import FiringFilter, Reach, reach_of
from wangtimer.store.sql.firings import PENDING, FiringRecord, read_records, record_of
from wangtimer.store.sql.keyset import by_index, readable_page
from wangtimer.store.sql.parts import PARTS_OF_COUNTS, PartRule, end_of_patience, parts_of
from wangtimer.store.sql.tables import firings, timers

# Each timer is a part of one compound statement; SQLite takes 500 parts.
TIMERS_A_QUERY = 100
# For many timers all firings of a part are read before the first is known, and a second may hold enough. For one timer
# they are read in order.
PARTS_OF_MANY = PartRule(shortest_ms=1_000, growth=8)
PARTS_OF_ONE = PartRule(shortest_ms=86_400_000, growth=8)
_KEY = (firings.c.fire_at, firings.c.timer_id)


class FiringLists:
    """Latest first, pages by key; a deleted timer's firings still belong to its app."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def page(
        self,
        wanted: FiringFilter,
        limit: int,
        after: tuple[int, int] | None = None,
        is_patient: bool = False,
    ) -> list[FiringRecord]:
        """Return up to `limit` firings that come after this moment and timer.

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
            counts += _counted(self._rows(query.where(reach.within(part))))
        return {status: counts[status] for status in FiringStatus}

    def oldest(self, wanted: FiringFilter, limit: int) -> tuple[list[Firing], int]:
        """Return up to `limit` firings, earliest first, and how many there are in all.

        Raises `InvalidInput` if finding and counting them takes over 8 s.
        """
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
        return read_records(self._rows(union_all(*(select(one) for one in each))))

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

    def _rows(self, query: Executable) -> Sequence[RowMapping]:
        return self._database.read(lambda sql: sql.execute(query).mappings().all())


def _counted(rows: Iterable[RowMapping]) -> Counter[FiringStatus]:
    # A status that only another version knows is left to that version.
    known = {status.value: status for status in FiringStatus}
    return Counter({known[row["status"]]: row["number"] for row in rows if row["status"] in known})


def _part_rule(reach: Reach) -> PartRule:
    return PARTS_OF_ONE if reach.is_ordered else PARTS_OF_MANY
