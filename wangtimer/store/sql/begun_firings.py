"""Firings that have begun, or wait for one that has, in SQL: of timers whose firings are not to overlap."""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, ScalarSelect, and_, null, or_, select, text, update

from wangtimer.core.errors import StoreAway
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus, Member, MemberKey
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.timers.overlap import GO, Begun, Course, Overlap, Ruling, judge
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import free_and_held, rows_of
from wangtimer.store.sql.firings_to_cancel import (
    MOST_AT_ONCE,
    cancel_older,
    forget_to_cancel,
    last_before,
    note_oldest,
)
from wangtimer.store.sql.statements import (
    KeyedStatement,
    asked_for,
    behind,
    by_index,
    delete_of_keys,
    in_this_order,
    insert_ignore,
    update_by_index,
)
from wangtimer.store.sql.tables import begun_firings, firings, firings_to_cancel, timers
from wangtimer.store.sql.while_unchanged import while_unchanged

# A firing that waits is woken as soon as the one ahead of it is done. Should that be missed, it looks again after this.
LOOK_AGAIN_MS = 30_000
# Who judges, or edits the timer, holds its row for milliseconds. What is held for longer is left alone.
PAUSES_S = (0.0, 0.02, 0.08, 0.3)
_KEY = (begun_firings.c.timer_id, begun_firings.c.fire_at)
_OPEN = (FiringStatus.PENDING, FiringStatus.ACCEPTED)
# What is on record of firings: timer, moment, whether it waits, by which moment it is to be cancelled.
_RECORDED = KeyedStatement(
    asked_for(*_KEY, begun_firings.c.is_waiting, null(), table=begun_firings),
    asked_for(
        firings_to_cancel.c.timer_id,
        firings_to_cancel.c.fire_at,
        text("0"),
        firings_to_cancel.c.cancelled_by,
        table=firings_to_cancel,
    ),
)


class Judged(NamedTuple):
    """What a firing is to do now, and why; `row` is its row as it waits.

    None in place of a course: its attempt is over. `is_undecided`: it is not to be sent at once, nothing was written of
    it, and it is to be judged again: its moment has not come, or one that cancels it waits.
    """

    course: Course | None
    reason: str = ""
    row: Firing | None = None
    is_undecided: bool = False


@dataclass(slots=True)
class _Begun:
    """What judging needs of what is on record of some timers, locked: no other process judges a firing of theirs.

    `rows` are the rows of the firings that are asked about. `begun` has, by timer, what is on record of these, the
    newest one that runs, and the first two that wait; none of them has an outcome.
    """

    policies: dict[int, Overlap]
    rows: dict[MemberKey, Firing]
    begun: dict[int, dict[int, Begun]]
    # Which of those asked about are to be cancelled, and by which moment: a newer one began before.
    to_cancel: dict[MemberKey, int]
    # What judging made of them: the newest of each timer that cancels what is older, which of those seen here are
    # cancelled and by which, which begin or wait, which have waited and go.
    cancels: dict[int, int] = field(default_factory=dict)
    cancelled: dict[MemberKey, int] = field(default_factory=dict)
    begins: list[tuple[int, Begun]] = field(default_factory=list)
    turns: list[MemberKey] = field(default_factory=list)

    def judged_all(self, members: Iterable[Member], now: int) -> dict[Member, Judged]:
        """Judge firings in the order of their moments; one that a later one of them cancels never begins."""
        judged = {member: self.judged(member, now) for member in sorted(members)}
        # One that is cancelled here never began, so it is no reason for others.
        self.cancelled |= {key: self.cancels[key[0]] for key in self.cancelled if key not in self.to_cancel}
        self.begins = [
            (timer_id, begun) for timer_id, begun in self.begins if self._still_counts(timer_id, begun)
        ]
        return {
            member: Judged(None) if member.key in self.cancelled else found
            for member, found in judged.items()
        }

    def _still_counts(self, timer_id: int, begun: Begun) -> bool:
        return (timer_id, begun.fire_at) not in self.cancelled

    def put_off(
        self, timer_ids: Collection[int], members: Iterable[Member], now: int
    ) -> dict[Member, Judged]:
        """Let the newest firings of these timers, which cancel very many, wait; return what all of theirs are to do.

        They are on record as waiting, so none of them was missed. The older ones are judged with them again.
        """
        newest = {(timer_id, self.cancels[timer_id]) for timer_id in timer_ids}
        self.cancels = {timer_id: by for timer_id, by in self.cancels.items() if timer_id not in timer_ids}
        self.cancelled = {key: by for key, by in self.cancelled.items() if key[0] not in timer_ids}
        self.begins = [begin for begin in self.begins if begin[0] not in timer_ids]
        self.begins += [(timer_id, Begun(fire_at, True)) for timer_id, fire_at in sorted(newest)]
        self.turns = [key for key in self.turns if key[0] not in timer_ids]
        return {
            member: Judged(Course.WAIT, row=_due_again(self.rows[member.key], max(now, member.fire_at + 1)))
            if member.key in newest
            else Judged(None, is_undecided=True)
            for member in members
            if member.timer_id in timer_ids
        }

    def judged(self, member: Member, now: int) -> Judged:
        """Judge a firing, and note what follows from it for the others."""
        row = self.rows.get(member.key)
        if row is None or row.status is not FiringStatus.PENDING or row.attempt != member.attempt:
            return Judged(None)
        if member.key in self.to_cancel:
            self.cancelled[member.key] = self.to_cancel[member.key]
            return Judged(None)
        begun = self.begun.setdefault(member.timer_id, {})
        own = begun.get(member.fire_at)
        found = self._judge(row, own, [other for other in begun.values() if other is not own])
        if found != GO and member.fire_at > now:
            return Judged(found.course, is_undecided=True)
        for fire_at in found.cancelled:
            del begun[fire_at]
            self.cancelled[member.timer_id, fire_at] = member.fire_at
            self.cancels[member.timer_id] = member.fire_at
        if found.course is Course.WAIT:
            row = _due_again(row, now + LOOK_AGAIN_MS)
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


