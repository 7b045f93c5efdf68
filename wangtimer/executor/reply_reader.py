"""The reply reader: turns the end of a call into the outcome that goes on record."""

from collections.abc import Mapping, Sequence
from functools import partial
from random import Random

from wangtimer.callback import Reply
from wangtimer.callback.reply import TIME_OVER
from wangtimer.callback.told import retry_after_ms
from wangtimer.core.alerts.alert_place import NOWHERE, AlertPlace
from wangtimer.core.alerts.alert_rule import AlertMarks
from wangtimer.core.flow.dead_letter import (
    BROKEN_OFF,
    NOT_CONNECTED,
    NOT_MADE,
    NOT_TAKEN,
    REFUSED,
    TIMED_OUT,
    Failure,
    of_status,
)
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.reply_control import CONTROL, ControlKind, ReplyControl, read_control
from wangtimer.core.retry import SAY_WHEN, RetryPolicy, policy_of
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.secret_parts import without
from wangtimer.executor.attempt import Attempt
from wangtimer.executor.claim import Held
from wangtimer.executor.settler import Finished
from wangtimer.store.replica import Replica

# The error on record of a firing that was answered with 410.
GONE_ERROR = (
    "HTTP 410: gone for good; the timer is disabled if it has moments to come and was not changed since"
)


class ReplyReader:
    """Any thread may use it. `usual` is the deployment's policy of retries, `retries` are those of apps."""

    def __init__(
        self,
        retries: Replica[Mapping[str, RetryPolicy]],
        usual: RetryPolicy,
        random: Random,
        marks: AlertMarks,
        clock: Clock,
    ) -> None:
        self._retries = retries
        self._usual = usual
        self._random = random
        self._marks = marks
        self._clock = clock

    def finished(self, attempt: Attempt, reply: Reply) -> Finished:
        """Return what goes on record of an attempt."""
        secrets = attempt.made.secrets
        hide = partial(_hidden, secrets, reply) if secrets else None
        outcome = self._of_success(attempt, reply) if reply.succeeded else self._of_failure(attempt, reply)
        if self._marks.has_rules:
            outcome = self._marks.noted(outcome, attempt.place)
        return Finished(attempt.held, outcome, hide)

    def failed(
        self,
        held: Held,
        due_at: int,
        error: str,
        bucket: int,
        reason: str = NOT_MADE,
        host: str = "",
        place: AlertPlace = NOWHERE,
    ) -> Finished:
        """Return "failed" without a call; `place` is whose it is, and where it would have gone."""
        now = int(self._clock.now_ms())
        outcome = Outcome(
            held.member,
            bucket,
            FiringStatus.FAILED,
            due_at,
            error=error,
            made_at=now,
            notes=(Failure(reason, host, now).note,),
        )
        return Finished(held, self.noted(outcome, place))

    def noted(self, outcome: Outcome, place: AlertPlace) -> Outcome:
        """Return the outcome, marked if the judge of alerts is to see it."""
        return self._marks.noted(outcome, place)

    def _of_success(self, attempt: Attempt, reply: Reply) -> Outcome:
        order, error, ack_ms = attempt.order, reply.shown_error, attempt.timeouts.ack_ms
        status, due_at = FiringStatus.SUCCEEDED, attempt.due_at_ms
        if ack_ms is not None and attempt.is_accepted_by(reply):
            status, due_at = FiringStatus.ACCEPTED, int(self._clock.now_ms()) + ack_ms
        outcome = _outcome(attempt, reply, status, due_at, error)
        if reply.told and order.form.allow_control:
            control, fault = self._control(attempt, reply)
            said = "; ".join(filter(None, (error, fault)))
            outcome = outcome._replace(error=said, notes=((CONTROL, control),) if control else ())
        return outcome

    def _of_failure(self, attempt: Attempt, reply: Reply) -> Outcome:
        order = attempt.order
        # Rules are known here: before, no call begins.
        policy = policy_of(order.retry, order.app, self._retries.known, self._usual)
        is_gone = policy.is_gone(_whole_status(reply))
        error = GONE_ERROR if is_gone else reply.shown_error
        wait_ms, now = self._wait_ms(attempt, reply, policy), int(self._clock.now_ms())
        if wait_ms is not None:
            return _outcome(attempt, reply, FiringStatus.PENDING, now + wait_ms, error)
        outcome = _outcome(attempt, reply, FiringStatus.FAILED, attempt.due_at_ms, error)
        # No host where the URL leads nowhere.
        fault, host = attempt.request.fault, attempt.request.host
        failure = Failure(NOT_MADE, "", now) if fault else Failure(failure_of(reply), host, now)
        if is_gone:
            gone = ReplyControl(order.version, ControlKind.GONE, order.target_version)
            outcome = outcome.with_note((CONTROL, gone.text))
        return outcome.with_note(failure.note)

    def _control(self, attempt: Attempt, reply: Reply) -> tuple[str, str]:
        """Return what an answer makes of its timer, as text, and what is wrong with it; one of both is empty."""
        try:
            now, member = int(self._clock.now_ms()), attempt.held.member
            control = read_control(reply.told, attempt.order.version, now, member.fire_at).text
        except ValueError as fault:
            return "", str(fault)
        return control, ""

    def _wait_ms(self, attempt: Attempt, reply: Reply, policy: RetryPolicy) -> int | None:
        """Return how long a failed firing waits for its next attempt; None: there is none."""
        if reply.is_refused:
            return None
        asked_ms = None
        if reply.told and reply.http_status in SAY_WHEN:
            asked_ms = retry_after_ms(reply.told, self._clock.now_ms())
        return policy.wait_ms(attempt.held.member.attempt, self._random, _whole_status(reply), asked_ms)


def _outcome(attempt: Attempt, reply: Reply, status: FiringStatus, due_at: int, error: str) -> Outcome:
    member, at_ms, was_sent = attempt.held.member, int(reply.sent_at_ms), reply.was_sent
    has_succeeded = status is FiringStatus.SUCCEEDED or status is FiringStatus.ACCEPTED
    return Outcome(
        member,
        attempt.bucket,
        status,
        due_at,
        at_ms if was_sent else None,
        at_ms - member.fire_at if was_sent else None,
        int(reply.cost_ms),
        reply.http_status,
        reply.output if attempt.order.keep_output.keeps(has_succeeded) else "",
        error,
        reply.connect_ms,
        reply.first_byte_ms,
        reply.host_failing_ms,
        None if was_sent else at_ms,
    )


def _whole_status(reply: Reply) -> int | None:
    """Return the status of a whole answer; None where it broke off, for then no answer counts."""
    return None if reply.error else reply.http_status


def _hidden(secrets: Sequence[str], reply: Reply, outcome: Outcome) -> Outcome:
    """Return an outcome without these secrets of its call; its error has some only where it quotes an answer."""
    is_quoted = reply.told or reply.broker is not None
    error = without(secrets, outcome.error) if is_quoted else outcome.error
    return outcome._replace(output=without(secrets, outcome.output), error=error)


def failure_of(reply: Reply) -> str:
    """Return in a word why a call failed."""
    if reply.is_refused:
        return REFUSED
    if reply.broker is not None:
        return NOT_TAKEN
    if not reply.was_sent:
        return NOT_CONNECTED
    if reply.error:
        return TIMED_OUT if reply.error.startswith(TIME_OVER) else BROKEN_OFF
    return BROKEN_OFF if reply.http_status is None else of_status(reply.http_status)
