"""What executors know of connected consumers while Redis hangs."""

from typing import Any, cast

import pytest
from redis.exceptions import NoPermissionError

from wangtimer.core.errors import StoreAway
from wangtimer.core.messages.consumer_group import ConsumerGroup
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.consumers import BELIEVED_FOR_S, ConsumersSeen
from wangtimer.store.redis.keys import Keys
from wangtimer.testing.doubles.hand_clock import HandClock

HANGS_S = 3.0
GROUP = ConsumerGroup("shop", "work")


class HangingRedis:
    """Answers nothing until the time-out of the connection is over."""

    def __init__(self, clock: HandClock, error: Exception | None = None) -> None:
        self.clock = clock
        self.waits = 0
        self.error = StoreAway("Redis", "it hangs") if error is None else error

    def command(self, _read: Any) -> Any:
        self.waits += 1
        self.clock.sleep(HANGS_S)
        raise self.error


def test_while_redis_hangs_many_firings_share_one_wait() -> None:
    clock = HandClock()
    redis = HangingRedis(clock)
    seen = ConsumersSeen(cast("RedisConnection", redis), Keys("test"), clock)
    assert all(seen.is_connected(GROUP) for _ in range(100))
    assert redis.waits == 1
    clock.sleep(BELIEVED_FOR_S)
    assert all(seen.is_connected(GROUP) for _ in range(100))
    assert redis.waits == 2


def test_what_redis_refuses_is_asked_for_once_a_second_too() -> None:
    clock = HandClock()
    redis = HangingRedis(clock, NoPermissionError("NOPERM"))
    seen = ConsumersSeen(cast("RedisConnection", redis), Keys("test"), clock)
    with pytest.raises(NoPermissionError):
        seen.is_connected(GROUP)
    assert all(seen.is_connected(GROUP) for _ in range(100))
    assert redis.waits == 1
