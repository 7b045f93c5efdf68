"""What the stages need of time: the one clock of a deployment, and this process's own stop-watch.

Only the protocols are here. `wangtimer.store.redis.clock` reads the real time from the agenda's node;
`wangtimer.testing.doubles` has a clock that is moved by hand.
"""

from typing import Protocol


class Clock(Protocol):
    """The time of the deployment and of this process."""

    def now_ms(self) -> float:
        """Return the deployment's time, ms since 1970-01-01 UTC; as far as is known, never later than the true time."""
        ...

    def monotonic(self) -> float:
        """Return seconds of this process's own stop-watch: for leases and time-outs, never for moments."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...


class LeaseClock(Clock, Protocol):
    """A clock that may be set back or ahead while leases run: they go by the times on both sides of such a step."""

    def latest_ms(self) -> float:
        """Return now by the latest clock reading of the last seconds: leases are written by it."""
        ...

    def earliest_ms(self) -> float:
        """Return now by the earliest clock reading of the last seconds: leases are taken back by it."""
        ...