class BegunFirings:
    """Every method raises `StoreAway`; those that look several times, only where an earlier look brought nothing."""

    def __init__(self, database: Database, sleep: Callable[[float], None] = time.sleep) -> None:
        self._database = database
        self._sleep = sleep

    def judge(
        self,
        members: Sequence[Member],
        now: int,
        noted: Callable[[Outcome], Outcome] = lambda outcome: outcome,
    ) -> dict[Member, Judged]:
        """Judge firings that are about to be sent, at `now` (ms UTC), and write what becomes of them; repeatable.

        * One that goes is on record from now on. A repeat finds it there, and it goes again.
        * One that waits is on record too; its row is due again later.
        * Those that it cancels have their outcomes, as `noted` returns these. Of many the rest are noted as to be
          cancelled, and have theirs in a while; one of them that is asked about has it now. Of very many the oldest
          are noted first, a part each time that the newest is judged: until then it waits.

        The timers' rows are locked, so that two processes never judge at once. Absent are firings of timers of which
        others held the row, or that of one of these firings, all the while.
        """
        judged: dict[Member, Judged] = {}

        def work(sql: Connection) -> dict[Member, Judged]:
            held = _locked(sql, [member for member in members if member not in judged])
            found = held.judged_all((member for member in members if member.timer_id in held.begun), now)
            last = last_before(sql, held.cancels)
            if too_many := note_oldest(sql, held.cancels) if len(last) == MOST_AT_ONCE else []:
                found |= held.put_off(too_many, found, now)
                last = last_before(sql, held.cancels)
            if held.cancelled:
                cancel_older(sql, held.cancels, last, held.cancelled, held.rows, noted)
                forget_to_cancel(sql, [key for key in held.cancelled if key in held.to_cancel])
            for ruled in found.values():
                if ruled.course is Course.WAIT and ruled.row is not None:
                    _put_off(sql, ruled.row)
            _write(sql, held.begins, held.turns)
            return found

        for pause_s in PAUSES_S if members else ():
            self._sleep(pause_s)
            try:
                judged |= self._database.write(work, FailPoint.SQL_JUDGE_OVERLAP, waits_for_locks=False)
            except StoreAway:
                if not judged:
                    raise
                break  # what is judged stands
            if len(judged) == len(set(members)):
                break
        return judged

    def end(self, keys: Collection[MemberKey], now: int) -> list[Firing]:
        """Forget those of these firings that have an outcome; return those that waited for them and go now.

        They are due now (ms UTC). Where no one may wait, nothing but these firings is looked at. Those of timers whose
        rows others held all the while look again themselves. Repeating it is harmless.
        """
        woken: list[Firing] = []
        timer_ids = {timer_id for timer_id, _ in keys}

        def work(sql: Connection) -> tuple[list[Firing], set[int]]:
            over = _over_among(sql, keys)
            queued = _queued_among(sql, timer_ids)
            locked = _lock_timers(sql, queued) if queued else {}
            going, held = _wake(sql, locked, now)
            delete_of_keys(sql, begun_firings, over)
            return going, (queued - set(locked)) | held

        for pause_s in PAUSES_S if keys else ():
            self._sleep(pause_s)
            try:
                going, timer_ids = self._database.write(
                    work, FailPoint.SQL_END_OVERLAP, waits_for_locks=False
                )
            except StoreAway:
                if not woken:
                    raise
                break  # who is woken goes
            woken += going
            if not timer_ids:
                break
        return woken

    @while_unchanged
    def page(self, after: MemberKey, limit: int) -> list[MemberKey]:
        """Return the keys (timer, moment) on record behind this one, in order."""
        query = select(*_KEY).where(behind(_KEY, after)).order_by(*_KEY).limit(limit)
        query = by_index(query, "PRIMARY", begun_firings)
        return self._database.read(lambda sql: [(row.timer_id, row.fire_at) for row in sql.execute(query)])


