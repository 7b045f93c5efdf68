"""How many firings are planned into each minute: what decides their buckets."""

from typing import Any

from wangtimer.core.slicing import MINUTE_MS
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import DAY_S, Keys


class MinuteLoad:
    """A counter a minute; a hint only: each row holds its bucket, so a lost counter moves nothing."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._keys = keys

    def reserve(self, counts: dict[int, int]) -> dict[int, int]:
        """Count firings into minutes; return for each minute how many it had before."""

        def count(pipe: Any) -> None:
            for minute, number in counts.items():
                key = self._keys.load(minute)
                pipe.incrby(key, number)
                pipe.expireat(key, minute * MINUTE_MS // 1_000 + DAY_S)

        answers = self._connection.run_all([], count)
        return {
            minute: total - number
            for (minute, number), total in zip(counts.items(), answers[::2], strict=True)
        }
