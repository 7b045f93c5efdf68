"""The limit teller: tells callback processes, through Redis, how many calls each app may make."""

from dataclasses import dataclass
from typing import Protocol

from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.store.redis.call_limits import CallLimitStore


class LimitSource(Protocol):
    """Where operators' limits are."""

    def of_calls(self) -> dict[str, CallLimit]:
        """Return the limit of each app that has one; raises `StoreAway`."""


@dataclass(frozen=True, slots=True)
class LimitTeller:
    """Tells after each change, and again at sweeps: Redis may have been away, or have lost what it was told."""

    source: LimitSource
    call_limits: CallLimitStore

    def tell(self) -> None:
        """Write all limits; repeatable. Raises `StoreAway`.

        What was read before another change may be written after it: a sweep mends that.
        """
        self.call_limits.write(self.source.of_calls())

    def tell_again(self) -> None:
        """Write all limits if Redis has others, or has lost them. Raises `StoreAway`."""
        limits = self.source.of_calls()
        if self.call_limits.read() != limits:
            self.call_limits.write(limits)
