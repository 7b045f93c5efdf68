"""What follows once SQL has outcomes: a list of what is to be done with them. What is lost here, a sweep does."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from wangtimer.core.flow.firing import MemberKey
from wangtimer.core.flow.reply_control import CONTROL
from wangtimer.executor.settler import Finished


@dataclass(frozen=True, slots=True)
class LetNextGo:
    """Ends what is on record of firings that are done, of timers whose firings are not to overlap."""

    end: Callable[[Collection[MemberKey]], None]

    def __call__(self, settled: Sequence[Finished]) -> None:
        """Let the next one of each of these timers go."""
        done = {
            held.member.key
            for held, outcome, *_ in settled
            if held.member in held.claim.begun and outcome.is_done
        }
        if done:
            self.end(done)


@dataclass(frozen=True, slots=True)
class HaveControlsApplied:
    """Asks for what answers make of their timers to be done: it is on record with their outcomes."""

    ask: Callable[[], None]

    def __call__(self, settled: Sequence[Finished]) -> None:
        """Ask, if there is something."""
        # Most outcomes have no notes: they pay for no call.
        noted = [finished.outcome for finished in settled if finished.outcome.notes]
        if any(outcome.note(CONTROL) for outcome in noted):
            self.ask()
