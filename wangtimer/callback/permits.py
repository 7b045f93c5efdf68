"""What a call to which a limit applies needs before it is sent."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from wangtimer.core.flow.slicing import SharedLane


class Permit(NamedTuple):
    """Leave of one limit, that of the lane, for one call, which is to begin by `begins_by` (s of the stop-watch).

    It is for a call that takes `longest_ms` at most; 0: as long as calls without time-outs of their own.
    """

    name: str
    begins_by: float
    lane: SharedLane
    longest_ms: int = 0


# What a call gets: its permits, one of each limit. Or the lane in which it is to wait: a limit leaves no call now, or
# an operator paused it. Or None: nobody knows, since Redis is away or the limits were never read.
PermitAnswer = tuple[Permit, ...] | SharedLane | None


class Permits(Protocol):
    """The limits and the pauses, as the engine sees them. Every method is quick: no I/O."""

    def may_begin(self, app: str, host: str, permits: Sequence[Permit], longest_ms: int) -> bool:
        """Tell whether a call of this app to this host and port needs no other permits than these.

        `longest_ms` is how long the call may take; 0: as long as calls without time-outs of their own, here and below.
        """

    def is_open(self, app: str, host: str) -> bool:
        """Tell whether no pause holds calls of this app to this host and port; False while nobody knows."""

    def ask(
        self,
        app: str,
        host: str,
        has_waited: bool,
        held: tuple[Permit, ...],
        longest_ms: int,
        answer: Callable[[PermitAnswer], None],
    ) -> None:
        """Ask for the permits that a call needs beside those `held`; `answer` is called once, soon, by any thread.

        While others wait in the lane of a limit, only a call that has waited in a lane gets its permit. Where a call
        does not get all, those that it has are given back.
        """

    def give_back(self, permits: Sequence[Permit], *, is_unused: bool) -> None:
        """Give back permits: their call has ended, or none was made with them."""
