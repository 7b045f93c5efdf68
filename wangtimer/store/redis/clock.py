"""The one clock of a deployment: the time of the Redis node that holds the agenda."""

import threading
import time
from collections import deque
from dataclasses import dataclass

from wangtimer.core.errors import StoreAway
from wangtimer.store.redis.connection import RedisConnection

SAMPLE_EVERY_S = 10.0
SAMPLES_LIVE_S = 60.0
FIRST_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Sample:
    """Redis' time less this process's stop-watch, ms, and when it was taken, s of the stop-watch."""

    offset_ms: float
    taken_at: float


class RedisClock:
    """Redis TIME at its reply's arrival, plus the stop-watch since.

    Every sample is a lower bound, for the reply was under way, so nobody fires early; the highest of the last
    minute is the best. After a reconnect sampling starts anew: it may be another node.
    """

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._samples: deque[Sample] = deque(maxlen=64)
        self._offset_ms: float | None = None
        self._starting = threading.Lock()

    def now_ms(self) -> float:
        """Return ms since 1970-01-01 UTC; raises `StoreAway` only while no time was ever read."""
        if self._offset_ms is None:
            self._start()
        assert self._offset_ms is not None
        return time.monotonic() * 1_000 + self._offset_ms

    def monotonic(self) -> float:
        """Return seconds of this process's stop-watch."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        time.sleep(seconds)

    def sample(self) -> None:
        """Read Redis' time once more; raises `StoreAway`."""
        seconds, microseconds = self._connection.command(lambda client: client.time())
        arrived_at = time.monotonic()
        offset_ms = seconds * 1_000 + microseconds / 1_000 - arrived_at * 1_000
        self._samples.append(Sample(offset_ms, arrived_at))
        oldest = max(arrived_at - SAMPLES_LIVE_S, arrived_at - self._connection.reconnects.seconds_since)
        self._offset_ms = max(one.offset_ms for one in self._samples if one.taken_at >= oldest)

    def _start(self) -> None:
        with self._starting:
            if self._offset_ms is not None:
                return
            for _ in range(FIRST_SAMPLES):
                self.sample()
            threading.Thread(target=self._keep_sampling, name="clock", daemon=True).start()

    def _keep_sampling(self) -> None:
        while True:
            time.sleep(SAMPLE_EVERY_S)
            try:
                self.sample()
            except StoreAway:
                continue
