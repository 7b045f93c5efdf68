"""What takes prepared firings and sends each at its moment, whichever way it goes out."""

from collections.abc import Iterable
from typing import Protocol

from wangtimer.callback.call import Call
from wangtimer.callback.health import Health
from wangtimer.core.flow.slicing import SharedLane, WayKey


class Delivery(Protocol):
    """One way out, or several in one. Each submitted call ends as `Call` says, with a `Reply` in its terms.

    Nothing is sent before its moment; `may_send` is asked right before. Any thread may use it.
    """

    def start(self) -> None:
        """Start sending; once, in the process that uses it."""

    def submit(self, calls: Iterable[Call], /) -> None:
        """Take calls to send at their moments; raises `EngineStopped` after `stop`, and has none of them then."""

    def stop(self, timeout_s: float) -> list[Call]:
        """Take no more; return those not sent, and those without an end after `timeout_s`; once."""

    @property
    def has_calls_waiting(self) -> bool:
        """Whether calls have come due and wait for a place."""

    def room_in(self, lane: SharedLane) -> int:
        """Return how many more calls of a lane could start at once."""

    def failing(self) -> dict[WayKey, Health]:
        """Return the parts of hosts that are failing now, for an app's calls each."""

    def health_of(self, key: WayKey) -> Health | None:
        """Return the health of a part of a host for an app's calls; None if it has none of its own."""
