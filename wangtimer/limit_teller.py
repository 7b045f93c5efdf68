"""The limit teller: tells callback processes, through Redis, how many calls each app may make."""

from dataclasses import dataclass, field
from typing import Protocol

from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.store.redis.call_limits import CallLimitStore

# Where no app has a limit, so many sweeps after one that told so tell nothing: with nothing to do, Redis is left alone.
QUIET_SWEEPS = 11


class LimitSource(Protocol):
    """Where operators' limits are."""

    def of_calls(self) -> dict[str, CallLimit]:
        """Return the limit of each app that has one; raises `StoreAway`."""


@dataclass(slots=True)
class LimitTeller:
    """Tells after each change, and again at sweeps: Redis may have been away, or have lost what it was told."""

    source: LimitSource
    call_limits: CallLimitStore
    _quiet: int = field(default=0, init=False)

    def tell(self) -> None:
        """Write all limits; repeatable. Raises `StoreAway`.

        What was read before another change may be written after it: a sweep mends that.
        """
        self._write(self.source.of_calls())

    def tell_again(self) -> None:
        """Write all limits, seldom where there is none. Raises `StoreAway`."""
        limits = self.source.of_calls()
        if limits or self._quiet <= 0:
            self._write(limits)
        else:
            self._quiet -= 1

    def _write(self, limits: dict[str, CallLimit]) -> None:
        self.call_limits.write(limits)
        self._quiet = 0 if limits else QUIET_SWEEPS
