"""Permits: as many calls of a limited app begin as its limit leaves, in whatever process."""

from contextlib import closing
from dataclasses import replace

import pytest
from redis import Redis

from tests.store.members import due_at
from tests.store.worlds import TIMEOUT_MS, HotWorld
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.redis.clock import RedisClock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.permits import MARGIN_MS, PermitOrder, PermitStore, Permitted

APP = "shop"
LANE = SharedLane.of_limit(APP)


def order(token: str = "a", per_second: float | None = None, at_once: int | None = None) -> PermitOrder:
    return PermitOrder(LANE, CallLimit(per_second, at_once), token)


def given(hot: HotWorld, order: PermitOrder) -> Permitted:
    (permitted,) = hot.permits.carry_out([order])
    return permitted


def number(hot: HotWorld, order: PermitOrder) -> int:
    permitted = given(hot, order)
    return len(permitted.to_waited + permitted.to_fresh)


def test_no_more_calls_are_under_way_than_may_be_at_once(hot: HotWorld) -> None:
    assert given(hot, replace(order("a", at_once=3), fresh=2)).to_fresh == ("a:0", "a:1")
    assert given(hot, replace(order("b", at_once=3), fresh=2)).to_fresh == ("b:0",)
    assert number(hot, replace(order("c", at_once=3), fresh=2)) == 0


def test_a_permit_that_comes_back_is_given_again(hot: HotWorld) -> None:
    given(hot, replace(order("a", at_once=2), fresh=2))
    assert number(hot, replace(order("b", at_once=2), fresh=2, back=("a:1",))) == 1


def test_a_permit_that_came_back_before_frees_no_other(hot: HotWorld) -> None:
    given(hot, replace(order("a", at_once=2), fresh=2))
    assert number(hot, replace(order("b", at_once=2), fresh=2, back=("a:1", "a:1"))) == 1
    assert number(hot, replace(order("c", at_once=2), fresh=2, back=("a:1",))) == 0


def test_a_dead_process_permits_end_once_its_calls_surely_have(hot: HotWorld) -> None:
    given(hot, replace(order("a", at_once=2), fresh=2))
    hot.clock.sleep((TIMEOUT_MS + MARGIN_MS - 1) / 1_000)
    assert number(hot, replace(order("b", at_once=2), fresh=2)) == 0
    hot.clock.sleep(0.001)
    assert number(hot, replace(order("b", at_once=2), fresh=2)) == 2


def test_a_dead_process_permits_for_long_calls_last_as_long_as_those_may(hot: HotWorld) -> None:
    given(hot, replace(order("a", at_once=3), fresh=1))
    given(hot, replace(order("b", at_once=3), fresh=1, longest_ms=60_000))
    given(hot, replace(order("c", at_once=3), fresh=1))
    given(hot, replace(order("d", at_once=3), longest_ms=60_000, prolonged=("c:0",)))
    hot.clock.sleep((TIMEOUT_MS + MARGIN_MS) / 1_000)
    assert number(hot, replace(order("e", at_once=3), fresh=3)) == 1
    hot.clock.sleep((60_000 - TIMEOUT_MS) / 1_000)
    assert number(hot, replace(order("f", at_once=3), fresh=3)) == 3


def test_a_prolonged_permit_that_redis_lost_counts_again(hot: HotWorld) -> None:
    given(hot, replace(order("a", at_once=1), fresh=1))
    hot.lose_all()
    given(hot, replace(order("b", at_once=1), longest_ms=60_000, prolonged=("a:0",)))
    assert number(hot, replace(order("c", at_once=1), fresh=1)) == 0


def test_an_order_repeated_since_its_answer_was_lost_counts_no_permit_twice(hot: HotWorld) -> None:
    asked = replace(order("a", at_once=5), fresh=3)
    given(hot, asked)
    again = given(hot, asked).to_fresh
    assert set(again) <= {"a:0", "a:1", "a:2"}
    assert number(hot, replace(order("b", at_once=5), fresh=9)) == 2


def test_calls_a_second_begin_at_their_rate(hot: HotWorld) -> None:
    begun = 0
    for _ in range(200):
        begun += number(hot, replace(order(per_second=100), fresh=500))
        hot.clock.sleep(0.05)
    assert 10 * 100 - 5 <= begun <= 10 * 100 + CallLimit(100).burst


@pytest.mark.parametrize("per_second", [0.5, 5, 7.3])
def test_a_low_rate_loses_nothing_between_looks(hot: HotWorld, per_second: float) -> None:
    begun = 0
    for _ in range(800):
        begun += number(hot, replace(order(per_second=per_second), fresh=5))
        hot.clock.sleep(0.05)
    assert 40 * per_second - 1 <= begun <= 40 * per_second + 1 + CallLimit(per_second).burst


