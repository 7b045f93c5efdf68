"""Timers fired by hand: at once, once, whatever their schedule says."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.world import APP, World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import UnknownTimer
from wangtimer.core.flow.firing import FiringKind, FiringStatus
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule
from wangtimer.core.timers.timer import NewTimer, Notify

HOUR_MS = 3_600_000
FAR = "0 0 1 1 *"


@pytest.fixture
def idle(make_world: Callable[..., World]) -> World:
    return make_world(executors=0)


def test_a_timer_fires_at_once_and_its_schedule_goes_on(world: World) -> None:
    timer = world.timer("0 * * * * *")
    asked_at = world.now
    firing = world.on_demand.fire_now(APP, timer.id)
    assert (firing.kind, firing.status) == (FiringKind.MANUAL, FiringStatus.PENDING)
    world.run_for(60)
    (by_hand, planned) = sorted(world.target.moments(timer.id))
    assert by_hand == firing.fire_at
    assert planned % 60_000 == 0
    (arrival, _) = world.target.arrivals
    assert 0 <= arrival.at_ms - asked_at < 500
    assert {one.firing.kind for one in world.settled(timer)} == {FiringKind.MANUAL, FiringKind.SCHEDULED}


def test_a_timer_that_was_never_enabled_fires_and_stays_disabled(world: World) -> None:
    timer = world.created(FAR)
    world.on_demand.fire_now(APP, timer.id)
    world.run_for(5)
    assert world.record(timer).firing.status is FiringStatus.SUCCEEDED
    assert not world.timers.get(APP, timer.id).definition.is_enabled


def test_disabling_stops_what_was_asked_for_before_and_is_not_sent(world: World) -> None:
    timer = world.timer(FAR)
    world.redis.away = True
    world.on_demand.fire_now(APP, timer.id)
    world.run_for(1)
    world.registrar.disable(APP, timer.id)
    world.redis.away = False
    world.run_for(30)
    record = world.record(timer)
    assert (record.firing.status, record.error) == (FiringStatus.SKIPPED, "disabled")
    assert not world.target.moments(timer.id)


def test_what_is_asked_for_of_a_disabled_timer_fires_and_what_was_asked_for_before_does_not(
    world: World,
) -> None:
    timer = world.timer(FAR)
    world.redis.away = True
    before = world.on_demand.fire_now(APP, timer.id)
    world.run_for(1)
    world.registrar.disable(APP, timer.id)
    world.run_for(1)
    after = world.on_demand.fire_now(APP, timer.id)
    world.redis.away = False
    world.run_for(30)
    statuses = {one.firing.fire_at: one.firing.status for one in world.settled(timer)}
    assert statuses == {before.fire_at: FiringStatus.SKIPPED, after.fire_at: FiringStatus.SUCCEEDED}


def test_disabling_stops_the_retries_of_what_was_asked_for(world: World) -> None:
    timer = world.timer(FAR)
    world.target.answer = lambda arrival: Answer(500)
    world.on_demand.fire_now(APP, timer.id)
    world.run_for(1)
    world.registrar.disable(APP, timer.id)
    world.run_for(60)
    record = world.record(timer)
    assert (record.firing.status, record.error) == (FiringStatus.SKIPPED, "disabled")
    assert len(world.target.moments(timer.id)) < 3


def test_enabling_again_lets_what_was_asked_for_go_on(world: World) -> None:
    timer = world.timer(FAR)
    world.redis.away = True
    world.on_demand.fire_now(APP, timer.id)
    world.run_for(1)
    world.registrar.disable(APP, timer.id)
    world.registrar.enable(APP, timer.id)
    world.redis.away = False
    world.run_for(30)
    assert world.record(timer).firing.status is FiringStatus.SUCCEEDED


def test_a_finished_timer_fires(world: World) -> None:
    timer = world.once_in(2)
    world.run_for(10)
    world.on_demand.fire_now(APP, timer.id)
    world.run_for(5)
    assert len(world.target.moments(timer.id)) == 2


def test_a_timer_fires_by_hand_before_its_only_moment_and_then_again(world: World) -> None:
    timer = world.timer(Once(world.now + 10_000))
    world.on_demand.fire_now(APP, timer.id)
    world.run_for(20)
    assert len(world.target.moments(timer.id)) == 2


def test_an_edited_timer_fires_by_hand_between_its_moments(world: World) -> None:
    timer = world.timer("0 * * * * *")
    world.registrar.edit(
        APP,
        timer.id,
        lambda one: replace(one, definition=one.definition._replace(schedule=Cron(FAR, "UTC"))),
    )
    firing = world.on_demand.fire_now(APP, timer.id)
    world.run_for(5)
    assert world.target.moments(timer.id) == [firing.fire_at]


def test_a_deleted_timer_and_another_apps_cannot_be_fired(idle: World) -> None:
    timer = idle.timer(FAR)
    with pytest.raises(UnknownTimer):
        idle.on_demand.fire_now("bank", timer.id)
    idle.registrar.delete(APP, timer.id)
    with pytest.raises(UnknownTimer):
        idle.on_demand.fire_now(APP, timer.id)
    assert idle.records(timer) == []


def test_a_timer_deleted_before_it_could_be_sent_does_not_fire(world: World) -> None:
    timer = world.timer(FAR)
    world.redis.away = True
    world.on_demand.fire_now(APP, timer.id)
    world.registrar.delete(APP, timer.id)
    world.redis.away = False
    world.run_for(30)
    assert world.record(timer).error == "deleted"


def test_asked_twice_in_a_millisecond_it_fires_twice(world: World) -> None:
    timer = world.created(FAR)
    firings = [world.on_demand.fire_now(APP, timer.id) for _ in range(3)]
    assert [one.fire_at - firings[0].fire_at for one in firings] == [0, 1, 2]
    world.run_for(5)
    assert len(world.target.moments(timer.id)) == 3
    assert all(arrival.late_ms >= 0 for arrival in world.target.arrivals)


def test_a_moment_of_the_schedule_is_left_to_the_schedule(world: World) -> None:
    timer = world.created("* * * * * *")
    world.run_to((world.now // 1_000 + 1) * 1_000)
    assert world.on_demand.fire_now(APP, timer.id).fire_at == world.now + 1


def test_without_redis_it_is_fired_once_redis_is_back(world: World) -> None:
    timer = world.created(FAR)
    world.redis.away = True
    firing = world.on_demand.fire_now(APP, timer.id)
    world.run_for(30)
    world.redis.away = False
    world.run_for(30)
    assert world.target.moments(timer.id) == [firing.fire_at]


def test_a_misfire_policy_has_no_say(world: World) -> None:
    rule = MisfireRule(MisfirePolicy.SKIP, 1_000, 0)
    new = NewTimer(APP, "strict", Cron.parse("* * * * * *"), Notify("http://shop.test/due"), rule)
    timer = world.registrar.create(new)
    world.redis.away = True
    world.on_demand.fire_now(APP, timer.id)
    world.run_for(60)
    world.redis.away = False
    world.run_for(30)
    assert world.record(timer).firing.status is FiringStatus.SUCCEEDED


def test_an_api_that_dies_after_its_commit_is_made_up_for(world: World) -> None:
    timer = world.created(FAR)
    world.api.die_at("after demands.fire_now")
    world.time.spawn(world.api.process, lambda: world.on_demand.fire_now(APP, timer.id))
    world.run_for(30)
    assert len(world.target.moments(timer.id)) == 1


def test_a_lost_message_costs_a_lease_and_nothing_fires_twice(world: World) -> None:
    timer = world.created(FAR)
    world.chunk_road = lambda chunk: []
    world.on_demand.fire_now(APP, timer.id)
    world.chunk_road = lambda chunk: [chunk, chunk]
    world.run_for(30)
    assert len(world.target.moments(timer.id)) == 1


def test_of_a_disabled_timer_too_it_is_retried(world: World) -> None:
    timer = world.created(FAR)
    world.target.answer = lambda arrival: Answer(500 if arrival.attempt < 3 else 200)
    world.on_demand.fire_now(APP, timer.id)
    world.run_for(20)
    record = world.record(timer)
    assert (record.firing.status, record.firing.attempt) == (FiringStatus.SUCCEEDED, 3)