def _lock_timers(sql: Connection, timer_ids: Collection[int]) -> dict[int, Overlap]:
    """Lock timers and return their policies; absent are those that another process holds, or that are gone."""
    ids = sorted(timer_ids)
    locking = select(timers.c.id, timers.c.overlap).where(timers.c.id.in_(ids)).order_by(timers.c.id)
    locking = by_index(locking, "PRIMARY", timers).with_for_update(skip_locked=True)
    return {row.id: Overlap(row.overlap or Overlap.ALLOW) for row in sql.execute(locking)}


def _gone_among(sql: Connection, timer_ids: Collection[int]) -> set[int]:
    if not timer_ids:
        return set()
    there = by_index(select(timers.c.id).where(timers.c.id.in_(sorted(timer_ids))), "PRIMARY", timers)
    return set(timer_ids) - set(sql.execute(there).scalars())


def _locked(sql: Connection, members: Sequence[Member]) -> _Begun:
    """Lock timers, then the firings asked about: settling locks firings only, so none wait crosswise.

    A timer is absent if others hold its row, or that of a firing asked about: its firings are judged in order.
    """
    ids = {member.timer_id for member in members}
    policies = _lock_timers(sql, ids)
    gone = _gone_among(sql, ids - set(policies))
    mine = [member for member in members if member.timer_id in policies or member.timer_id in gone]
    rows, held = free_and_held(sql, [member.key for member in mine])
    held_ids = {timer_id for timer_id, _ in held}
    begun = _heads(sql, policies.keys() - held_ids) | {timer_id: {} for timer_id in gone - held_ids}
    to_cancel: dict[MemberKey, int] = {}
    for timer_id, fire_at, is_waiting, by in _RECORDED.run(sql, {member.key for member in mine}):
        row = rows.get((timer_id, fire_at))
        if by is not None:
            to_cancel[timer_id, fire_at] = by
        elif row is not None and row.status in _OPEN and timer_id in begun:
            begun[timer_id][fire_at] = Begun(fire_at, bool(is_waiting))
    return _Begun(policies, rows, begun, to_cancel)


def _heads(sql: Connection, timer_ids: Collection[int]) -> dict[int, dict[int, Begun]]:
    """Return, by timer, the newest firing that runs and the first two that wait; each has no outcome yet."""
    if not timer_ids:
        return {}
    heads = (timers.c.id, _head(is_waiting=0), _head(is_waiting=1), _head(is_waiting=1, place=1))
    query = by_index(select(*heads).where(timers.c.id.in_(sorted(timer_ids))), "PRIMARY", timers)
    found: dict[int, dict[int, Begun]] = {}
    for timer_id, running, *waiting in sql.execute(query):
        ones = [Begun(running), *(Begun(fire_at, True) for fire_at in waiting)]
        found[timer_id] = {begun.fire_at: begun for begun in ones if begun.fire_at is not None}
    return found


