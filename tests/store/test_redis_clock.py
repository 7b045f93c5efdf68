"""The one clock: Redis' time at its reply's arrival, never ahead of it, the best sample of the last minute."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from redis import Redis

from wangtimer.core.errors import StoreAway
from wangtimer.store.redis import clock as clock_module
from wangtimer.store.redis.clock import SAMPLES_LIVE_S, RedisClock
from wangtimer.store.redis.connection import RedisConnection

REDIS_STARTED_AT_S = 1_800_000_000.0


class World:
    """A stop-watch moved by hand, and a Redis whose time is `REDIS_STARTED_AT_S` + the stop-watch + `ahead_s`."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.ahead_s = 0.0
        self.there_s = self.back_s = 0.0
        self.reconnected_at = 0.0
        self.away = False
        self.reconnects = self

    # as the module `time`

    def monotonic(self) -> float:
        return self.seconds

    # as a RedisConnection and its client

    @property
    def seconds_since(self) -> float:
        return self.seconds - self.reconnected_at

    def command(self, work: Callable[[Any], Any]) -> Any:
        if self.away:
            raise StoreAway("Redis", "switched away")
        return work(SimpleNamespace(time=self._time))

    def _time(self) -> tuple[int, int]:
        self.seconds += self.there_s
        now = REDIS_STARTED_AT_S + self.seconds + self.ahead_s
        self.seconds += self.back_s
        return int(now), round(now % 1 * 1_000_000)

    @property
    def true_ms(self) -> float:
        return (REDIS_STARTED_AT_S + self.seconds + self.ahead_s) * 1_000


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr(clock_module, "time", world)
    return world


@pytest.fixture
def clock(world: World) -> RedisClock:
    clock = RedisClock(world)
    clock.sample()
    return clock


def error_ms(world: World, clock: RedisClock) -> float:
    return round(clock.now_ms() - world.true_ms, 2)


def test_the_clock_goes_on_between_samples(world: World, clock: RedisClock) -> None:
    assert error_ms(world, clock) == 0
    world.seconds += 7.25
    assert error_ms(world, clock) == 0


@pytest.mark.parametrize(("there_s", "back_s"), [(0.2, 0.0), (0.0, 0.2), (0.1, 0.1)])
def test_a_slow_reply_never_makes_the_clock_fast(world: World, there_s: float, back_s: float) -> None:
    clock = RedisClock(world)
    world.there_s, world.back_s = there_s, back_s
    clock.sample()
    assert error_ms(world, clock) == -back_s * 1_000


def test_the_quickest_reply_of_the_last_minute_counts(world: World, clock: RedisClock) -> None:
    world.back_s = 0.3
    for _ in range(5):
        world.seconds += 10
        clock.sample()
    assert error_ms(world, clock) == 0


def test_a_sample_older_than_a_minute_counts_no_more(world: World, clock: RedisClock) -> None:
    world.ahead_s = -0.05  # this process' stop-watch runs a little fast
    world.seconds += SAMPLES_LIVE_S + 1
    assert error_ms(world, clock) == 50
    clock.sample()
    assert error_ms(world, clock) == 0


def test_a_redis_whose_time_stepped_forward_is_followed_at_once(world: World, clock: RedisClock) -> None:
    world.ahead_s = 2.0
    clock.sample()
    assert error_ms(world, clock) == 0


def test_after_a_reconnect_sampling_starts_anew(world: World, clock: RedisClock) -> None:
    world.seconds += 10
    world.reconnected_at = world.seconds
    world.ahead_s = -2.0  # another node, with another clock
    clock.sample()
    assert error_ms(world, clock) == 0


def test_the_clock_goes_on_while_redis_is_away(world: World, clock: RedisClock) -> None:
    world.away = True
    with pytest.raises(StoreAway):
        clock.sample()
    world.seconds += 3_600
    assert error_ms(world, clock) == 0


def test_there_is_no_time_before_redis_first_answered(world: World) -> None:
    world.away = True
    with pytest.raises(StoreAway):
        RedisClock(world).now_ms()


@pytest.fixture
def real(store_url: str) -> Iterator[RedisConnection]:
    with closing(RedisConnection(store_url)) as connection:
        yield connection


def test_the_clock_is_never_ahead_of_redis_and_hardly_behind(real: RedisConnection, store_url: str) -> None:
    clock = RedisClock(real)
    with closing(Redis.from_url(store_url)) as raw:
        behind = []
        for _ in range(50):
            now_ms = clock.now_ms()
            seconds, microseconds = raw.time()
            behind.append(seconds * 1_000 + microseconds / 1_000 - now_ms)
    assert min(behind) >= 0
    assert min(behind) < 50


def test_the_stop_watch_is_this_process_own(real: RedisConnection) -> None:
    clock = RedisClock(real)
    before = time.monotonic()
    clock.sleep(0)
    assert before <= clock.monotonic() <= time.monotonic()
