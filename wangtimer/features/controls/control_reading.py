"""Controls: an answer may say what becomes of its timer."""

from dataclasses import dataclass
from operator import attrgetter

from wangtimer.callback import Reply
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.reply_control import CONTROL, read_control
from wangtimer.core.time.clock import Clock
from wangtimer.executor.attempt import Attempt


@dataclass(frozen=True, slots=True)
class ControlReading:
    """A reading of successes of timers that allow it. What the answer got wrong is in the outcome's error."""

    clock: Clock
    concerns = attrgetter("form.allow_control")

    def read(self, attempt: Attempt, reply: Reply, outcome: Outcome) -> Outcome:
        """Return it with the control on record, to be carried out once it is settled."""
        if not reply.told:
            return outcome
        now, member = int(self.clock.now_ms()), attempt.held.member
        try:
            control = read_control(reply.told, attempt.order.version, now, member.fire_at).text
        except ValueError as fault:
            return outcome._replace(error="; ".join(filter(None, (outcome.error, str(fault)))))
        return outcome.with_note((CONTROL, control)) if control else outcome
