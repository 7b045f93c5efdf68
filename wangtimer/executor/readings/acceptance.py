"""Acceptance: a target that answers 202 goes on to work, and says later that it is done."""

from dataclasses import dataclass
from operator import attrgetter

from wangtimer.callback import Reply
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.clock import Clock
from wangtimer.executor.attempt import Attempt


@dataclass(frozen=True, slots=True)
class AcceptanceReading:
    """A reading of successes: the firing is accepted, and fails unless its target is done in time.

    A deployment without a key takes no such word: there this is not among the readings.
    """

    clock: Clock
    concerns = attrgetter("timeouts.ack_ms")

    def read(self, attempt: Attempt, reply: Reply, outcome: Outcome) -> Outcome:
        """Return it accepted, until its target has to be done."""
        ack_ms = attempt.timeouts.ack_ms
        if ack_ms is None or not attempt.is_accepted_by(reply):
            return outcome
        return outcome._replace(status=FiringStatus.ACCEPTED, due_at=int(self.clock.now_ms()) + ack_ms)
