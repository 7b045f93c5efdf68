"""Firings whose targets answered 202 and are to say when they are done, in SQL."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Label,
    RowMapping,
    Update,
    and_,
    case,
    exists,
    select,
    update,
)

from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import Firing, FiringStatus, Member
from wangtimer.core.flow.outcome import Note, Outcome
from wangtimer.store.sql.database import SqlStore
from wangtimer.store.sql.dead_letters import forget_dead_letters
from wangtimer.store.sql.firing_rows import written
from wangtimer.store.sql.firings import settle_rows
from wangtimer.store.sql.on_settled import note_outcomes
from wangtimer.store.sql.statements import behind, by_index, update_by_index
from wangtimer.store.sql.tables import attempts, begun_firings, firings, firings_to_cancel

# The error on record of an accepted attempt of which nothing was said in time.
TIME_OVER_ERROR = "the target answered 202, and did not say in time that it is done"
ACCEPTED, PENDING = FiringStatus.ACCEPTED.value, FiringStatus.PENDING.value


# When it was to be done, its moment (both ms UTC) and its timer.
OverdueKey = tuple[int, int, int]
FIRST_OVERDUE: OverdueKey = (-1, 0, 0)


class AckState(Enum):
    """What became of an acknowledgement: it counts, or the firing stands elsewhere."""

    COUNTS = auto()
    NOT_YET = auto()  # the answer 202 of this attempt is not on record yet
    OVERTAKEN = auto()  # this attempt ended, and the firing is, or failed, at a later one
    TOO_LATE = auto()  # nothing was said of this attempt in time, and the firing has failed
    SUCCEEDED = auto()
    OVER = auto()  # it failed, was skipped or purged, or never came to this attempt


class OverduePage(NamedTuple):
    """Some that are overdue, and the key to go on behind; None at the end."""

    firings: list[Outcome]
    next_key: OverdueKey | None


class Ended(NamedTuple):
    """How many accepted firings ended, and which of them are to be tried again."""

    number: int
    again: list[Firing]


class AcceptedFirings(SqlStore):
    """An accepted firing is its outcome so far, which is due when it is to be done. Every method raises `StoreAway`."""

    def find(self, member: Member) -> tuple[AckState, Outcome | None]:
        """Return how a firing stands to its attempt; and the firing, if it is accepted at this attempt."""
        query = select(firings, _is_to_be_cancelled(member)).where(_is(member.timer_id, member.fire_at))
        query = by_index(query, "PRIMARY")
        row = self._database.read(lambda sql: sql.execute(query).mappings().one_or_none())
        state = _state_of(row, member)
        return state, None if row is None or state is not AckState.COUNTS else accepted_of(row)

    def overdue(self, now: int, limit: int, after: OverdueKey = FIRST_OVERDUE) -> OverduePage:
        """Return those behind this key that were to be done by `now` (ms UTC), the longest overdue first.

        `limit` are read; left out are those that a newer firing cancels, though their rows do not say so yet.
        """
        noted = and_(
            firings_to_cancel.c.timer_id == firings.c.timer_id,
            firings_to_cancel.c.fire_at == firings.c.fire_at,
        )
        key = (firings.c.due_at, firings.c.fire_at, firings.c.timer_id)
        late = and_(firings.c.status == ACCEPTED, firings.c.due_at <= now, behind(key, after))
        columns = (firings, firings_to_cancel.c.timer_id.is_not(None).label("is_noted"))
        query = select(*columns).select_from(firings.outerjoin(firings_to_cancel, noted)).where(late)
        query = by_index(query.order_by(*key).limit(limit), "firing_due")
        query = by_index(query, "PRIMARY", firings_to_cancel)
        rows = self._mappings(query)
        last = rows[-1] if len(rows) == limit else None
        next_key = None if last is None else (last["due_at"], last["fire_at"], last["timer_id"])
        return OverduePage([accepted_of(row) for row in rows if not row["is_noted"]], next_key)

    def acknowledge(self, member: Member, now: int, notes: tuple[Note, ...] = ()) -> tuple[AckState, bool]:
        """Record that the work is done; it counts also for an attempt whose time was over, whatever came of it.

        `notes`: what the judge of alerts is to know of it.
        Return also whether other firings of its timer may wait for it. Repeating it is harmless.
        """

        def work(sql: Connection) -> tuple[AckState, bool]:
            state, has_begun = _locked(sql, member)
            if state is not AckState.COUNTS:
                if state is AckState.OVERTAKEN and _was_too_late(sql, member):
                    state = AckState.TOO_LATE
                if state is not AckState.TOO_LATE:
                    return state, has_begun
                forget_dead_letters(sql, [member.key])
            is_it = _is(member.timer_id, member.fire_at)
            sql.execute(_updating(is_it, status=FiringStatus.SUCCEEDED.value, done_at=now, error=""))
            note_outcomes(sql, [Outcome(member, 0, FiringStatus.SUCCEEDED, member.fire_at, notes=notes)])
            return AckState.COUNTS, has_begun

        return self._database.write(work, FailPoint.SQL_ACKNOWLEDGE)

    def prolong(self, member: Member, until: int) -> AckState:
        """Let an accepted firing have until then, ms UTC, at least; it keeps what it has if that is longer."""

        def work(sql: Connection) -> AckState:
            state, _ = _locked(sql, member)
            if state is AckState.COUNTS:
                is_it = _is(member.timer_id, member.fire_at)
                later = case((firings.c.due_at > until, firings.c.due_at), else_=until)
                sql.execute(_updating(is_it, due_at=later))
            return state

        return self._database.write(work, FailPoint.SQL_PROLONG)

    def end(self, outcomes: Sequence[tuple[Outcome, Outcome]]) -> Ended:
        """Write what became of accepted firings, each as it was read and as it ends, in one transaction.

        One that was acknowledged or prolonged since it was read, or has another outcome, is left as it is. Repeating it
        is harmless.
        """
        ordered = sorted(outcomes, key=lambda pair: (pair[0].member.fire_at, pair[0].member.timer_id))

        def work(sql: Connection) -> Ended:
            ended = []
            for was, outcome in ordered:
                # As the outcome of a call finds it: then it is written as one.
                as_read = and_(
                    _is(was.member.timer_id, was.member.fire_at),
                    firings.c.status == ACCEPTED,
                    firings.c.attempt == was.member.attempt,
                    firings.c.due_at == was.due_at,
                )
                if sql.execute(_updating(as_read, status=PENDING)).rowcount:
                    ended.append((was, outcome))
            if ended:
                settle_rows(sql, [outcome for _, outcome in ended])
            again = [outcome.retry_firing() for _, outcome in ended if outcome.is_retry]
            return Ended(len(ended), again)

        return self._database.write(work, FailPoint.SQL_END_ACCEPTED) if ordered else Ended(0, [])


def _updating(wanted: ColumnElement[bool], **values: Any) -> Update:
    return update_by_index(update(firings).where(wanted).values(values), "PRIMARY")


def _is(timer_id: int, fire_at: int) -> ColumnElement[bool]:
    return and_(firings.c.fire_at == fire_at, firings.c.timer_id == timer_id)


def _locked(sql: Connection, member: Member) -> tuple[AckState, bool]:
    """Return how a firing, locked from now on, stands to its attempt, and whether it is on record as begun."""
    begun = and_(begun_firings.c.timer_id == member.timer_id, begun_firings.c.fire_at == member.fire_at)
    has_begun = exists().where(begun).label("has_begun")
    query = select(
        firings.c.status, firings.c.attempt, firings.c.error, has_begun, _is_to_be_cancelled(member)
    )
    query = by_index(query.where(_is(member.timer_id, member.fire_at)), "PRIMARY")
    row = sql.execute(query.with_for_update()).mappings().one_or_none()
    return _state_of(row, member), row is not None and bool(row["has_begun"])


def _is_to_be_cancelled(member: Member) -> Label[bool]:
    """Return the column that tells whether a newer firing cancels this one, though its row does not say so yet."""
    is_noted = and_(
        firings_to_cancel.c.timer_id == member.timer_id, firings_to_cancel.c.fire_at == member.fire_at
    )
    return exists().where(is_noted).label("is_to_be_cancelled")


def _was_too_late(sql: Connection, member: Member) -> bool:
    """Tell whether an earlier attempt was accepted, and ended because nothing was said in time."""
    is_attempt = and_(
        attempts.c.fire_at == member.fire_at,
        attempts.c.timer_id == member.timer_id,
        attempts.c.attempt == member.attempt,
    )
    return sql.execute(select(attempts.c.error).where(is_attempt)).scalar_one_or_none() == TIME_OVER_ERROR


def _state_of(row: RowMapping | None, member: Member) -> AckState:
    if row is None:
        return AckState.OVER
    status, attempt = row["status"], row["attempt"]
    if status == FiringStatus.SUCCEEDED.value:
        return AckState.SUCCEEDED
    if status == FiringStatus.FAILED.value and attempt > member.attempt:
        return AckState.OVERTAKEN
    if status == FiringStatus.FAILED.value and attempt == member.attempt and row["error"] == TIME_OVER_ERROR:
        return AckState.TOO_LATE
    if status not in (ACCEPTED, PENDING) or attempt < member.attempt or row["is_to_be_cancelled"]:
        return AckState.OVER
    if attempt > member.attempt:
        return AckState.OVERTAKEN
    return AckState.COUNTS if status == ACCEPTED else AckState.NOT_YET


def accepted_of(row: RowMapping) -> Outcome:
    """Return the outcome in the row of an accepted firing; it is due when it is to be done."""
    sent_at = written(row, "sent_at")
    return Outcome(
        Member(row["timer_id"], row["fire_at"], row["attempt"]),
        row["bucket"],
        FiringStatus.ACCEPTED,
        row["due_at"],
        sent_at,
        None if sent_at is None else sent_at - row["fire_at"],
        written(row, "cost_ms"),
        written(row, "http_status"),
        row["output"],
        connect_ms=written(row, "connect_ms"),
        first_byte_ms=written(row, "first_byte_ms"),
        host_failing_ms=row["host_failing_ms"],
    )
