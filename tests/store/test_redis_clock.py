"""The one clock: Redis' time at its reply's arrival, never ahead of it; a clock that is put counts at once."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from redis import Redis

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.slicing import Slice
from wangtimer.store.redis import clock as clock_module
from wangtimer.store.redis.clock import (
    SAMPLES_LIVE_S,
    STEP_LASTS_S,
    WITH_COMMANDS_S,
    WITH_SCRIPTS_S,
    RedisClock,
    TimeBelief,
)
from wangtimer.store.redis.connection import RedisConnection, TimeListener
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.slices import Leases, SliceStore

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

    def bring_time_to(self, listener: TimeListener) -> None:
        pass

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
    clock._is_sampling = True  # no thread of its own: the test says when it looks
    clock.sample()
    return clock


def error_ms(world: World, clock: RedisClock) -> float:
    return round(clock.now_ms() - world.true_ms, 2)


def test_the_clock_goes_on_between_samples(world: World, clock: RedisClock) -> None:
    assert error_ms(world, clock) == 0
    world.seconds += 7.25
    assert error_ms(world, clock) == 0


@pytest.mark.parametrize(("there_s", "back_s"), [(0.2, 0.0), (0.0, 0.2), (0.1, 0.1)])
def test_a_slow_reply_never_makes_the_clock_fast(
    world: World, clock: RedisClock, there_s: float, back_s: float
) -> None:
    clock._belief = TimeBelief()
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


@pytest.mark.parametrize("back_s", [0.01, 10.0, 3_600.0])
def test_a_redis_whose_clock_was_put_back_is_believed_at_its_first_answer(
    world: World, clock: RedisClock, back_s: float
) -> None:
    for _ in range(5):
        world.seconds += 1
        clock.sample()
    world.ahead_s = -back_s
    clock.sample()
    assert error_ms(world, clock) == 0


def test_after_a_step_back_a_slow_answer_is_never_ahead_either(world: World, clock: RedisClock) -> None:
    world.ahead_s, world.there_s, world.back_s = -10.0, 0.5, 0.5
    clock.sample()
    assert error_ms(world, clock) == -500


def test_a_slow_answer_that_contradicts_nothing_changes_nothing(world: World, clock: RedisClock) -> None:
    world.there_s, world.back_s = 2.0, 0.7
    clock.sample()
    assert error_ms(world, clock) == 0


def test_an_answer_asked_for_before_the_last_one_came_says_nothing_of_a_step(
    world: World, clock: RedisClock
) -> None:
    asked_at, before = world.seconds, world.true_ms
    world.seconds += 1
    world.ahead_s = -10.0
    clock.sample()
    world.seconds += 1
    clock.note(int(before // 1_000), round(before % 1_000 * 1_000), asked_at)
    assert error_ms(world, clock) == 0


@pytest.mark.parametrize("step_s", [-10.0, 20.0])
def test_leases_go_by_both_clocks_for_a_while_after_a_step(
    world: World, clock: RedisClock, step_s: float
) -> None:
    world.ahead_s = step_s
    clock.sample()
    assert round(clock.latest_ms() - clock.now_ms()) == max(0, -step_s * 1_000)
    assert round(clock.now_ms() - clock.earliest_ms()) == max(0, step_s * 1_000)
    world.seconds += STEP_LASTS_S - 1
    clock.sample()
    assert round(clock.latest_ms() - clock.earliest_ms()) == abs(step_s) * 1_000
    world.seconds += 2
    clock.sample()
    assert clock.latest_ms() == clock.now_ms() == clock.earliest_ms()


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


def test_the_time_comes_along_with_scripts_and_plain_commands_but_not_with_each(
    world: World, clock: RedisClock
) -> None:
    wanted = []
    for _ in range(int(WITH_COMMANDS_S / WITH_SCRIPTS_S)):
        world.seconds += WITH_SCRIPTS_S
        wanted.append((clock.wants_time(is_script=True), clock.wants_time(is_script=True)))
    assert wanted == [(True, False)] * len(wanted)
    assert not clock.wants_time(is_script=False)
    world.seconds += WITH_COMMANDS_S
    assert clock.wants_time(is_script=False)
    assert not clock.wants_time(is_script=False)


class Listener:
    """Wants the time with everything."""

    def __init__(self) -> None:
        self.noted: list[float] = []
        self.asked_for_scripts: list[bool] = []

    def wants_time(self, is_script: bool) -> bool:
        self.asked_for_scripts.append(is_script)
        return True

    def note(self, seconds: int, microseconds: int, sent_at: float) -> None:
        assert sent_at <= time.monotonic()
        self.noted.append(seconds + microseconds / 1_000_000)


def test_what_is_run_brings_the_time_and_its_own_answer(real: RedisConnection) -> None:
    real.run("unlock", ["nobody's"], ["token"])  # a script that Redis does not know is asked for twice
    listener = Listener()
    real.bring_time_to(listener)
    assert real.run("unlock", ["nobody's"], ["token"]) == 0
    assert real.run_all([], lambda pipe: pipe.exists("nothing")) == [0]
    assert len(listener.noted) == 2
    assert abs(listener.noted[0] - time.time()) < 5


def test_what_is_polled_brings_the_time_as_seldom_as_plain_commands_do(real: RedisConnection) -> None:
    listener = Listener()
    real.bring_time_to(listener)
    real.run("unlock", ["nobody's"], ["token"])
    real.run("unlock", ["nobody's"], ["token"], is_polled=True)
    assert listener.asked_for_scripts == [True, False]


def test_a_process_that_claims_has_looked_at_the_time(real: RedisConnection) -> None:
    clock = RedisClock(real)
    slices = SliceStore(real, Keys("clock"), clock, Leases(1_000, 5_000, 8_000, 6_000))
    clock.now_ms()
    came_at = clock._belief.came_at
    clock._asked_at = float("-inf")
    slices.claim(Slice(1, 0), "claim", [Member(1, 1, 1)])
    assert clock._belief.came_at > came_at
