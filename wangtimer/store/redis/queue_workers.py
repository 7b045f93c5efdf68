"""Which own queues have a callback process that takes their messages."""

from collections.abc import Iterable
from typing import Any

from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys


class QueueWorkers:
    """Callback processes note here, again and again, that they are there; both methods raise `StoreAway`."""

    def __init__(self, connection: RedisConnection, keys: Keys, clock: Clock) -> None:
        self._connection = connection
        self._key = keys.queue_workers
        self._clock = clock

    def note(self, queues: Iterable[str]) -> None:
        """Note that a process of these queues is there now."""
        now = int(self._clock.now_ms())
        seen = dict.fromkeys(queues, now)

        def write(client: Any) -> None:
            client.hset(self._key, mapping=seen)

        self._connection.command(write)

    def seen(self) -> dict[str, int]:
        """Return when a process of each queue was last there, ms UTC."""

        def read(client: Any) -> Any:
            return client.hgetall(self._key)

        found: dict[str, str] = self._connection.command(read)
        return {queue: int(moment) for queue, moment in found.items()}
