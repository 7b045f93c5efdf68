"""Pauses: what is paused has not begun, and stands in the way of no other firing."""

from dataclasses import dataclass

from wangtimer.core.flow.call_order import CallOrder
from wangtimer.executor.case import Case
from wangtimer.executor.claim import Held
from wangtimer.executor.waits import Waits


@dataclass(frozen=True, slots=True)
class PauseStep:
    """A step about what an operator paused."""

    waits: Waits

    concerns = None

    def rule(self, case: Case) -> None:
        """Note the lanes of those that are paused: later steps do not ask about them."""
        if not self.waits.are_any_paused:
            return
        for due, _, definition in case.going():
            target = case.shared.targets.get((definition.app, definition.notify.target))
            host = CallOrder(definition, target).where.host
            lane = self.waits.pause_of(Held(case.claim, due.member), definition.app, host)
            if lane is not None:
                case.paused[due.member] = lane
