"""The limits of an app, described once: the API, the command line and the operator's defaults follow."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from wangtimer.core.apps.registered_app import RegisteredApp


class AppLimit(StrEnum):
    """One limit, by its name in the API and in the app's row."""

    CALLS_PER_SECOND = "callsPerSecond"
    CALLS_AT_ONCE = "callsAtOnce"
    CALLS_PER_SECOND_TO_ONE_HOST = "callsPerSecondToOneHost"
    CALLS_AT_ONCE_TO_ONE_HOST = "callsAtOnceToOneHost"
    TIMERS = "timers"
    FIRINGS_PER_SECOND = "firingsPerSecond"
    REQUESTS_PER_SECOND = "requestsPerSecond"
    REQUESTS_AT_ONCE = "requestsAtOnce"
    REPLAYS_PER_HOUR = "replaysPerHour"
    CALENDAR_BYTES = "calendarBytes"
    TIMER_BYTES = "timerBytes"


@dataclass(frozen=True, slots=True)
class Described:
    """What a limit bounds, in words, and the highest value it may have."""

    words: str
    most: int


DESCRIBED: Mapping[AppLimit, Described] = {
    AppLimit.CALLS_PER_SECOND: Described("callbacks a second, at most", 100_000),
    AppLimit.CALLS_AT_ONCE: Described("callbacks under way at once, at most", 100_000),
    AppLimit.CALLS_PER_SECOND_TO_ONE_HOST: Described(
        "callbacks a second to each target host and port, at most", 100_000
    ),
    AppLimit.CALLS_AT_ONCE_TO_ONE_HOST: Described(
        "callbacks under way at once to each target host and port, at most", 100_000
    ),
    AppLimit.TIMERS: Described("timers, at most; deleted ones do not count", 100_000_000),
    AppLimit.FIRINGS_PER_SECOND: Described(
        "firings a second that the enabled timers plan, at most; each recurring timer counts as on a day on which it "
        "fires, one-shots do not count",
        1_000_000,
    ),
    AppLimit.REQUESTS_PER_SECOND: Described("requests a second to the API, at most, on average", 100_000),
    AppLimit.REQUESTS_AT_ONCE: Described(
        "requests to the API at once, at most; they are counted by windows, as long as so many last at the average",
        1_000_000,
    ),
    AppLimit.REPLAYS_PER_HOUR: Described("firings replayed and backfilled an hour, at most", 100_000_000),
    AppLimit.CALENDAR_BYTES: Described(
        "bytes of all its calendars as they are stored, at most", 1_000_000_000
    ),
    AppLimit.TIMER_BYTES: Described(
        "bytes of the calls and excluded days of all its timers as they are stored, at most; deleted ones do not count",
        1_000_000_000_000,
    ),
}


# Those held against a total, which is kept only for apps with one of them.
COUNTED_LIMITS = frozenset(
    {AppLimit.TIMERS.value, AppLimit.FIRINGS_PER_SECOND.value, AppLimit.TIMER_BYTES.value}
)


@dataclass(frozen=True, slots=True)
class LimitsInForce:
    """The limits of one app: its own, else the operator's defaults. One that is absent does not bound it."""

    own: Mapping[str, float]
    defaults: Mapping[AppLimit, int]

    def of(self, limit: AppLimit) -> int | None:
        """Return a limit; None: there is none."""
        found = self.own.get(limit, self.defaults.get(limit))
        return None if found is None else int(found)


def limits_in_force(app: RegisteredApp | None, defaults: Mapping[AppLimit, int]) -> LimitsInForce:
    """Return the limits of an app; None: nothing is known of it, and the defaults count."""
    return LimitsInForce({} if app is None else app.limits, defaults)
