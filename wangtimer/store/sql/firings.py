"""Firings in SQL: planned rows in, outcomes over them, and what is pending out."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    delete,
    exists,
    func,
    not_,
    or_,
    select,
    update,
)

from wangtimer.core.fail_points import Step
from wangtimer.core.firing import Firing, FiringKind, FiringStatus, Member
from wangtimer.core.outcome import Outcome
from wangtimer.core.slicing import SharedLane, Slice
from wangtimer.core.tally import Tally
from wangtimer.store.sql.attempt_rows import keep_retried
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firing_rows import planned_row, planning, settled_row, settling, written
from wangtimer.store.sql.keyset import behind, by_index
from wangtimer.store.sql.tables import attempts, firings

# A row costs 1.4 µs: at 20,000 firings a second such a part takes 0.3 s, where a read that takes 5 s is given up.
TALLIED_AT_ONCE_MS = 10_000
# Members with moments of their own make a long OR: 1,000 of them take a server 150 ms.
NOTED_A_STATEMENT = 200

PENDING = FiringStatus.PENDING.value
# The order of the index `firing_due`.
_IN_ORDER = (firings.c.due_at, firings.c.fire_at, firings.c.timer_id)


@dataclass(frozen=True, slots=True)
class FiringRecord:
    """A firing as its owner reads it: moments in ms UTC, durations in ms, None where nothing was sent yet."""

    firing: Firing
    first_sent_at: int | None
    lateness_ms: int | None
    cost_ms: int | None
    http_status: int | None
    output: str
    error: str

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody cancelled it before any attempt."""
        return self.firing.status is FiringStatus.SKIPPED and self.firing.attempt == 0


@dataclass(frozen=True, slots=True)
class Overdue:
    """Firings past their moment without an outcome: none, once things are calm."""

    number: int
    oldest_due_at: int | None


