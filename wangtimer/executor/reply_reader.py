"""The reply reader: turns the end of a call into the outcome that goes on record."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from wangtimer.callback import Reply
from wangtimer.core.alerts.alert_place import NOWHERE, AlertPlace
from wangtimer.core.alerts.alert_rule import AlertMarks
from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.dead_letter import NOT_MADE, Failure
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.secret_parts import without
from wangtimer.executor.attempt import Attempt
from wangtimer.executor.claim import Held
from wangtimer.executor.settler import Finished


class Reading(Protocol):
    """What a feature makes of the end of a call. Any thread may use it."""

    @property
    def concerns(self) -> Callable[[CallOrder], object]:
        """Tells of which calls it is asked. Let it be a function of C: it is asked of a plain firing too."""

    def read(self, attempt: Attempt, reply: Reply, outcome: Outcome) -> Outcome:
        """Return the outcome as the readings before left it, or what this one makes of it."""


class ReplyReader:
    """Any thread may use it. After a success, or a failure, each of its readings is asked in order."""

    def __init__(
        self,
        after_success: Sequence[Reading],
        after_failure: Sequence[Reading],
        marks: AlertMarks,
        clock: Clock,
    ) -> None:
        self._after_success = [(reading.concerns, reading.read) for reading in after_success]
        self._after_failure = [(reading.concerns, reading.read) for reading in after_failure]
        self._marks = marks
        self._clock = clock

    def finished(self, attempt: Attempt, reply: Reply) -> Finished:
        """Return what goes on record of an attempt."""
        order, has_succeeded = attempt.order, reply.succeeded
        outcome = _outcome(attempt, reply, has_succeeded)
        for concerns, read in self._after_success if has_succeeded else self._after_failure:
            if concerns(order):
                outcome = read(attempt, reply, outcome)
        if self._marks.has_rules:
            outcome = self._marks.noted(outcome, attempt.place)
        secrets = attempt.made.secrets
        return Finished(attempt.held, outcome, partial(_hidden, secrets, reply) if secrets else None)

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


def _outcome(attempt: Attempt, reply: Reply, has_succeeded: bool) -> Outcome:
    """Return the outcome of a call that no reading has a say about."""
    member, at_ms, was_sent = attempt.held.member, int(reply.sent_at_ms), reply.was_sent
    return Outcome(
        member,
        attempt.bucket,
        FiringStatus.SUCCEEDED if has_succeeded else FiringStatus.FAILED,
        attempt.due_at_ms,
        at_ms if was_sent else None,
        at_ms - member.fire_at if was_sent else None,
        int(reply.cost_ms),
        reply.http_status,
        reply.output if attempt.order.keep_output.keeps(has_succeeded) else "",
        reply.shown_error if reply.is_again or not has_succeeded else "",
        reply.connect_ms,
        reply.first_byte_ms,
        reply.host_failing_ms,
        None if was_sent else at_ms,
    )


def _hidden(secrets: Sequence[str], reply: Reply, outcome: Outcome) -> Outcome:
    """Return an outcome without these secrets of its call; its error has some only where it quotes an answer."""
    is_quoted = reply.told or reply.broker is not None
    error = without(secrets, outcome.error) if is_quoted else outcome.error
    return outcome._replace(output=without(secrets, outcome.output), error=error)
