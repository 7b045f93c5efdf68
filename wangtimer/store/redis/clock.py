"""The one clock of a deployment: the time of the Redis node with the agenda, and what a process believes of it."""

import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

from wangtimer.base.loop import Loop
from wangtimer.core.errors import StoreAway
from wangtimer.store.redis.connection import RedisConnection

# The best answer of the last so many seconds counts: after that the two clocks may have drifted apart.
SAMPLES_LIVE_S = 60.0
# So long after a step, leases go by both times. By then every process that holds or takes back leases has noticed the
# step, and holders have renewed in the new time (an idle process looks every 10 s, a holder renews every 2 s).
STEP_LASTS_S = 15.0
# A minute's samples, at up to 4 a second.
MOST_SAMPLES = 256


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer: Redis' time minus the stop-watch lies from `least_ms` to `most_ms`; `came_at` in s of the stop-watch.

    Redis read its time after the question was sent and before its answer came.
    """

    least_ms: float
    most_ms: float
    came_at: float

    def contradicts(self, other: "Sample") -> bool:
        """Tell whether one clock cannot have given both."""
        return self.least_ms > other.most_ms or self.most_ms < other.least_ms


class TimeBelief:
    """What one process believes of Redis' time: the answers that carry it also show when a clock was set.

    Offsets of Redis' time from the stop-watch, ms; None before the first answer.

    `now_ms` is a lower bound: the best of the answers that the latest does not contradict. So a clock that was set back
    or ahead, or another node's, counts from its first answer. `latest_ms` and `earliest_ms` are the extremes believed
    in the last `STEP_LASTS_S`: leases are written by `latest_ms` and taken back by `earliest_ms`.
    """

    def __init__(self) -> None:
        self.now_ms: float | None = None
        self.latest_ms = self.earliest_ms = 0.0
        self._samples: deque[Sample] = deque(maxlen=MOST_SAMPLES)
        # (until when it was believed, the offset)
        self._replaced: deque[tuple[float, float]] = deque(maxlen=MOST_SAMPLES)

    @property
    def came_at(self) -> float:
        """When the latest answer came, s of the stop-watch."""
        return self._samples[-1].came_at if self._samples else float("-inf")

    def note(self, redis_ms: float, sent_at: float, came_at: float, since: float = float("-inf")) -> None:
        """Take in an answer; those that came before `since` (s of the stop-watch) were another server's.

        An answer whose question was sent before the last answer came is left out: it may be the older of the two.
        """
        if sent_at < self.came_at:
            return
        new = Sample(redis_ms - came_at * 1_000, redis_ms - sent_at * 1_000, came_at)
        oldest = max(came_at - SAMPLES_LIVE_S, since)
        kept = [
            sample for sample in self._samples if sample.came_at >= oldest and not new.contradicts(sample)
        ]
        self._samples = deque([*kept, new], maxlen=MOST_SAMPLES)
        self._believe(max(sample.least_ms for sample in self._samples), came_at)

    def _believe(self, offset_ms: float, at: float) -> None:
        if self.now_ms is not None and self.now_ms != offset_ms:
            self._replaced.append((at, self.now_ms))
        while self._replaced and self._replaced[0][0] < at - STEP_LASTS_S:
            self._replaced.popleft()
        offsets = [offset_ms, *(offset for _, offset in self._replaced)]
        self.latest_ms, self.earliest_ms = max(offsets), min(offsets)
        self.now_ms = offset_ms


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

    def __init__(self, redis: RedisConnection) -> None:
        self._connection = redis
        self._belief = TimeBelief()
        self._asked_at = float("-inf")
        self._is_sampling = False
        self._starting, self._noting = Lock(), Lock()
        self._loop = Loop("clock", self._sample_if_none_came, SAMPLE_EVERY_S)
        redis.bring_time_to(self)

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