class FiringStore:
    """Every firing; an outcome, once written, stays."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._settling = settling(database.engine.dialect)

    def settle(self, outcomes: Sequence[Outcome]) -> None:
        """Write what became of attempts, in one transaction; an attempt that was overtaken changes nothing.

        An outcome takes effect where its firing is pending and stands at this attempt, or where it succeeded
        and the firing stands at this attempt or a later one; or where it was sent, though cancelled meanwhile.
        Attempts that others follow are kept. Repeating it is harmless.
        """
        by_key = sorted(outcomes, key=lambda one: (one.member.fire_at, one.member.timer_id))
        if by_key:
            self._database.write(lambda sql: self._settle(sql, by_key), Step.SQL_SETTLE)

    def _settle(self, sql: Connection, by_key: Sequence[Outcome]) -> None:
        if FiringStatus.PENDING not in [outcome.status for outcome in by_key]:
            self._settling.run(sql, by_key, settled_row)
            return
        for part in _one_of_each(by_key):
            self._settling.run(sql, part, settled_row)
            keep_retried(sql, [outcome.member for outcome in part if outcome.is_retry])

    def rows(self, members: Iterable[Member]) -> dict[tuple[int, int], Firing]:
        """Return the rows of these members' firings by (timer_id, fire_at); a missing one is absent."""
        wanted = _of_members(members)
        if wanted is None:
            return {}
        found = self._database.read(lambda sql: _found(sql, _in_order(wanted)))
        return {firing.member.key: firing for firing in found}

    def pending_of(self, slice_: Slice) -> list[Firing]:
        """Return a slice's pending firings."""
        wanted = and_(
            _pending_between(slice_.starts_at, slice_.ends_at - 1), firings.c.bucket == slice_.bucket
        )
        return self._database.read(lambda sql: _found(sql, by_index(_in_order(wanted), "firing_due")))

    def note_lane(self, lane: SharedLane, members: Sequence[Member]) -> None:
        """Note that these wait in a lane, where they are pending and at this attempt. Repeating it is harmless."""
        by_attempt: defaultdict[int, list[Member]] = defaultdict(list)
        for member in sorted(members, key=lambda one: (one.fire_at, one.timer_id)):
            by_attempt[member.attempt].append(member)

        def work(sql: Connection) -> None:
            for attempt, alike in by_attempt.items():
                for start in range(0, len(alike), NOTED_A_STATEMENT):
                    wanted = _of_members(alike[start : start + NOTED_A_STATEMENT])
                    assert wanted is not None
                    waits = and_(wanted, firings.c.status == PENDING, firings.c.attempt == attempt)
                    sql.execute(update(firings).where(waits).values(lane=lane.key))

        if members:
            self._database.write(work, Step.SQL_NOTE_LANE)

    def tallies(self, minute: int) -> dict[Slice, Tally]:
        """Return the tally of each of the minute's slices that has pending firings; read in parts of the minute.

        What waits in a lane stands in no slice.
        """
        tallies: defaultdict[Slice, Tally] = defaultdict(Tally)
        whole = Slice(minute, 0)
        for first in range(whole.starts_at, whole.ends_at, TALLIED_AT_ONCE_MS):
            for bucket, *sums in self._sums_between(first, first + TALLIED_AT_ONCE_MS - 1):
                slice_ = Slice(minute, bucket)
                tallies[slice_] = tallies[slice_].plus(Tally(*map(int, sums)))
        return dict(tallies)

    def _sums_between(self, first: int, last: int) -> Sequence[Sequence[Any]]:
        sums = func.count(), func.sum(firings.c.timer_id), func.sum(firings.c.due_at)
        pending = select(firings.c.bucket, *sums).where(_pending_between(first, last), firings.c.lane == "")
        query = by_index(pending.group_by(firings.c.bucket), "firing_due")
        return self._database.read(lambda sql: sql.execute(query).all())

    def pending_between(
        self, first: int, last: int, limit: int, after: Firing | None = None, in_lanes: bool | None = None
    ) -> list[Firing]:
        """Return pending firings due from `first` to `last`, both included, by due moment; next page: `after`.

        `in_lanes`: only those that wait in a lane, or only the others.
        """
        wanted = _pending_between(first, last)
        if in_lanes is not None:
            wanted = and_(wanted, firings.c.lane != "" if in_lanes else firings.c.lane == "")
        if after is not None:
            wanted = and_(wanted, behind(_IN_ORDER, (after.due_at, after.fire_at, after.timer_id)))
        page = by_index(_in_order(wanted), "firing_due").limit(limit)
        return self._database.read(lambda sql: _found(sql, page))

    def purge(self, before: int, limit: int) -> int:
        """Delete the oldest settled firings with moments under `before`, about `limit` of them; return how many.

        Their attempts go with them.
        One range of the primary key in one short transaction.
        """
        settled = and_(firings.c.fire_at < before, firings.c.status != PENDING)
        key = (firings.c.fire_at, firings.c.timer_id)
        oldest = select(*key).where(settled).order_by(*key).limit(limit)

        def work(sql: Connection) -> int:
            page = sql.execute(oldest).all()
            if not page:
                return 0
            last_at, last_id = page[-1]
            purged = sql.execute(delete(firings).where(settled, _up_to(firings, last_at, last_id))).rowcount
            sql.execute(delete(attempts).where(_up_to(attempts, last_at, last_id), not_(_has_firing())))
            return purged

        return self._database.write(work, Step.SQL_PURGE)

    def overdue(self, before: int, most: int) -> Overdue:
        """Return how many firings were due before `before` (counted up to `most`) and have no outcome."""
        late = select(firings.c.due_at).where(_pending_between(0, before - 1)).order_by(firings.c.due_at)
        some = late.limit(most).subquery()
        query = select(func.count(), func.min(some.c.due_at)).select_from(some)
        number, oldest_due_at = self._database.read(lambda sql: sql.execute(query).one())
        return Overdue(number, oldest_due_at)

    def records(
        self,
        timer_id: int,
        limit: int,
        before: int | None = None,
        upto: int | None = None,
        skipped: int = 0,
    ) -> list[FiringRecord]:
        """Return a timer's firings with moments under `before` and up to `upto`, latest first, the first skipped."""
        wanted = _of_timer(timer_id, upto)
        if before is not None:
            wanted = and_(wanted, firings.c.fire_at < before)
        query = select(firings).where(wanted).order_by(firings.c.fire_at.desc()).limit(limit).offset(skipped)
        query = by_index(query, "firing_of_timer")
        return self._database.read(lambda sql: [record_of(row) for row in sql.execute(query).mappings()])

    def count(self, timer_id: int, upto: int | None = None) -> int:
        """Return how many firings with moments up to `upto` a timer has."""
        query = select(func.count()).select_from(firings).where(_of_timer(timer_id, upto))
        return self._database.read(lambda sql: sql.execute(query).scalar_one())