def test_a_quiet_second_stores_up_no_more_than_a_tenth_of_one(hot: HotWorld) -> None:
    assert number(hot, replace(order(per_second=100), fresh=500)) == 11
    hot.clock.sleep(60)
    assert number(hot, replace(order(per_second=100), fresh=500)) == 11


def test_two_processes_share_one_rate(hot: HotWorld) -> None:
    begun = 0
    for _ in range(100):
        for token in ("a", "b"):
            begun += number(hot, replace(order(token, per_second=100), fresh=500))
            hot.clock.sleep(0.05)
    assert begun <= 10 * 100 + CallLimit(100).burst


def test_an_unused_permit_gives_its_part_of_the_second_back(hot: HotWorld) -> None:
    given(hot, replace(order(per_second=10), fresh=9))
    assert number(hot, replace(order(per_second=10), fresh=9, unused=1)) == 1
    assert number(hot, replace(order(per_second=10), fresh=9)) == 0


def test_it_is_told_when_the_next_call_may_begin(hot: HotWorld) -> None:
    wait_ms = given(hot, replace(order(per_second=4), fresh=9)).wait_ms
    assert 0 < wait_ms <= 250
    hot.clock.sleep((wait_ms - 1) / 1_000)
    assert number(hot, replace(order(per_second=4), fresh=9)) == 0
    hot.clock.sleep(0.001)
    assert number(hot, replace(order(per_second=4), fresh=9)) == 1


def test_both_limits_hold(hot: HotWorld) -> None:
    assert number(hot, replace(order("a", per_second=100, at_once=4), fresh=9)) == 4
    assert number(hot, replace(order("b", per_second=10, at_once=400), fresh=90)) <= 7


@pytest.mark.parametrize("none", [{"per_second": 0}, {"at_once": 0}])
def test_a_limit_of_0_holds_all_calls(hot: HotWorld, none: dict[str, int]) -> None:
    for _ in range(3):
        assert number(hot, replace(order(**none), fresh=9, waited=9)) == 0
        hot.clock.sleep(60)


def test_who_has_not_waited_does_not_overtake_who_waits(hot: HotWorld) -> None:
    hot.lanes.add({LANE: [due_at(hot.clock.now_ms() - 5, 1)]}, is_repair=False)
    permitted = given(hot, replace(order(at_once=9), fresh=2, waited=2))
    assert (len(permitted.to_waited), len(permitted.to_fresh)) == (2, 0)


def test_who_waits_for_a_moment_to_come_is_not_overtaken(hot: HotWorld) -> None:
    hot.lanes.add({LANE: [due_at(hot.clock.now_ms() + 500, 1)]}, is_repair=False)
    assert number(hot, replace(order("a", at_once=9), fresh=2)) == 2
    hot.clock.sleep(0.5)
    assert number(hot, replace(order("b", at_once=9), fresh=2)) == 0


def test_who_waits_in_sql_alone_is_not_overtaken(hot: HotWorld) -> None:
    many = [due_at(hot.clock.now_ms() - 5, timer_id) for timer_id in range(1, 40)]
    hot.lanes.add({LANE: many}, is_repair=False)
    hot.lanes.pull(LANE, "me/1", 1_000, keep_leases=False)
    assert number(hot, replace(order(at_once=9), fresh=2)) == 0


def test_the_first_permits_are_for_who_has_waited(hot: HotWorld) -> None:
    permitted = given(hot, replace(order(at_once=3), fresh=2, waited=2))
    assert (len(permitted.to_waited), len(permitted.to_fresh)) == (2, 1)


def test_permits_that_nobody_gives_back_end_though_the_clock_was_put_back(hot: HotWorld) -> None:
    given(hot, replace(order("a", at_once=2, per_second=100), fresh=2))
    hot.clock._now_ms -= 3_600_000
    assert number(hot, replace(order("b", at_once=2, per_second=100), fresh=2)) == 0
    hot.clock.sleep((TIMEOUT_MS + MARGIN_MS) / 1_000)
    assert number(hot, replace(order("b", at_once=2, per_second=100), fresh=2)) == 2


def test_a_lost_redis_gives_permits_again(hot: HotWorld) -> None:
    given(hot, replace(order("a", at_once=2), fresh=2))
    hot.lose_all()
    assert number(hot, replace(order("b", at_once=2), fresh=2)) == 2


def test_a_rate_leaves_no_trace_in_redis_once_it_has_stored_up_all_it_may(redis_url: str) -> None:
    """An app that calls ever new hosts left a key for each, for a day."""
    with closing(RedisConnection(redis_url)) as connection, closing(Redis.from_url(redis_url)) as raw:
        permits = PermitStore(connection, Keys("test"), RedisClock(connection), TIMEOUT_MS)
        permits.carry_out([replace(order("a", per_second=5), fresh=1)])
        (left_s,) = (raw.ttl(key) for key in raw.scan_iter("test:*") if raw.type(key) == b"hash")
        assert 30 <= left_s <= 120
