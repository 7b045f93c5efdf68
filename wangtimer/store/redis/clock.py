"""The one clock of a deployment: the time of the Redis node that holds the agenda."""

import time
from contextlib import suppress
from threading import Lock

from wangtimer.core.errors import StoreAway
from wangtimer.loop import Loop
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.time_belief import TimeBelief

# A process that got no time from Redis for so long asks for it.
SAMPLE_EVERY_S = 10.0
FIRST_SAMPLES = 5
# s; how often the time comes along with a script, and with plain commands. So a process that arms, claims or renews
# learns of a step at once, and idling costs hardly a command more.
WITH_SCRIPTS_S, WITH_COMMANDS_S = 0.25, 3.0


class RedisClock:
    """Redis TIME when its reply arrived, plus the stop-watch since: a lower bound, so that nobody fires early.

    The time comes along with other commands. So the next command shows a step of Redis' clock, or another node's clock
    after a failover. `TimeBelief` says which answers count.
    """

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._belief = TimeBelief()
        self._asked_at = float("-inf")
        self._is_sampling = False
        self._starting, self._noting = Lock(), Lock()
        self._loop = Loop("clock", self._sample_if_none_came, SAMPLE_EVERY_S)
        connection.bring_time_to(self)

    def now_ms(self) -> float:
        """Return ms since 1970-01-01 UTC; raises `StoreAway` only while no time was ever read."""
        if not self._is_sampling:
            self._start()
        assert self._belief.now_ms is not None
        return time.monotonic() * 1_000 + self._belief.now_ms

    def latest_ms(self) -> float:
        """Return now by the latest clock reading of the last 15 s; a lease written by it outlasts a step back."""
        self.now_ms()
        return time.monotonic() * 1_000 + self._belief.latest_ms

    def earliest_ms(self) -> float:
        """Return now by the earliest clock reading of the last 15 s; by it no step ahead ends a living lease."""
        self.now_ms()
        return time.monotonic() * 1_000 + self._belief.earliest_ms

    def monotonic(self) -> float:
        """Return seconds of this process's stop-watch."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        time.sleep(seconds)

    def sample(self) -> None:
        """Read Redis' time once more; raises `StoreAway`."""
        sent_at = time.monotonic()
        seconds, microseconds = self._connection.command(lambda client: client.time())
        self.note(seconds, microseconds, sent_at)

    def wants_time(self, is_script: bool) -> bool:
        """Tell whether the time is to come along with this command; if so, it counts as asked for."""
        now = time.monotonic()
        if now - self._asked_at < (WITH_SCRIPTS_S if is_script else WITH_COMMANDS_S):
            return False
        self._asked_at = now
        return True

    def note(self, seconds: int, microseconds: int, sent_at: float) -> None:
        """Take in a TIME that came just now; `sent_at` is when it was asked for, s of the stop-watch."""
        with self._noting:
            came_at = time.monotonic()
            since = came_at - self._connection.reconnects.seconds_since
            self._belief.note(seconds * 1_000 + microseconds / 1_000, sent_at, came_at, since)

    def _start(self) -> None:
        with self._starting:
            if self._is_sampling:
                return
            for _ in range(FIRST_SAMPLES):
                self.sample()
            self._is_sampling = True
            self._loop.start()

    def _sample_if_none_came(self) -> float | None:
        """Ask for the time if none came for so long; return when the latest one is that old, in seconds."""
        fresh_for_s = self._belief.came_at + SAMPLE_EVERY_S - time.monotonic()
        if fresh_for_s > 0:
            return max(0.1, fresh_for_s)
        with suppress(StoreAway):  # not worth a line in the log each time
            self.sample()
        return None
