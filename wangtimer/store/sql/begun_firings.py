"""Firings that have begun, or wait for one that has, in SQL: of timers whose firings are not to overlap."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, and_, select, update

from wangtimer.core.fail_points import Step
from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus, Member, MemberKey
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.timers.overlap import GO, Begun, Course, Overlap, Ruling, cancelled_by, judge
from wangtimer.store.sql.accepted_firings import outcome_of_row
from wangtimer.store.sql.asked import delete_of_keys, in_parts
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import locked_rows, settle_rows
from wangtimer.store.sql.keyset import behind, by_index, update_by_index
from wangtimer.store.sql.many_rows import insert_ignore
from wangtimer.store.sql.tables import begun_firings, firings, timers

# A firing that waits is woken as soon as the one ahead of it is done. Should that be missed, it looks again after this.
LOOK_AGAIN_MS = 30_000
_KEY = (begun_firings.c.timer_id, begun_firings.c.fire_at)
_OPEN = (FiringStatus.PENDING, FiringStatus.ACCEPTED)


class Judged(NamedTuple):
    """What a firing is to do now, and why; `row` is its row as it waits.

    None in place of a course: its attempt is over. `is_early`: it is not to be sent at once, and its moment has not
    come: nothing was written.
    """

    course: Course | None
    reason: str = ""
    row: Firing | None = None
    is_early: bool = False


@dataclass(slots=True)
class _Begun:
    """What is on record of some timers, locked: no other process judges a firing of theirs meanwhile.

    `rows` are the rows of all firings that are asked about or on record. `over` are on record, and have an outcome, or
    are gone.
    """

    policies: dict[int, Overlap]
    rows: dict[MemberKey, Firing]
    begun: dict[int, dict[int, Begun]] = field(default_factory=dict)
    over: list[MemberKey] = field(default_factory=list)
    # What judging made of them: by whom they are cancelled, which begin or wait, which have waited and go.
    cancelled: dict[MemberKey, int] = field(default_factory=dict)
    begins: list[tuple[int, Begun]] = field(default_factory=list)
    turns: list[MemberKey] = field(default_factory=list)

    def judged_all(self, members: Iterable[Member], now: int) -> dict[Member, Judged]:
        """Judge firings in the order of their moments; one that a later one of them cancels never begins."""
        judged = {one: self.judged(one, now) for one in sorted(members)}
        self.begins = [(timer_id, one) for timer_id, one in self.begins if self._still_counts(timer_id, one)]
        return {one: Judged(None) if one.key in self.cancelled else found for one, found in judged.items()}

    def _still_counts(self, timer_id: int, one: Begun) -> bool:
        return (timer_id, one.fire_at) not in self.cancelled

    def judged(self, member: Member, now: int) -> Judged:
        """Judge a firing, and note what follows from it for the others."""
        row = self.rows.get(member.key)
        if row is None or row.status is not FiringStatus.PENDING or row.attempt != member.attempt:
            return Judged(None)
        begun = self.begun.setdefault(member.timer_id, {})
        own = begun.get(member.fire_at)
        found = self._judge(row, own, [one for one in begun.values() if one is not own])
        if found != GO and member.fire_at > now:
            return Judged(found.course, is_early=True)
        for fire_at in found.cancelled:
            del begun[fire_at]
            self.cancelled[member.timer_id, fire_at] = member.fire_at
        if found.course is Course.WAIT:
            row = row._replace(due_at=now + LOOK_AGAIN_MS, lane="")
        if found.course is not Course.SKIP:
            begun[member.fire_at] = Begun(member.fire_at, found.course is Course.WAIT)
            if own is None:
                self.begins.append((member.timer_id, begun[member.fire_at]))
            elif own != begun[member.fire_at]:
                self.turns.append(member.key)
        return Judged(found.course, found.reason, row)

    def _judge(self, row: Firing, own: Begun | None, others: Sequence[Begun]) -> Ruling:
        if row.kind is not FiringKind.SCHEDULED or row.attempt > 1:
            return GO  # somebody asked for it, or it began before its timer had a policy
        return judge(self.policies.get(row.timer_id, Overlap.ALLOW), row.fire_at, own, others)

    def next_of(self, timer_id: int) -> Firing | None:
        """Return the first firing that waits, if none is ahead of it."""
        begun = self.begun.get(timer_id, {}).values()
        if not begun or not all(one.is_waiting for one in begun):
            return None
        return self.rows.get((timer_id, min(one.fire_at for one in begun)))


class BegunFirings:
    """Every method raises `StoreAway`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def judge(
        self, members: Sequence[Member], now: int, noted: Callable[[Outcome], Outcome] = lambda one: one
    ) -> dict[Member, Judged]:
        """Judge firings that are about to be sent, at `now` (ms UTC), and write what becomes of them; repeatable.

        * One that goes is on record from now on. A repeat finds it there, and it goes again.
        * One that waits is on record too; its row is due again later.
        * Those that it cancels have their outcomes, as `noted` returns these.

        The timers' rows are locked, so that two processes never judge at once.
        """

        def work(sql: Connection) -> dict[Member, Judged]:
            held = _locked(sql, {one.timer_id for one in members}, members)
            judged = held.judged_all(members, now)
            cancelled = [
                outcome
                for key, by in held.cancelled.items()
                for outcome in _cancelling(sql, held.rows.get(key), by)
            ]
            if cancelled:
                settle_rows(sql, [noted(one) for one in sorted(cancelled, key=_by_row_key)])
            for one in judged.values():
                if one.course is Course.WAIT and one.row is not None:
                    _put_off(sql, one.row)
            _forget(sql, [*held.over, *held.cancelled])
            _write(sql, held.begins, held.turns)
            return judged

        return self._database.write(work, Step.SQL_JUDGE_OVERLAP) if members else {}

    def end(self, timer_ids: Collection[int], now: int) -> list[Firing]:
        """Forget the firings of these timers that have an outcome by now; return those that waited for them.

        They are due now (ms UTC). Repeating it is harmless.
        """

        def work(sql: Connection) -> list[Firing]:
            held = _locked(sql, timer_ids, ())
            _forget(sql, held.over)
            woken = []
            for timer_id in sorted(held.begun):
                row = held.next_of(timer_id)
                if row is not None and row.status is FiringStatus.PENDING and row.due_at >= now:
                    woken.append(row._replace(due_at=now, lane=""))
                    _put_off(sql, woken[-1])
            return woken

        return self._database.write(work, Step.SQL_END_OVERLAP) if timer_ids else []

    def page(self, after: MemberKey, limit: int) -> list[MemberKey]:
        """Return the keys (timer, moment) on record behind this one, in order."""
        query = select(*_KEY).where(behind(_KEY, after)).order_by(*_KEY).limit(limit)
        query = by_index(query, "PRIMARY", begun_firings)
        return self._database.read(lambda sql: [(row.timer_id, row.fire_at) for row in sql.execute(query)])


