"""How many firings are planned into each minute: this decides their buckets, and how many minutes Redis holds."""

from typing import Any

from wangtimer.core.errors import StoreAway
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys


class MinuteLoad:
    """A counter a minute, in one hash; the feeder drops those of minutes that have passed.

    A lost counter moves no firing: each row holds its bucket.
    """

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._keys = keys

    def reserve(self, counts: dict[int, int]) -> dict[int, int]:
        """Count firings into minutes; return for each minute how many it had before."""

        def count(pipe: Any) -> None:
            for minute, number in counts.items():
                pipe.hincrby(self._keys.load, str(minute), number)

        answers = self._connection.run_all([], count)
        return {
            minute: total - number for (minute, number), total in zip(counts.items(), answers, strict=True)
        }


def planned_before(load: MinuteLoad, counts: dict[int, int]) -> dict[int, int]:
    """Count firings into minutes; return how many each minute had before; empty while Redis is away."""
    try:
        return load.reserve(counts) if counts else {}
    except StoreAway:
        return {}
