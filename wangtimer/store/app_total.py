"""What counts against an app's limits of timers and planned firings."""

from collections.abc import Iterable
from dataclasses import dataclass

from wangtimer.core.apps.described_limits import AppLimit, LimitsInForce
from wangtimer.core.errors import Limited, LimitReached
from wangtimer.core.kinds.kinds import firings_a_day
from wangtimer.core.time.zones import DAY_S
from wangtimer.core.timers.timer import Timer

# More than any app has.
UNBOUNDED = 2**62


@dataclass(frozen=True, slots=True)
class Total:
    """Living timers, firings a day that enabled ones plan, bytes of their calls and days; or a growth of these."""

    timers: int = 0
    firings_a_day: int = 0
    bytes: int = 0

    def __add__(self, other: "Total") -> "Total":
        """Return both together."""
        return Total(
            self.timers + other.timers,
            self.firings_a_day + other.firings_a_day,
            self.bytes + other.bytes,
        )

    def __sub__(self, other: "Total") -> "Total":
        """Return what is left of it without the other."""
        return Total(
            self.timers - other.timers,
            self.firings_a_day - other.firings_a_day,
            self.bytes - other.bytes,
        )

    @property
    def grows(self) -> bool:
        """Whether, as a change, it makes a total larger."""
        return self.timers > 0 or self.firings_a_day > 0 or self.bytes > 0


NOTHING = Total()
WITHOUT_LIMIT = Total(UNBOUNDED, UNBOUNDED, UNBOUNDED)


def counted(timer: Timer) -> Total:
    """Return a living timer's count without its bytes; one whose last firing is planned has no firings."""
    plans = timer.definition.is_enabled and timer.next_fire_at is not None
    return Total(1, firings_a_day(timer.definition.schedule) if plans else 0)


def together(totals: Iterable[Total]) -> Total:
    """Return all of these together."""
    return sum(totals, NOTHING)


def most_of(limits: LimitsInForce) -> Total:
    """Return how much an app with these limits may have."""
    most, a_second = limits.of(AppLimit.TIMERS), limits.of(AppLimit.FIRINGS_PER_SECOND)
    most_bytes = limits.of(AppLimit.TIMER_BYTES)
    return Total(
        UNBOUNDED if most is None else most,
        UNBOUNDED if a_second is None else a_second * DAY_S,
        UNBOUNDED if most_bytes is None else most_bytes,
    )


def refusal(app: str, stands: Total, by: Total, most: Total) -> LimitReached | None:
    """Return the error if an app's total may not grow so far; None if it may, or it does not grow."""
    would_be = stands + by
    if by.timers > 0 and would_be.timers > most.timers:
        return LimitReached(
            Limited.TIMERS,
            f"app {app!r} would have {would_be.timers:,} timers, and may have {most.timers:,}",
            "delete some, or ask an operator for a higher limit",
        )
    if by.bytes > 0 and would_be.bytes > most.bytes:
        return LimitReached(
            Limited.TIMERS,
            f"the timers of app {app!r} would take {would_be.bytes:,} bytes, calls and excluded days together, and may "
            f"take {most.bytes:,}",
            "delete some, give them a named target or a shorter body, or ask an operator for a higher limit",
        )
    if by.firings_a_day > 0 and would_be.firings_a_day > most.firings_a_day:
        return LimitReached(
            Limited.FIRINGS,
            f"the enabled timers of app {app!r} would plan {_a_second(would_be)} firings a second, and may plan "
            f"{_a_second(most)}",
            "let timers fire less often, disable some, or ask an operator for a higher limit",
        )
    return None


def _a_second(total: Total) -> str:
    text = f"{total.firings_a_day / DAY_S:,.5f}"
    return text.rstrip("0").rstrip(".")
