"""Which groups have connected consumers, as the stream processes tell."""

from collections.abc import Callable
from threading import Lock

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.messages.consumer_group import ConsumerGroup
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

log = structlog.get_logger()

# A stream process tells of its groups every second. A group of which nothing was told for so long has no consumer.
PRESENT_S = 10
# s; what was read is believed so long.
BELIEVED_FOR_S = 1.0


class ConsumersSeen:
    """Read by executors, for targets with a fallback. While Redis cannot be read, what was last read is believed."""

    def __init__(self, connection: RedisConnection, keys: Keys, clock: Clock) -> None:
        self._connection = connection
        self._key = keys.consumers_seen
        self._bytes_key = keys.consumer_bytes
        self._clock = clock
        self._reading = Lock()
        self._read_at = float("-inf")
        self._present: frozenset[str] | None = None

    def is_connected(self, group: ConsumerGroup) -> bool:
        """Tell whether a consumer of the group was connected within the last 10 s; True while nobody knows."""
        with self._reading:
            if self._clock.monotonic() - self._read_at >= BELIEVED_FOR_S:
                try:
                    self._read()
                finally:
                    # Not before: a Redis that hangs would hold up each firing for longer than this is believed.
                    self._read_at = self._clock.monotonic()
            return self._present is None or group.key in self._present

    def count(self) -> int:
        """Return how many groups have connected consumers; raises `StoreAway`."""
        since = self._since()
        return int(self._connection.command(lambda client: client.zcount(self._key, since, "+inf")))

    def waiting_bytes(self) -> int:
        """Return how much waits for consumers of all groups; raises `StoreAway`."""
        read: Callable[..., str | None] = lambda client: client.hget(self._bytes_key, "")  # noqa: E731
        return int(self._connection.command(read) or 0)

    def _since(self) -> int:
        return int(self._clock.now_ms()) - PRESENT_S * 1_000

    def _read(self) -> None:
        since = self._since()
        read: Callable[..., list[str]] = lambda client: client.zrangebyscore(self._key, since, "+inf")  # noqa: E731
        try:
            self._present = frozenset(self._connection.command(read))
        except StoreAway as error:
            log.info("consumers_unread", error=str(error))


def stream_listeners(connection: RedisConnection, keys: Keys) -> int:
    """Return how many stream processes listen for new entries; raises `StoreAway`, `NoPermissionError`."""
    told = connection.command(lambda client: client.pubsub_numsub(keys.consumers_came))
    return sum(int(number) for _, number in told)