def _locked(sql: Connection, timer_ids: Collection[int], members: Iterable[Member]) -> _Begun:
    """Lock timers, then the firings asked about and on record: settling locks firings only, so none wait crosswise."""
    ids = sorted(timer_ids)
    locking = select(timers.c.id, timers.c.overlap).where(timers.c.id.in_(ids)).order_by(timers.c.id)
    locking = by_index(locking, "PRIMARY", timers).with_for_update()
    policies = {row.id: Overlap(row.overlap) for row in sql.execute(locking) if row.overlap is not None}
    recorded = select(*_KEY, begun_firings.c.is_waiting).where(begun_firings.c.timer_id.in_(ids))
    on_record = sql.execute(by_index(recorded, "PRIMARY", begun_firings)).all()
    asked = [*members, *(Member(timer_id, fire_at, 0) for timer_id, fire_at, _ in on_record)]
    rows = locked_rows(sql, asked)
    held = _Begun(policies, dict(rows))
    for timer_id, fire_at, is_waiting in on_record:
        row = rows.get((timer_id, fire_at))
        if row is None or row.status not in _OPEN:
            held.over.append((timer_id, fire_at))
        else:
            held.begun.setdefault(timer_id, {})[fire_at] = Begun(fire_at, bool(is_waiting))
    return held


def _cancelling(sql: Connection, row: Firing | None, by: int) -> list[Outcome]:
    """Return the outcome of a firing that is cancelled; what an accepted attempt measured stays on record."""
    if row is None:
        return []
    error = cancelled_by(by)
    if row.status is FiringStatus.PENDING:
        return [Outcome(row.member, row.bucket, FiringStatus.SKIPPED, row.fire_at, error=error)]
    its = and_(firings.c.fire_at == row.fire_at, firings.c.timer_id == row.timer_id)
    whole = sql.execute(by_index(select(firings).where(its), "PRIMARY")).mappings().one()
    # As the outcome of a call finds it: then it is written as one.
    changing = update(firings).where(its).values(status=FiringStatus.PENDING.value)
    sql.execute(update_by_index(changing, "PRIMARY"))
    return [outcome_of_row(whole, FiringStatus.SKIPPED, row.fire_at, error)]


def _by_row_key(outcome: Outcome) -> tuple[int, int]:
    return outcome.member.fire_at, outcome.member.timer_id


def _put_off(sql: Connection, row: Firing) -> None:
    """Write when and where a waiting firing stands."""
    its = and_(firings.c.fire_at == row.fire_at, firings.c.timer_id == row.timer_id)
    sql.execute(update_by_index(update(firings).where(its).values(due_at=row.due_at, lane=""), "PRIMARY"))


def _forget(sql: Connection, keys: Sequence[MemberKey]) -> None:
    for part in in_parts((fire_at, timer_id) for timer_id, fire_at in keys):
        delete_of_keys(sql, begun_firings, part, "PRIMARY")


def _write(sql: Connection, begins: Sequence[tuple[int, Begun]], turns: Sequence[MemberKey]) -> None:
    """Write which begin or wait, and which have waited and go."""
    rows = [
        {"timer_id": timer_id, "fire_at": one.fire_at, "is_waiting": int(one.is_waiting)}
        for timer_id, one in begins
    ]
    if rows:
        sql.execute(insert_ignore(begun_firings), rows)
    for timer_id, fire_at in turns:
        its = and_(begun_firings.c.timer_id == timer_id, begun_firings.c.fire_at == fire_at)
        sql.execute(update_by_index(update(begun_firings).where(its).values(is_waiting=0), "PRIMARY"))
