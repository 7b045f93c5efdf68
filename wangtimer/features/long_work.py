"""Long work: firings that targets have accepted by an answer 202, until they say that they are done, or do not."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from threading import Semaphore

import structlog

from wangtimer.core.alerts.alert_place import NOWHERE, AlertPlace
from wangtimer.core.alerts.alert_rule import AlertMarks
from wangtimer.core.errors import (
    Conflict,
    NotOnRecord,
    RowsLocked,
    StoreAway,
    Subject,
    TookTooLong,
    UnknownTarget,
    WangTimerError,
    WrongToken,
)
from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.dead_letter import NACKED, NOT_ACKED, Failure
from wangtimer.core.flow.firing import FiringStatus, Member, MemberKey
from wangtimer.core.flow.outcome import Note, Outcome
from wangtimer.core.retry import RetryPolicy, policy_of
from wangtimer.core.signing.ack_token import AckTokens
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.timer import Definition, TimerStatus
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.process_marks import AckGrace
from wangtimer.store.sql.accepted_firings import (
    FIRST_OVERDUE,
    TIME_OVER_ERROR,
    AcceptedFirings,
    AckState,
    OverdueKey,
)
from wangtimer.store.sql.target_store import TargetStore
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

# A target may say that it is done before its answer is on record: outcomes are written a few times a second.
PATIENCE_S, LOOK_EVERY_S = 2.0, 0.1
# Requests of a process that wait so; a further one is told to come again.
MOST_WAITING = 2
# A word that comes just when another one does is tried so often.
TRIES = 3
# Firings that one transaction ends.
PAGE = 200
# After so long a sweep begins no further page; the next goes on.
LONGEST_SWEEP_S = 2.0
ERROR_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class PresentOrders:
    """What calls of timers would be now, from SQL."""

    timers: TimerStore
    target_store: TargetStore

    def of(self, definition: Definition) -> CallOrder:
        """Return the order of a timer's call."""
        name, target = definition.notify.target, None
        if name:
            with suppress(UnknownTarget):
                target = self.target_store.get(definition.app, name)
        return CallOrder(definition, target)

    def definition(self, timer_id: int) -> Definition | None:
        """Return a timer's definition, None if it is gone; raises `StoreAway` if it cannot be read here."""
        found = self.timers.definitions({timer_id})
        if timer_id in found.bad:
            raise StoreAway("the timer's row", found.bad[timer_id])
        return found.get(timer_id)


@dataclass(frozen=True, slots=True)
class Retries:
    """When what failed is tried again: as its order says, else its app, else as is `usual` in the deployment."""

    of_apps: Callable[[], Mapping[str, RetryPolicy]]
    usual: RetryPolicy
    random: Random


@dataclass(frozen=True, slots=True)
class AfterWords:
    """What follows once a word of a target is on record.

    A firing that is tried again stands in Redis, with `hot`. `tell` is told of each word that counts: the attempt, and
    until when it goes on (ms UTC); 0: it has ended. `end_overlaps` is told of firings that are done, of timers whose
    firings are not to overlap.
    """

    hot: HotStore
    tell: Callable[[Member, int], None]
    end_overlaps: Callable[[Collection[MemberKey]], None]


