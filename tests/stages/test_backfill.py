"""Ranges that are past, fired because somebody asked."""

from collections.abc import Callable

import pytest

from tests.stages.world import APP, World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import InvalidInput, UnknownTimer
from wangtimer.core.flow.firing import FiringKind, FiringStatus
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule
from wangtimer.core.timers.timer import NewTimer, Notify
from wangtimer.timers.on_demand import LONGEST_RANGE_MS, Rate

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
FAST = Rate(1_000)


@pytest.fixture
def idle(make_world: Callable[..., World]) -> World:
    return make_world(executors=0)


def test_each_moment_of_the_range_fires_once_though_the_timer_is_disabled(world: World) -> None:
    timer = world.created("* * * * *")
    until = world.now // HOUR_MS * HOUR_MS
    done = world.on_demand.backfill(APP, timer.id, until - 10 * MINUTE_MS, until, FAST)
    wanted = [until - minutes * MINUTE_MS for minutes in range(9, -1, -1)]
    assert [firing.fire_at for firing in done.firings] == wanted
    assert (done.matched, done.remaining, done.next_since) == (10, 0, None)
    world.run_for(10)
    assert sorted(world.target.moments(timer.id)) == wanted
    assert {one.firing.kind for one in world.records(timer)} == {FiringKind.BACKFILL}
    assert world.statuses(timer) == {FiringStatus.SUCCEEDED}


def test_it_goes_out_so_many_a_second(world: World) -> None:
    timer = world.created("* * * * *")
    done = world.on_demand.backfill(APP, timer.id, world.now - 8 * MINUTE_MS, world.now, Rate(2))
    dues = {firing.fire_at: firing.due_at for firing in done.firings}
    world.run_for(20)
    assert len(world.target.arrivals) == len(dues) == 8
    assert all(0 <= arrival.at_ms - dues[arrival.fire_at] < 3_000 for arrival in world.target.arrivals)


def test_what_has_a_row_already_is_left_alone(world: World) -> None:
    timer = world.timer("*/10 * * * * *")
    world.run_for(35)
    fired = world.target.moments(timer.id)
    rows = world.records(timer)
    done = world.on_demand.backfill(APP, timer.id, world.now - MINUTE_MS, world.now, FAST)
    assert (done.matched, len(done.firings)) == (6, 6 - len(fired))
    world.run_for(5)
    assert all(world.target.moments(timer.id).count(moment) == 1 for moment in fired)
    kept = {record.firing.fire_at: record for record in world.records(timer)}
    assert all(kept[one.firing.fire_at].firing.kind is one.firing.kind for one in rows)


def test_asked_twice_it_fires_once(world: World) -> None:
    timer = world.created("* * * * *")
    first, again = (
        world.on_demand.backfill(APP, timer.id, world.now - 5 * MINUTE_MS, world.now, FAST) for _ in "12"
    )
    assert (len(first.firings), len(again.firings), again.matched) == (5, 0, 5)
    world.run_for(10)
    assert len(world.target.arrivals) == 5


def test_without_redis_it_fires_once_redis_is_back(world: World) -> None:
    timer = world.created("* * * * *")
    world.redis.away = True
    world.on_demand.backfill(APP, timer.id, world.now - 5 * MINUTE_MS, world.now, FAST)
    world.run_for(30)
    world.redis.away = False
    world.run_for(40)
    assert len(world.target.arrivals) == 5


def test_a_misfire_policy_has_no_say(world: World) -> None:
    rule = MisfireRule(MisfirePolicy.SKIP, 1_000, 0)
    new = NewTimer(APP, "strict", Cron.parse("* * * * *"), Notify("http://shop.test/due"), rule)
    timer = world.registrar.create(new)
    world.on_demand.backfill(APP, timer.id, world.now - 5 * MINUTE_MS, world.now, FAST)
    world.run_for(10)
    assert world.statuses(timer) == {FiringStatus.SUCCEEDED}


def test_a_long_range_is_done_in_parts(idle: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.timers.on_demand.MOST_AT_ONCE", 4)
    timer = idle.created("* * * * *")
    since, until = idle.now - 10 * MINUTE_MS, idle.now
    parts = []
    at: int | None = since
    while at is not None:
        parts.append(idle.on_demand.backfill(APP, timer.id, at, until, FAST))
        at = parts[-1].next_since
    assert [(len(one.firings), one.remaining) for one in parts] == [(4, 6), (4, 2), (2, 0)]
    assert len(idle.records(timer)) == 10


def test_a_dry_run_counts_and_makes_nothing(idle: World) -> None:
    timer = idle.created("* * * * *")
    done = idle.on_demand.backfill(APP, timer.id, idle.now - 10 * MINUTE_MS, idle.now, FAST, dry_run=True)
    assert (done.matched, done.remaining, done.firings) == (10, 10, ())
    assert idle.records(timer) == []


def test_a_backfill_long_under_way_waits_out_a_dead_executor(world: World) -> None:
    timer = world.created("* * * * *")
    world.on_demand.backfill(APP, timer.id, world.now - 10 * MINUTE_MS, world.now, Rate(1))
    world.run_for(4)
    world.executor_nodes[0].process.kill()
    world.run_for(60)
    assert world.statuses(timer) == {FiringStatus.SUCCEEDED}


@pytest.mark.parametrize(
    ("since", "until", "field"),
    [(-2, 1, "until"), (-1, -1, "since"), (-1, -2, "since"), (-LONGEST_RANGE_MS - 1, 0, "since")],
)
def test_a_range_that_is_no_past_one_is_refused(idle: World, since: int, until: int, field: str) -> None:
    timer = idle.created("* * * * *")
    with pytest.raises(InvalidInput) as caught:
        idle.on_demand.backfill(APP, timer.id, idle.now + since, idle.now + until, FAST)
    assert caught.value.field == field


def test_another_apps_timer_is_unknown(idle: World) -> None:
    timer = idle.created("* * * * *")
    with pytest.raises(UnknownTimer):
        idle.on_demand.backfill("bank", timer.id, idle.now - HOUR_MS, idle.now, FAST)
