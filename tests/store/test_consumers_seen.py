"""What executors know of connected consumers while Redis hangs."""

from typing import Any, cast

from wangtimer.core.errors import StoreAway
from wangtimer.core.messages.consumer_group import ConsumerGroup
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.consumers_seen import BELIEVED_FOR_S, ConsumersSeen
from wangtimer.store.redis.keys import Keys
from wangtimer.testing.doubles.hand_clock import HandClock

HANGS_S = 3.0
GROUP = ConsumerGroup("shop", "work")


class HangingRedis:
    """Answers nothing until the time-out of the connection is over."""

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.waits = 0

    def command(self, _read: Any) -> Any:
        self.waits += 1
        self.clock.sleep(HANGS_S)
        raise StoreAway("Redis", "it hangs")


def test_while_redis_hangs_many_firings_share_one_wait() -> None:
    clock = HandClock()
    redis = HangingRedis(clock)
    seen = ConsumersSeen(cast("RedisConnection", redis), Keys("test"), clock)
    assert all(seen.is_connected(GROUP) for _ in range(100))
    assert redis.waits == 1
    clock.sleep(BELIEVED_FOR_S)
    assert all(seen.is_connected(GROUP) for _ in range(100))
    assert redis.waits == 2
