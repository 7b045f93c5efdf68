"""Failure: a failed attempt is made again as its retry policy says, or the firing has failed, and is a dead letter."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from wangtimer.callback import Reply
from wangtimer.callback.reply import TIME_OVER
from wangtimer.callback.reply_headers import retry_after_ms
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
from wangtimer.core.flow.reply_control import CONTROL, ControlKind, ReplyControl
from wangtimer.core.retry import SAY_WHEN, RetryPolicy, policy_of
from wangtimer.core.time.clock import Clock
from wangtimer.executor.attempt import Attempt
from wangtimer.store.replica import Replica

# Of each call: an order counts as true.
EVERY = bool
# The error on record of a firing that was answered with 410.
GONE_ERROR = (
    "HTTP 410: gone for good; the timer is disabled if it has moments to come and was not changed since"
)


@dataclass(frozen=True, slots=True)
class RetryReading:
    """A reading of failures. `usual` is the deployment's retry policy, `of_apps` are those of apps.

    They are known here: before, no call begins.
    """

    of_apps: Replica[Mapping[str, RetryPolicy]]
    usual: RetryPolicy
    random: Random
    clock: Clock
    concerns = EVERY

    def read(self, attempt: Attempt, reply: Reply, outcome: Outcome) -> Outcome:
        """Return it pending until the next attempt, if there is one; a 410 disables the timer instead."""
        order = attempt.order
        policy = policy_of(order.retry, order.app, self.of_apps.known, self.usual)
        wait_ms, now = self._wait_ms(attempt, reply, policy), int(self.clock.now_ms())
        if wait_ms is not None:
            return outcome._replace(status=FiringStatus.PENDING, due_at=now + wait_ms)
        if not policy.is_gone(_whole_status(reply)):
            return outcome
        gone = ReplyControl(order.version, ControlKind.GONE, order.target_version)
        return outcome._replace(error=GONE_ERROR).with_note((CONTROL, gone.text))

    def _wait_ms(self, attempt: Attempt, reply: Reply, policy: RetryPolicy) -> int | None:
        """Return how long a failed firing waits for its next attempt; None: there is none."""
        if reply.is_refused:
            return None
        asked_ms = None
        if reply.told and reply.http_status in SAY_WHEN:
            asked_ms = retry_after_ms(reply.told, self.clock.now_ms())
        return policy.wait_ms(attempt.held.member.attempt, self.random, _whole_status(reply), asked_ms)


@dataclass(frozen=True, slots=True)
class DeadLetterReading:
    """A reading of failures after which there is no other attempt."""

    clock: Clock
    concerns = EVERY

    def read(self, attempt: Attempt, reply: Reply, outcome: Outcome) -> Outcome:
        """Return it with why it failed, of which a dead letter is made when it is settled."""
        if outcome.status is not FiringStatus.FAILED:
            return outcome
        request, now = attempt.request, int(self.clock.now_ms())
        # No host where the URL leads nowhere.
        failure = (
            Failure(NOT_MADE, "", now) if request.fault else Failure(failure_of(reply), request.host, now)
        )
        return outcome.with_note(failure.note)


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


def _whole_status(reply: Reply) -> int | None:
    """Return the status of a whole answer; None where it broke off, for then no answer counts."""
    return None if reply.error else reply.http_status
