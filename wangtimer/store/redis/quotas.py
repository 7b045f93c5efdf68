"""Quotas of apps over time, counted in Redis by all processes together.

A quota is counted by windows that all processes cut alike, so that one command tells both what is left and until when.
In the worst case two windows' worth comes at once, at the border between them.
"""

from dataclasses import dataclass
from typing import Any

import structlog
from limits.storage import RedisStorage

from wangtimer.core.apps.described_limits import AppLimit
from wangtimer.core.errors import Limited, StoreAway, TooFast
from wangtimer.core.time.clock import Clock
from wangtimer.store.app_directory import AppDirectory
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

log = structlog.get_logger()

# s that nothing is counted after Redis did not answer, so that not each request waits for it.
REST_S = 1.0


@dataclass(frozen=True, slots=True)
class Quota:
    """At most `most` of something, by its name, in each window of `window_ms`."""

    name: str
    most: int
    window_ms: int

    @property
    def window_s(self) -> int:
        """The window in whole seconds, rounded up."""
        return -(-self.window_ms // 1_000)


@dataclass(frozen=True, slots=True)
class QuotaTaken:
    """How much of a quota was granted, how much is left, and in how many seconds (1 or more) it is whole again."""

    quota: Quota
    granted: int
    left: int
    resets_in_s: int


class Quotas:
    """Counts quotas. While Redis is away nothing is counted, and all is granted. For several threads."""

    def __init__(self, redis: RedisConnection, keys: Keys, clock: Clock) -> None:
        self._redis = redis
        self._clock = clock
        self._rests_until = float("-inf")
        # The library wants a URL, and connects by the pool.
        self._storage = RedisStorage("redis://", redis.pool, keys.quotas)

    def take(self, app: str, quota: Quota, wanted: int = 1) -> QuotaTaken | None:
        """Take as much as is left of an app's quota, up to `wanted`; None: it is not counted now."""
        if self._clock.monotonic() < self._rests_until:
            return None
        try:
            number, into_ms = divmod(int(self._clock.now_ms()), quota.window_ms)
            key = f"{quota.name}:{number}:{app}"
            before = self._move(key, quota, wanted) - wanted
            granted = max(0, min(wanted, quota.most - before))
            if wanted > 1 and granted < wanted:
                # What is refused leaves what is left to others.
                self._move(key, quota, granted - wanted)
        except StoreAway as error:
            self._rests_until = self._clock.monotonic() + REST_S
            log.warning("quota_not_counted", quota=quota.name, app=app, error=str(error))
            return None
        resets_in_s = -(-(quota.window_ms - into_ms) // 1_000)
        return QuotaTaken(quota, granted, max(0, quota.most - before - granted), resets_in_s)

    def give_back(self, app: str, taken: QuotaTaken, number: int) -> None:
        """Give back what was not used of what was taken a moment ago."""
        if not number:
            return
        try:
            window = int(self._clock.now_ms()) // taken.quota.window_ms
            self._move(f"{taken.quota.name}:{window}:{app}", taken.quota, -number)
        except StoreAway as error:
            log.warning("quota_not_given_back", quota=taken.quota.name, app=app, error=str(error))

    def _move(self, key: str, quota: Quota, by: int) -> int:
        # A window longer than its time: clocks of the processes differ a little.
        expiry_s = quota.window_s + 1

        def move(_: Any) -> int:
            return self._storage.incr(key, expiry_s, by)

        return self._redis.command(move)


HOUR_MS = 3_600_000
NAME = "replays"


@dataclass(frozen=True, slots=True)
class Granted:
    """How many firings may be made now; `taken` of the app's quota, None: that is not counted."""

    app: str
    number: int
    taken: QuotaTaken | None = None


@dataclass(frozen=True, slots=True)
class ReplayQuota:
    """How many firings an app may replay and backfill within an hour; all while Redis is away."""

    app_directory: AppDirectory
    quotas: Quotas

    def take(self, app: str, wanted: int) -> Granted:
        """Return how many of the wanted firings may be made; raises `TooFast` where it would be none of them."""
        most = self.app_directory.limits_of(app).of(AppLimit.REPLAYS_PER_HOUR)
        if most is None or not wanted:
            return Granted(app, wanted)
        taken = self.quotas.take(app, Quota(NAME, most, HOUR_MS), wanted)
        if taken is None:
            return Granted(app, wanted)
        if not taken.granted:
            raise TooFast(
                Limited.REPLAYS,
                f"app {app!r} has replayed and backfilled {most:,} firings within this hour, and may do no more",
                taken.resets_in_s,
            )
        return Granted(app, taken.granted, taken)

    def give_back(self, granted: Granted, used: int) -> None:
        """Give back what was granted a moment ago and not used."""
        if granted.taken is not None:
            self.quotas.give_back(granted.app, granted.taken, granted.number - used)


@dataclass(frozen=True, slots=True)
class ControlPace:
    """How soon answers may give timers their next moments, by `firingsPerSecond`: the last one taken, by app."""

    redis: RedisConnection
    keys: Keys
    clock: Clock
    app_directory: AppDirectory

    def is_kept(self, app: str) -> bool:
        """Tell whether an app has such a limit."""
        return self._most(app) is not None

    def next_free(self, app: str) -> int:
        """Take an app's next free moment, ms UTC; 0 where it has no limit, or while Redis is away."""
        most = self._most(app)
        if most is None:
            return 0
        arguments = [int(self.clock.now_ms()) * 1_000, 1_000_000 // most]
        try:
            return int(self.redis.run("control_pace", [self.keys.control_pace(app)], arguments)) // 1_000
        except StoreAway as error:
            log.warning("controls_not_paced", app=app, error=str(error))
            return 0

    def _most(self, app: str) -> int | None:
        return self.app_directory.limits_of(app).of(AppLimit.FIRINGS_PER_SECOND)
