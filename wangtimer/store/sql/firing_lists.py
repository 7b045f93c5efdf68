"""Lists of firings: an app's or a timer's, by outcome, time and lateness."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, func, select, union_all

from wangtimer.core.firing import Firing, FiringKind, FiringStatus
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import PENDING, FiringRecord, record_of
from wangtimer.store.sql.keyset import behind
from wangtimer.store.sql.tables import firings, timers

# Each is a part of one statement, of which SQLite takes 500.
TIMERS_A_QUERY = 100
_KEY = (firings.c.fire_at, firings.c.timer_id)


@dataclass(frozen=True, slots=True)
class FiringFilter:
    """Which of an app's firings; None: any. Moments in ms UTC, `first` and `last` both included.

    `later_than_ms`: those whose first send was later than so much. `is_living`: of timers that are not deleted.
    """

    app: str
    timer_id: int | None = None
    statuses: tuple[FiringStatus, ...] = ()
    first: int | None = None
    last: int | None = None
    later_than_ms: int | None = None
    kind: FiringKind | None = None
    is_living: bool = False


class FiringLists:
    """Latest first, pages by key; a deleted timer's firings are its app's still."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(
        self, wanted: FiringFilter, limit: int, after: tuple[int, int] | None = None
    ) -> list[FiringRecord]:
        """Return so many firings, those that come after this moment and timer."""
        query = select(firings).where(matching(wanted))
        if after is not None:
            query = query.where(behind(_KEY, after, descending=True))
        query = query.order_by(*(column.desc() for column in _KEY)).limit(limit)
        return self._database.read(lambda sql: [record_of(row) for row in sql.execute(query).mappings()])

    def one(self, timer_id: int, fire_at: int) -> FiringRecord | None:
        """Return the timer's firing of this moment (ms UTC); None where there is none."""
        query = select(firings).where(firings.c.timer_id == timer_id, firings.c.fire_at == fire_at)
        row = self._database.read(lambda sql: sql.execute(query).mappings().one_or_none())
        return None if row is None else record_of(row)

    def count(self, wanted: FiringFilter) -> int:
        """Return how many firings there are."""
        query = select(func.count()).select_from(firings).where(matching(wanted))
        return self._database.read(lambda sql: sql.execute(query).scalar_one())

    def oldest(self, wanted: FiringFilter, limit: int) -> list[Firing]:
        """Return so many firings, earliest first."""
        query = select(firings).where(matching(wanted))
        query = query.order_by(*_KEY).limit(limit)
        return self._database.read(
            lambda sql: [record_of(row).firing for row in sql.execute(query).mappings()]
        )

    def living(self, app: str, timer_ids: Iterable[int]) -> set[int]:
        """Return which of these are the app's timers, and not deleted."""
        query = select(timers.c.id).where(
            timers.c.app == app, timers.c.tombstone == 0, timers.c.id.in_(sorted(set(timer_ids)))
        )
        return self._database.read(lambda sql: set(sql.execute(query).scalars()))

    def last_outcomes(self, timer_ids: Sequence[int], now: int) -> dict[int, FiringRecord]:
        """Return the latest firing with an outcome of each of these timers, among those due by `now` (ms UTC)."""
        found: dict[int, FiringRecord] = {}
        for start in range(0, len(timer_ids), TIMERS_A_QUERY):
            page = timer_ids[start : start + TIMERS_A_QUERY]
            found |= {record.firing.timer_id: record for record in self._last_outcomes(page, now)}
        return found

    def _last_outcomes(self, timer_ids: Sequence[int], now: int) -> list[FiringRecord]:
        if not timer_ids:
            return []
        latest = [
            select(
                select(firings)
                .where(firings.c.timer_id == timer_id, firings.c.fire_at <= now, firings.c.status != PENDING)
                .order_by(firings.c.fire_at.desc())
                .limit(1)
                .subquery()
            )
            for timer_id in timer_ids
        ]
        query = union_all(*latest)
        return self._database.read(lambda sql: [record_of(row) for row in sql.execute(query).mappings()])


def matching(wanted: FiringFilter) -> ColumnElement[bool]:
    """Return the condition on a row of `firing`."""
    of_app = select(timers.c.id).where(timers.c.app == wanted.app)
    if wanted.timer_id is not None:
        of_app = of_app.where(timers.c.id == wanted.timer_id)
    if wanted.is_living:
        of_app = of_app.where(timers.c.tombstone == 0)
    conditions: list[ColumnElement[bool]] = [firings.c.timer_id.in_(of_app)]
    if wanted.statuses:
        conditions.append(firings.c.status.in_([status.value for status in wanted.statuses]))
    if wanted.first is not None:
        conditions.append(firings.c.fire_at >= wanted.first)
    if wanted.last is not None:
        conditions.append(firings.c.fire_at <= wanted.last)
    if wanted.later_than_ms is not None:
        conditions.append(firings.c.lateness_ms > wanted.later_than_ms)
    if wanted.kind is not None:
        conditions.append(firings.c.kind == wanted.kind.value)
    return and_(*conditions)