@dataclass(slots=True)
class LongWork:
    """Takes targets' words on accepted firings, and ends those whose time is over.

    Who has the token of a call may speak for its firing. Raises `WrongToken` for any other, `Conflict`
    where the firing is not, or no longer, accepted, `NotOnRecord` where it is not yet, and `StoreAway`.
    """

    accepted_firings: AcceptedFirings
    orders: PresentOrders
    ack_tokens: AckTokens
    ack_grace: AckGrace
    clock: Clock
    retries: Retries
    marks: AlertMarks
    after: AfterWords
    waiting: Semaphore = field(default_factory=lambda: Semaphore(MOST_WAITING), init=False)
    _swept_to: OverdueKey = field(default=FIRST_OVERDUE, init=False)

    def ack(self, timer_id: int, fire_at: int, token: str) -> None:
        """Record that a firing is done; a repeat changes nothing."""
        member = self._member(timer_id, fire_at, token)
        self._await_answer(member)
        state, has_begun = self.accepted_firings.acknowledge(member, self._now, self._notes(member))
        if state not in (AckState.COUNTS, AckState.SUCCEEDED):
            raise _refused(state)
        if has_begun:
            self.after.end_overlaps({member.key})
        self.after.tell(member, 0)

    def heartbeat(self, timer_id: int, fire_at: int, token: str) -> int:
        """Let a firing have its whole time anew; return until when, ms UTC."""
        member = self._member(timer_id, fire_at, token)
        held = self._held(member)
        ack_ms = self._ack_ms(timer_id)
        if ack_ms is None:  # taken away since: what it was given stays
            return held.due_at
        until = self._now + ack_ms
        state = self.accepted_firings.prolong(member, until)
        if state is not AckState.COUNTS:
            raise _refused(state)
        until = max(until, held.due_at)
        self.after.tell(member, until)
        return until

    def nack(self, timer_id: int, fire_at: int, token: str, error: str, *, is_final: bool) -> None:
        """Record that a firing failed: it is tried again, as after any failure, unless that is final."""
        member = self._member(timer_id, fire_at, token)
        said = "the target said that it failed"
        why = f"{said}: {error[:ERROR_CHARACTERS]}" if error else said
        for _ in range(TRIES):
            # Between the reading and the end somebody else may speak for it.
            held, definition = self._held(member), self.orders.definition(timer_id)
            if self._end([(held, definition)], why, NACKED, is_final):
                self.after.tell(member, 0)
                return
        raise _refused(self.accepted_firings.find(member)[0])

    def sweep(self) -> int:
        """End the firings whose time is over, page by page, for a while; return how many. Raises `StoreAway`.

        The next one goes on where this one had to end. One whose timer or target cannot be read here is left to a
        process that can. None ends until SQL has been there for `GRACE_MS`.
        """
        try:
            return self._sweep()
        except StoreAway as away:
            # Words are recorded while a row is held, or a statement of a sweep is slow.
            if not isinstance(away, RowsLocked | TookTooLong):
                self.ack_grace.begin_anew()
            raise

    def _sweep(self) -> int:
        ends_at, number, left = self.clock.monotonic() + LONGEST_SWEEP_S, 0, 0
        while self.clock.monotonic() < ends_at:
            page, next_key = self.accepted_firings.overdue(self._now, PAGE, self._swept_to)
            if not self.ack_grace.is_over(self._now):
                break
            # Before they end: should that fail, those behind them have their turn.
            self._swept_to = next_key or FIRST_OVERDUE
            ended = self._end_overdue(page) if page else 0
            number += ended
            left += len(page) - ended
            if next_key is None:
                break
        if number or left:
            log.info("not_acknowledged", firings=number, left=left)
        return number

    def _end_overdue(self, page: Sequence[Outcome]) -> int:
        definitions = self.orders.timers.definitions({entry.member.timer_id for entry in page})
        read = [
            (entry, definitions.get(entry.member.timer_id))
            for entry in page
            if entry.member.timer_id not in definitions.bad
        ]
        return self._end(read, TIME_OVER_ERROR, NOT_ACKED)

    @property
    def _now(self) -> int:
        return int(self.clock.now_ms())

    def _member(self, timer_id: int, fire_at: int, token: str) -> Member:
        """Return the attempt that the token is of; raises `WrongToken`. SQL is asked nothing."""
        attempt = self.ack_tokens.attempt_of(token, timer_id, fire_at)
        if attempt is None:
            raise WrongToken
        return Member(timer_id, fire_at, attempt)

    def _notes(self, member: Member) -> tuple[Note, ...]:
        """Return what the judge of alerts is to know of a firing that is done; nothing is asked while all is well."""
        if not self.marks.are_any_troubled:
            return ()
        try:
            place = self._place_of(self.orders.timers.definitions({member.timer_id}).get(member.timer_id))
        except StoreAway:
            raise
        except Exception as fault:
            log.error("done_firing_not_judged", member=str(member), error=repr(fault))
            return ()
        return self.marks.noted(Outcome(member, 0, FiringStatus.SUCCEEDED, member.fire_at), place).notes

    def _held(self, member: Member) -> Outcome:
        """Return the firing that is accepted at this attempt; raises what says why it is not."""
        self._await_answer(member)
        state, held = self.accepted_firings.find(member)
        if held is None:
            raise _refused(state)
        return held

    def _await_answer(self, member: Member) -> None:
        """Wait until the answer 202 is on record, for a while; few may wait so at once, for each holds a thread."""
        if self.accepted_firings.find(member)[0] is not AckState.NOT_YET or not self.waiting.acquire(
            blocking=False
        ):
            return
        try:
            ends_at = self.clock.monotonic() + PATIENCE_S
            while self.clock.monotonic() < ends_at:
                self.clock.sleep(LOOK_EVERY_S)
                if self.accepted_firings.find(member)[0] is not AckState.NOT_YET:
                    return
        finally:
            self.waiting.release()

    def _ack_ms(self, timer_id: int) -> int | None:
        """Return how long a target of the timer may take now; None: 202 is done."""
        definition = self.orders.definition(timer_id)
        if definition is None:
            return None
        return self.orders.of(definition).timeouts.ack_ms

    def _end(
        self,
        page: Sequence[tuple[Outcome, Definition | None]],
        error: str,
        reason: str,
        is_final: bool = False,
    ) -> int:
        """End firings as failed attempts, to be tried again where their policies say so; return how many ended."""
        of_apps, alerted, outcomes = self.retries.of_apps(), self.marks.alerted(), []
        for entry, definition in page:
            try:
                outcome = self._outcome(entry, definition, of_apps, error, reason, is_final)
                place = self._place_of(definition) if alerted.late_ms else NOWHERE
                outcomes.append((entry, self.marks.noted_for(alerted, outcome, place)))
            except StoreAway:
                raise
            except Exception as fault:
                log.error("accepted_firing_not_judged", member=str(entry.member), error=repr(fault))
        number, again = self.accepted_firings.end(outcomes)
        try:
            self.after.hot.add(again)
        except StoreAway as away:
            log.info("retries_left_to_sweep", firings=len(again), error=str(away))
        single = {
            definition.timer_id
            for _, definition in page
            if definition is not None and definition.overlap.is_forbidden
        }
        done = {
            entry.member.key
            for entry, outcome in outcomes
            if outcome.is_done and entry.member.timer_id in single
        }
        if done:
            self.after.end_overlaps(done)
        return number

    def _outcome(
        self,
        accepted: Outcome,
        definition: Definition | None,
        of_apps: Mapping[str, RetryPolicy],
        error: str,
        reason: str,
        is_final: bool,
    ) -> Outcome:
        wait_ms, host = None, ""
        if definition is not None and definition.status is not TimerStatus.DELETED:
            order = self.orders.of(definition)
            host, policy = order.where.host, policy_of(order.retry, order.app, of_apps, self.retries.usual)
            wait_ms = None if is_final else policy.wait_ms(accepted.member.attempt, self.retries.random)
        if wait_ms is None:
            failed = accepted._replace(
                status=FiringStatus.FAILED, due_at=accepted.member.fire_at, error=error
            )
            return failed.with_note(Failure(reason, host, self._now).note)
        return accepted._replace(status=FiringStatus.PENDING, due_at=self._now + wait_ms, error=error)

    def _place_of(self, definition: Definition | None) -> AlertPlace:
        return NOWHERE if definition is None else self.orders.of(definition).where.place


def _refused(state: AckState) -> WangTimerError:
    if state is AckState.NOT_YET:
        return NotOnRecord()
    if state is AckState.COUNTS:  # nobody spoke for it, and it could not be judged here
        return StoreAway("the timer's target", "it cannot be read here")
    if state is AckState.OVERTAKEN:
        reason, mend = "this attempt has ended, and the firing is at a later one", "see the firing's record"
    else:
        reason, mend = "this firing has its outcome already", "see the firing's record"
    return Conflict("token", reason, mend, about=Subject.FIRING)