def _one_of_each(by_key: Sequence[Outcome]) -> list[list[Outcome]]:
    """Return the outcomes in parts, in each one of a firing, in their order: nearly always one part."""
    parts: list[list[Outcome]] = []
    seen: Counter[tuple[int, int]] = Counter()
    for outcome in by_key:
        key = outcome.member.timer_id, outcome.member.fire_at
        if seen[key] == len(parts):
            parts.append([])
        parts[seen[key]].append(outcome)
        seen[key] += 1
    return parts


def insert_missing(sql: Connection, planned: Sequence[Firing]) -> list[Firing]:
    """Insert planned firings, sorted by key, that are not there yet; return which of them wait to be fired.

    What the table holds counts, not what was planned: a row that stood there may be settled already, or have
    another bucket.
    """
    if not planned:
        return []
    if planning(sql.dialect).run(sql, planned, planned_row) == len(planned):
        return list(planned)
    return _pending_among(sql, planned)


def locked_rows(sql: Connection, members: Iterable[Member]) -> dict[tuple[int, int], Firing]:
    """Return the rows of these members' firings, nobody else's to change until the transaction ends."""
    wanted = _of_members(members)
    found = [] if wanted is None else _found(sql, _in_order(wanted).with_for_update())
    return {firing.member.key: firing for firing in found}


def _of_members(members: Iterable[Member]) -> ColumnElement[bool] | None:
    by_moment: dict[int, list[int]] = {}
    for member in members:
        by_moment.setdefault(member.fire_at, []).append(member.timer_id)
    if not by_moment:
        return None
    return or_(
        *(
            and_(firings.c.fire_at == fire_at, firings.c.timer_id.in_(sorted(ids)))
            for fire_at, ids in sorted(by_moment.items())
        )
    )


def _pending_among(sql: Connection, planned: Sequence[Firing]) -> list[Firing]:
    wanted = {(firing.timer_id, firing.fire_at) for firing in planned}
    where = and_(
        firings.c.fire_at.between(planned[0].fire_at, planned[-1].fire_at),
        firings.c.timer_id.in_(sorted({firing.timer_id for firing in planned})),
        firings.c.status == PENDING,
    )
    return [firing for firing in _found(sql, _in_order(where)) if (firing.timer_id, firing.fire_at) in wanted]


def _of_timer(timer_id: int, upto: int | None) -> ColumnElement[bool]:
    wanted = firings.c.timer_id == timer_id
    return wanted if upto is None else and_(wanted, firings.c.fire_at <= upto)


def _up_to(table: Table, fire_at: int, timer_id: int) -> ColumnElement[bool]:
    is_at = and_(table.c.fire_at == fire_at, table.c.timer_id <= timer_id)
    return or_(table.c.fire_at < fire_at, is_at)


def _has_firing() -> ColumnElement[bool]:
    """Whether an attempt's firing is still there."""
    own = and_(firings.c.fire_at == attempts.c.fire_at, firings.c.timer_id == attempts.c.timer_id)
    return exists().where(own)


def _pending_between(first: int, last: int) -> ColumnElement[bool]:
    return and_(firings.c.status == PENDING, firings.c.due_at.between(first, last))


def _in_order(wanted: ColumnElement[bool]) -> Select[Any]:
    columns = (
        firings.c.timer_id,
        firings.c.fire_at,
        firings.c.bucket,
        firings.c.kind,
        firings.c.status,
        firings.c.due_at,
        firings.c.attempt,
        firings.c.lane,
    )
    return select(*columns).where(wanted).order_by(*_IN_ORDER)


def _found(sql: Connection, query: Select[Any]) -> list[Firing]:
    # Rows are taken apart in one go: twice as fast as by name, and repairs read them by the 100,000.
    return [
        Firing(timer_id, fire_at, bucket, FiringKind(kind), FiringStatus(status), due_at, attempt, lane)
        for timer_id, fire_at, bucket, kind, status, due_at, attempt, lane in sql.execute(query)
    ]


def record_of(row: Any) -> FiringRecord:
    """Return a row's firing as its owner reads it."""
    firing = Firing(
        row["timer_id"],
        row["fire_at"],
        row["bucket"],
        FiringKind(row["kind"]),
        FiringStatus(row["status"]),
        row["due_at"],
        row["attempt"],
        row["lane"],
    )
    return FiringRecord(
        firing,
        written(row, "first_sent_at"),
        written(row, "lateness_ms"),
        written(row, "cost_ms"),
        written(row, "http_status"),
        row["output"],
        row["error"],
    )
