"""What follows once SQL has outcomes: a list of what is to be done with them.

What is lost here, a sweep does: outcomes that were parked while SQL was away do not come here, nor what a process that
died had before it.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from wangtimer.core.flow.firing import MemberKey
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
