"""Pieces of the executor as they would be with one rule left out; `rules` says which."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import DueMember, Firing, FiringStatus, Member
from wangtimer.executor.case import Case, RowsAndParked
from wangtimer.executor.claim import Held, by_claim
from wangtimer.executor.verdicts import Drop, PutBack, Send, Skip
from wangtimer.executor.verifier import Verifier

# The reasons to verify that count for nothing now; several rules may be left out at once.
unheeded: dict[str, bool] = {}
# As it is.
_VERIFY = Verifier.verify


def may_have_been_sent(due: DueMember, suspects: set[Member], fresh_until: float) -> bool:
    reasons = {
        "suspect": due.member in suspects,
        "retry": due.member.attempt > 1 or due.due_at != due.member.fire_at,
        "fresh": due.due_at < fresh_until,
    }
    return any(holds for name, holds in reasons.items() if name not in unheeded)


def read_sql_first(self: Any, members: Any) -> Any:
    try:
        rows = self.firings.rows(members)
        return RowsAndParked(frozenset(members), self.outbox.holds(members), rows)
    except StoreAway:
        return None


def read_without_outbox(self: Any, members: Any) -> Any:
    try:
        return RowsAndParked(frozenset(members), set(), self.firings.rows(members))
    except StoreAway:
        return None


def judge_without(check: str) -> Callable[..., Any]:
    """Judge a row as the verifier does, but for one of its "attempt", "slice" and "moment", or all of them."""

    def judge(self: Any, slice_: Any, due: DueMember, row: Any) -> Any:
        left_out = check.split()
        if row is None or row.status is not FiringStatus.PENDING:
            return Drop(None)
        if "slice" not in left_out and row.stands_in != slice_:
            return Drop(row)
        if "attempt" not in left_out and row.attempt > due.member.attempt:
            return Drop(row)
        if "attempt" not in left_out and row.attempt < due.member.attempt:
            return self.wait(due)
        if "moment" not in left_out and row.due_at > self.clock.now_ms() + self.lead_ms:
            return PutBack(row.due_at)
        return Send(row)

    return judge


def wait_no_time(self: Any, due: DueMember) -> PutBack:
    return PutBack(int(self.clock.now_ms()))


def send_unverified(self: Any, slice_: Any, members: Any, read: Any = None) -> Any:
    asked = [due.member for due in members]
    if read is None or not read.members.issuperset(asked):
        read = self.read(asked)
    if read is None:
        return {due.member: Send(_row_of(due)) for due in members}
    return _VERIFY(self, slice_, members, read)


def _row_of(due: DueMember) -> Any:
    return Firing.planned(due.member.timer_id, due.member.fire_at, 0)._replace(attempt=due.member.attempt)


def drop_without_adding(self: Any, claim: Any, members: Any, _rows: Any) -> None:
    with suppress(StoreAway):
        self._slices.release(by_claim(Held(claim, member) for member in members))
    claim.let_go(members)


def take_redis_word(self: Any, case: Case) -> None:
    known = self.definitions.get(sorted({due.member.timer_id for due in case.unwanted})).definitions
    for due in case.unwanted:
        verdict = case.verdicts[due.member]
        if due.member.timer_id in known and isinstance(verdict, Send):
            case.verdicts[due.member] = Skip("disabled", verdict.row)


def ask_nobody(self: Any, held: Any, if_mine: Callable[[], None]) -> None:
    held.claim.renewed_at = self._clock.monotonic()
    if_mine()


def release_before_retry(self: Any, batch: Any) -> None:
    outcomes = [finished.outcome for finished in batch]
    if left := self._write(outcomes):
        self._outbox.park(left)
    try:
        self._slices.release(by_claim(finished.held for finished in batch))
        self._hot.add([outcome.retry_firing() for outcome in outcomes if outcome.is_retry])
    except StoreAway:
        pass
    for finished in batch:
        finished.held.claim.let_go([finished.held.member])


def release_before_record(self: Any, batch: Any) -> None:
    with suppress(StoreAway):
        self._slices.release(by_claim(finished.held for finished in batch))
    outcomes = [finished.outcome for finished in batch]
    if left := self._write(outcomes):
        self._outbox.park(left)
    with suppress(StoreAway):
        self._hot.add([outcome.retry_firing() for outcome in outcomes if outcome.is_retry])
    for finished in batch:
        finished.held.claim.let_go([finished.held.member])


def never_park(self: Any, outcomes: Any) -> list[Any]:
    self._clock.sleep(0.001)
    with suppress(StoreAway):
        self._firings.settle(outcomes)
    return []
