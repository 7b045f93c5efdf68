"""What a call of an app with a limit needs before it is sent."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from wangtimer.core.flow.slicing import SharedLane


class Permit(NamedTuple):
    """Leave for one call, which is to begin by `begins_by` (seconds of the stop-watch)."""

    name: str
    begins_by: float


# A permit; or the lane to wait in, as a limit leaves no call now, or a pause none; or None: nobody knows, since Redis
# or the limits are away.
PermitAnswer = Permit | SharedLane | None


class Permits(Protocol):
    """The limits of apps and the pauses, as the engine sees them. Every method is quick: no I/O."""

    def is_limited(self, app: str, host: str) -> bool:
        """Tell whether calls of this app to this host and port need a permit."""

    def ask(self, app: str, host: str, has_waited: bool, answer: Callable[[PermitAnswer], None]) -> None:
        """Ask for a permit; `answer` is called once, soon, by any thread.

        While others wait in the lane of the limit, only a call that has waited in a lane gets one.
        """

    def give_back(self, app: str, permit: Permit, *, is_unused: bool) -> None:
        """Give back a permit: its call has ended, or none was made with it."""


class NoLimits:
    """No app has a limit."""

    def is_limited(self, _app: str, _host: str) -> bool:
        """Return False."""
        return False

    def ask(self, _app: str, _host: str, _has_waited: bool, answer: Callable[[PermitAnswer], None]) -> None:
        """Answer that nobody knows: nobody asks."""
        answer(None)

    def give_back(self, _app: str, _permit: Permit, *, is_unused: bool) -> None:
        """Do nothing: there is none."""
