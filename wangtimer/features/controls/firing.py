"""What controls have a say in: an answer is read for one, and once it is settled somebody is asked to carry it out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from wangtimer.core.flow.reply_control import CONTROL
from wangtimer.core.time.clock import Clock
from wangtimer.executor.note_teller import NoteTeller
from wangtimer.executor.reply_reader import Reading
from wangtimer.executor.settler import AfterSettled, Finished
from wangtimer.features.controls.control_reading import ControlReading


class ControlParts(Protocol):
    """The parts of a process that are needed."""

    clock: Clock
    control_teller: NoteTeller[None, None]


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


def after_success(parts: ControlParts) -> list[Reading]:
    """Return what reads answers."""
    return [ControlReading(parts.clock)]


def after_settled(parts: ControlParts) -> list[AfterSettled]:
    """Return what asks for controls to be carried out."""
    ask = parts.control_teller.note
    return [HaveControlsApplied(lambda: ask(None, None))]
