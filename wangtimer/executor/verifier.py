"""The verifier: asks SQL about a member that may have been sent already, or is about to be skipped."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import DueMember, Firing, FiringStatus, Member
from wangtimer.core.flow.slicing import SliceOrLane
from wangtimer.core.time.clock import Clock
from wangtimer.executor.case import Case, RowsAndParked
from wangtimer.executor.sql_rest import SqlRest
from wangtimer.executor.unread import Unread
from wangtimer.executor.verdicts import Drop, Fail, PutBack, Send, Verdict
from wangtimer.store.redis.outbox import Outbox
from wangtimer.store.sql.firings import FiringStore

log = structlog.get_logger()

# A log line names so many of the members without a row.
MEMBERS_SHOWN = 10
SHORTEST_WAIT_MS = 3_000
LONGEST_WAIT_MS = 30_000


@dataclass(frozen=True, slots=True)
class Verifier:
    """A step. It reads the outbox first, then SQL: the other order would miss an outcome that is flushed in between."""

    concerns = None

    outbox: Outbox
    firings: FiringStore
    clock: Clock
    lead_ms: int
    unread: Unread
    sql_rest: SqlRest = field(default_factory=SqlRest)

    def rule(self, case: Case) -> None:
        """Stop those that are over, or stand elsewhere; all wait where nothing can be read, or SQL hangs."""
        case.verdicts.update(self.verify(case.claim.stands_in, case.asked, case.rows))

    def verify(
        self, slice_: SliceOrLane, members: Sequence[DueMember], read: RowsAndParked | None = None
    ) -> dict[Member, Verdict]:
        """Return a verdict for each member; all wait where nothing can be read, or SQL hangs.

        `read` was read just now, of these members and perhaps of others.
        """
        asked = [due.member for due in members]
        if read is None or not read.members.issuperset(asked):
            read = self.read(asked)
        if read is None:
            return {due.member: self.wait(due) for due in members}
        _, parked, rows = read
        _tell_of_unknown(
            [due.member for due in members if due.member.key not in rows and due.member.key not in rows.bad]
        )
        verdicts: dict[Member, Verdict] = {
            due.member: Drop(None)
            if due.member in parked
            else self._judge(slice_, due, rows.get(due.member.key))
            for due in members
        }
        return verdicts | {
            due.member: self.unjudged(due, reason)
            for due in members
            if due.member not in parked and (reason := rows.bad.get(due.member.key))
        }

    def read(self, members: Sequence[Member]) -> RowsAndParked | None:
        """Return what the outbox and SQL tell of these; None where that cannot be read, or SQL hangs."""
        if self.sql_rest.lasts(self.clock):
            return None
        try:
            with self.sql_rest.asking(self.clock):
                return RowsAndParked(
                    frozenset(members), self.outbox.holds(members), self.firings.rows(members)
                )
        except StoreAway:
            return None

    def unjudged(self, due: DueMember, reason: str, row: Firing | None = None) -> PutBack | Fail:
        """Return what becomes of a member that this node cannot judge."""
        due_at = _was_due_at(due) if row is None else row.due_at
        return self.unread.verdict(due.member, due_at, reason, self.clock.now_ms())

    def unopened(self, due: DueMember, reason: str) -> PutBack:
        """Return until when a member waits whose secrets this node cannot open: for a node that has their key."""
        return self.unread.wait(due.member, _was_due_at(due), reason, self.clock.now_ms())

    def wait(self, due: DueMember) -> PutBack:
        """Return until when to wait: half as long as the member is late by now, so ever longer.

        A retry counts as late only since its own moment, or since it was last put back, so it waits the shortest time
        again and again.
        """
        now = self.clock.now_ms()
        late_ms = now - (due.member.fire_at if due.member.attempt == 1 else due.due_at)
        return PutBack(int(now + min(max(late_ms / 2, SHORTEST_WAIT_MS), LONGEST_WAIT_MS)))

    def _judge(self, slice_: SliceOrLane, due: DueMember, row: Firing | None) -> Verdict:
        if row is None or row.status is not FiringStatus.PENDING:
            return Drop(None)
        if row.attempt > due.member.attempt or row.stands_in != slice_:
            return Drop(row)
        if row.attempt < due.member.attempt:
            return self.wait(due)
        if row.due_at > self.clock.now_ms() + self.lead_ms:
            return PutBack(row.due_at)
        return Send(row)


def _was_due_at(due: DueMember) -> int:
    return due.due_at if due.member.attempt > 1 else due.member.fire_at


def _tell_of_unknown(members: Sequence[Member]) -> None:
    """Log the members that are dropped because SQL has no row of them: SQL lost it, or purged it long ago."""
    if members:
        shown = [str(member) for member in members[:MEMBERS_SHOWN]]
        log.warning("firings_unknown_to_sql", firings=len(members), members=shown)