def _head(is_waiting: int, place: int = 0) -> ScalarSelect[int]:
    """Return the moment of a timer's newest firing that runs, or of one of the first that wait, as a column."""
    own = and_(firings.c.fire_at == begun_firings.c.fire_at, firings.c.timer_id == begun_firings.c.timer_id)
    order = begun_firings.c.fire_at if is_waiting else begun_firings.c.fire_at.desc()
    query = (
        select(begun_firings.c.fire_at)
        .select_from(begun_firings.join(firings, own))
        .where(
            begun_firings.c.timer_id == timers.c.id,
            begun_firings.c.is_waiting == is_waiting,
            firings.c.status.in_([status.value for status in _OPEN]),
        )
        .order_by(order)
        .limit(1)
        .offset(place or None)
    )
    query = in_this_order(by_index(by_index(query, "begun_in_line", begun_firings), "PRIMARY"))
    return query.correlate(timers).scalar_subquery()


def _over_among(sql: Connection, keys: Collection[MemberKey]) -> list[MemberKey]:
    """Return which of these firings have an outcome, or are gone."""
    rows = rows_of(sql, [Member(timer_id, fire_at, 0) for timer_id, fire_at in keys])
    return [key for key in sorted(keys) if key not in rows or rows[key].status not in _OPEN]


def _queued_among(sql: Connection, timer_ids: Collection[int]) -> set[int]:
    """Return which of these timers may have a firing that waits: by their policies, or by an earlier one."""
    is_in_line = and_(begun_firings.c.timer_id == timers.c.id, begun_firings.c.is_waiting == 1)
    waiting = by_index(
        select(begun_firings.c.fire_at).where(is_in_line).limit(1), "begun_in_line", begun_firings
    )
    may_wait = or_(
        timers.c.overlap == Overlap.QUEUE_ONE.value, waiting.correlate(timers).scalar_subquery().is_not(None)
    )
    query = select(timers.c.id).where(timers.c.id.in_(sorted(timer_ids)), may_wait)
    return set(sql.execute(by_index(query, "PRIMARY", timers)).scalars())


def _wake(sql: Connection, timer_ids: Collection[int], now: int) -> tuple[list[Firing], set[int]]:
    """Make due the first waiting firing of timers of which none runs; also return timers whose row others hold."""
    first = [
        (timer_id, min(begun))
        for timer_id, begun in _heads(sql, timer_ids).items()
        if begun and all(firing.is_waiting for firing in begun.values())
    ]
    rows, held = free_and_held(sql, first)
    woken = [
        row._replace(due_at=now, lane="")
        for row in rows.values()
        if row.status is FiringStatus.PENDING and row.due_at >= now
    ]
    for row in woken:
        _put_off(sql, row)
    return woken, {timer_id for timer_id, _ in held}


def _due_again(row: Firing, due_at: int) -> Firing:
    return row._replace(due_at=due_at, lane="")


def _put_off(sql: Connection, row: Firing) -> None:
    waiting_row = and_(firings.c.fire_at == row.fire_at, firings.c.timer_id == row.timer_id)
    sql.execute(
        update_by_index(update(firings).where(waiting_row).values(due_at=row.due_at, lane=""), "PRIMARY")
    )


def _write(sql: Connection, begins: Sequence[tuple[int, Begun]], turns: Sequence[MemberKey]) -> None:
    """Write which begin or wait, and which have waited and go."""
    rows = [
        {"timer_id": timer_id, "fire_at": begun.fire_at, "is_waiting": int(begun.is_waiting)}
        for timer_id, begun in begins
    ]
    if rows:
        sql.execute(insert_ignore(begun_firings), rows)
    for timer_id, fire_at in turns:
        is_it = and_(begun_firings.c.timer_id == timer_id, begun_firings.c.fire_at == fire_at)
        sql.execute(update_by_index(update(begun_firings).where(is_it).values(is_waiting=0), "PRIMARY"))
