"""What processes tell each other in one key of Redis: strain, refusals, queues taken, a web process, a grace."""

import time
from collections.abc import Iterable
from contextlib import suppress
from secrets import token_hex
from typing import Any

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.strain import COUNTS_MS
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.replica import ReplicaTexts


class StrainMark:
    """The word of strain, a key that expires: while it counts, the migrator plans more slowly. None without Redis."""

    def __init__(self, redis: RedisConnection, keys: Keys) -> None:
        self._connection = redis
        self._key = keys.strain

    def tell(self) -> None:
        """Let it count from now for `COUNTS_MS`."""
        with suppress(StoreAway):
            self._connection.command(lambda client: client.set(self._key, 1, px=COUNTS_MS))

    def counts(self) -> bool:
        """Tell whether some process is strained."""
        try:
            return bool(self._connection.command(lambda client: client.exists(self._key)))
        except StoreAway:
            return False


class RefusalCount:
    """How many connections the rules of egress refused, in all callback processes, since Redis last lost data."""

    def __init__(self, redis: RedisConnection, keys: Keys) -> None:
        self._connection = redis
        self._key = keys.refusals

    def add(self, number: int) -> None:
        """Count so many more; raises `StoreAway`."""
        self._connection.command(lambda client: client.incrby(self._key, number))

    def total(self) -> int:
        """Return the count; raises `StoreAway`."""
        return int(self._connection.command(lambda client: client.get(self._key)) or 0)


class QueueWorkers:
    """Which own queues have a callback process; such processes note that they are there. Raises `StoreAway`."""

    def __init__(self, redis: RedisConnection, keys: Keys, clock: Clock) -> None:
        self._connection = redis
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


# s. A process that is there writes the mark so often, and the mark of one that has ended stays so long.
TELL_EVERY_S, STAYS_S = 2.0, 6.0
LOOK_EVERY_S = 0.2


def tell_web(connection: RedisConnection, keys: Keys) -> None:
    """Say that a web process is there; raises `StoreAway`."""
    connection.command(lambda client: client.set(keys.web, token_hex(8), px=int(STAYS_S * 1_000)))


def web_runs(connection: RedisConnection, keys: Keys) -> bool:
    """Tell whether a web process writes the mark. It waits until the mark changes or is gone; raises `StoreAway`."""
    first = found = _read(connection, keys)
    while found is not None and found == first:
        time.sleep(LOOK_EVERY_S)
        found = _read(connection, keys)
    return found is not None


def _read(connection: RedisConnection, keys: Keys) -> object:
    return connection.command(lambda client: client.get(keys.web))


# After an outage no accepted firing ends for so long: a target that got 503 repeats its word well within it.
GRACE_MS = 60_000
_NAME = "ack-grace"


class AckGrace:
    """The grace of accepted firings: while SQL was away, no target could say that it is done.

    In Redis: when a sweep last read SQL, and from when on firings end; moments in ms UTC.

    Without a word for `silent_ms`, SQL or the sweeps were away. Where Redis has lost it, what this process wrote
    counts.
    """

    def __init__(self, replica_texts: ReplicaTexts, silent_ms: int) -> None:
        self._texts = replica_texts
        self._silent_ms = silent_ms
        self._written = ""

    def is_over(self, now: int) -> bool:
        """Note that a sweep has read SQL; tell whether accepted firings end. Raises `StoreAway`."""
        (text,) = self._texts.read([_NAME])
        text = self._written if text is None else text
        read_at, ends_from = map(int, (text or "0 0").split())
        if abs(now - read_at) > self._silent_ms:
            ends_from = now + GRACE_MS
        self._write(f"{now} {ends_from}")
        return now >= ends_from

    def begin_anew(self) -> None:
        """Note that SQL is away; what fails here, the silence tells."""
        with suppress(StoreAway):
            self._write("")

    def _write(self, text: str) -> None:
        self._written = text
        self._texts.write(_NAME, text)
