"""What is to become of a firing that a process holds, as the steps before a call find."""

from dataclasses import dataclass

from wangtimer.core.flow.firing import Firing


@dataclass(frozen=True, slots=True)
class Send:
    """It is to be sent: its row is pending, at this attempt, in this slice or lane, and due."""

    row: Firing


@dataclass(frozen=True, slots=True)
class Skip:
    """It is not made, for this reason; `row` is its row."""

    reason: str
    row: Firing


@dataclass(frozen=True, slots=True)
class PutBack:
    """It cannot be judged now, or it is too early: it waits until this moment, ms UTC."""

    until: int


@dataclass(frozen=True, slots=True)
class Drop:
    """It is over: its outcome is known, or its row stands elsewhere; `row` is set if it must be added there."""

    row: Firing | None


@dataclass(frozen=True, slots=True)
class Fail:
    """No node could read or judge it in time: it has failed, for this reason."""

    reason: str


Verdict = Send | Skip | PutBack | Drop | Fail
