"""What many timers share: a firing waits whose app's secret, or whose target, nobody can tell."""

from dataclasses import dataclass

from wangtimer.executor.case import Case
from wangtimer.executor.shared import SharedSource
from wangtimer.executor.verifier import Verifier


@dataclass(frozen=True, slots=True)
class SharedStep:
    """A step about secrets and targets that are not known yet: it asks SQL for them."""

    source: SharedSource
    verifier: Verifier

    concerns = None

    def rule(self, case: Case) -> None:
        """Let those wait for which one cannot be told."""
        lacking = [going for going in case.going() if not case.shared.suffices_for(going.definition)]
        self.source.ask([going.definition for going in lacking], case.shared)
        for due, _, definition in lacking:
            if not case.shared.suffices_for(definition):
                case.verdicts[due.member] = self.verifier.wait(due)
