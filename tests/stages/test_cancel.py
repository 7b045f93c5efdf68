"""Single firings cancelled before their moment, and exactly those."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.world import APP, World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import Conflict, UnknownFiring, UnknownTimer
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded, Ending, Once, Schedule, Spread
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule
from wangtimer.core.timers.schedule_edits import KEPT_MS
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.timers.on_demand import Rate
from wangtimer.timers.registrar import following

SKIPPED, SUCCEEDED = FiringStatus.SKIPPED, FiringStatus.SUCCEEDED
SECOND_MS, HOUR_MS, DAY_MS = 1_000, 3_600_000, 86_400_000
TEN = "*/10 * * * * *"


@pytest.fixture
def idle(make_world: Callable[..., World]) -> World:
    return make_world(executors=0)


def coming(world: World, timer: Timer, number: int) -> int:
    """Return one of the coming moments of a timer, 0 the next."""
    return timer.definition.schedule.moments(world.now, world.now + DAY_MS, number + 1)[number]


def cancel(world: World, timer: Timer, moment: int) -> None:
    record = world.on_demand.cancel(APP, timer.id, moment).record
    assert (record.firing.status, record.error, record.firing.fire_at) == (SKIPPED, "cancelled", moment)


def to(world: World, timer: Timer, schedule: Schedule) -> Timer:
    return world.registrar.edit(
        APP, timer.id, lambda one: replace(one, definition=one.definition._replace(schedule=schedule))
    )


def outcomes(world: World, timer: Timer, moment: int) -> list[tuple[FiringStatus, str]]:
    return [(one.firing.status, one.error) for one in world.records(timer) if one.firing.fire_at == moment]


def test_a_cancelled_firing_is_not_made_and_its_neighbours_are(world: World) -> None:
    timer = world.timer(TEN)
    before, moment, after = (coming(world, timer, number) for number in range(3))
    cancel(world, timer, moment)
    world.run_for(35)
    assert world.target.moments(timer.id)[:2] == [before, after]
    assert moment not in world.target.moments(timer.id)
    assert outcomes(world, timer, moment) == [(SKIPPED, "cancelled")]


def test_the_last_chance_is_just_before_it_is_armed(world: World) -> None:
    timer = world.timer(TEN)
    moment = coming(world, timer, 1)
    world.run_to(moment - world.on_demand.soon_ms - 1)
    cancel(world, timer, moment)
    world.run_for(15)
    assert moment not in world.target.moments(timer.id)


def test_what_may_be_on_its_way_is_not_cancelled(world: World) -> None:
    timer = world.timer(TEN)
    moment = coming(world, timer, 1)
    for left_ms in (world.on_demand.soon_ms, 1, 0):
        world.run_to(moment - left_ms)
        with pytest.raises(Conflict, match="moment has come"):
            world.on_demand.cancel(APP, timer.id, moment)
    world.run_for(5)
    assert outcomes(world, timer, moment) == [(SUCCEEDED, "")]


def test_a_moment_beyond_what_is_planned_is_cancelled_too(world: World) -> None:
    timer = world.timer("0 * * * *")
    moment = coming(world, timer, 5)
    assert outcomes(world, timer, moment) == []
    cancel(world, timer, moment)
    world.run_to(moment + 10 * SECOND_MS)
    fired = world.target.moments(timer.id)
    assert moment not in fired
    assert moment - HOUR_MS in fired
    assert outcomes(world, timer, moment) == [(SKIPPED, "cancelled")]


def test_the_timer_knows_what_is_cancelled(idle: World) -> None:
    timer = idle.timer("0 * * * *")
    moment = coming(idle, timer, 0)
    cancel(idle, timer, moment)
    now = idle.timers.get(APP, timer.id)
    assert now.definition.schedule.first_after(idle.now) == moment + HOUR_MS
    assert now.definition.version == timer.definition.version + 1
    assert now.definition.edited_at == timer.definition.edited_at
    assert idle.definitions.get([timer.id]).definitions[timer.id] == now.definition


def test_cancelled_twice_is_once(idle: World) -> None:
    timer = idle.timer(TEN)
    moment = coming(idle, timer, 2)
    cancel(idle, timer, moment)
    version = idle.timers.get(APP, timer.id).definition.version
    cancel(idle, timer, moment)
    assert idle.timers.get(APP, timer.id).definition.version == version


def test_a_moment_that_is_none_of_the_schedule_is_unknown(idle: World) -> None:
    timer = idle.timer(TEN)
    for wrong in (coming(idle, timer, 1) + 1, 5):
        with pytest.raises(UnknownFiring):
            idle.on_demand.cancel(APP, timer.id, wrong)


def test_a_firing_with_an_outcome_stays_as_it_is(world: World) -> None:
    timer = world.timer(TEN)
    moment = coming(world, timer, 0)
    world.run_for(15)
    with pytest.raises(Conflict, match="succeeded"):
        world.on_demand.cancel(APP, timer.id, moment)


def test_another_apps_timer_is_unknown(idle: World) -> None:
    timer = idle.timer(TEN)
    with pytest.raises(UnknownTimer):
        idle.on_demand.cancel("bank", timer.id, coming(idle, timer, 2))


def test_a_single_moment_is_disabled_instead(idle: World) -> None:
    timer = idle.timer(Once(idle.now + HOUR_MS))
    with pytest.raises(Conflict, match="disable or delete"):
        idle.on_demand.cancel(APP, timer.id, idle.now + HOUR_MS)


def test_of_a_disabled_timer_it_is_not_made_after_enabling_either(world: World) -> None:
    timer = world.timer(TEN)
    moment = coming(world, timer, 2)
    world.registrar.disable(APP, timer.id)
    cancel(world, timer, moment)
    world.registrar.enable(APP, timer.id)
    world.run_for(40)
    assert outcomes(world, timer, moment) == [(SKIPPED, "cancelled")]
    assert moment + 10 * SECOND_MS in world.target.moments(timer.id)


@pytest.mark.parametrize("is_back_s", [5, 40])
def test_without_redis_it_is_not_made_once_redis_is_back(world: World, is_back_s: int) -> None:
    timer = world.timer(TEN)
    moment = coming(world, timer, 3)
    world.redis.away = True
    cancel(world, timer, moment)
    world.run_for(is_back_s)
    world.redis.away = False
    world.run_for(60)
    assert moment not in world.target.moments(timer.id)
    assert outcomes(world, timer, moment) == [(SKIPPED, "cancelled")]


def test_an_api_that_dies_after_its_commit_is_made_up_for(world: World) -> None:
    timer = world.timer(TEN)
    moment = coming(world, timer, 2)
    world.api.die_at("after demands.cancel")
    world.time.spawn(world.api.process, lambda: world.on_demand.cancel(APP, timer.id, moment))
    world.run_for(40)
    assert moment not in world.target.moments(timer.id)


def test_a_redis_that_lost_everything_is_loaded_without_it(world: World) -> None:
    timer = world.timer(TEN)
    moment = coming(world, timer, 3)
    cancel(world, timer, moment)
    world.redis.lose()
    world.run_for(60)
    assert moment not in world.target.moments(timer.id)
    assert moment + 10 * SECOND_MS in world.target.moments(timer.id)


def test_a_cancelled_moment_does_not_fire_after_an_edit_of_the_schedule(world: World) -> None:
    timer = world.timer(TEN)
    moment = coming(world, timer, 3)
    cancel(world, timer, moment)
    to(world, timer, Cron("*/5 * * * * *", "UTC"))
    world.run_for(60)
    assert moment not in world.target.moments(timer.id)
    assert moment + 5 * SECOND_MS in world.target.moments(timer.id)
    assert outcomes(world, timer, moment) == [(SKIPPED, "cancelled")]


def test_a_cancelled_moment_does_not_become_the_only_one(idle: World) -> None:
    timer = idle.timer(TEN)
    moment = coming(idle, timer, 3)
    cancel(idle, timer, moment)
    with pytest.raises(Conflict) as caught:
        to(idle, timer, Once(moment))
    assert caught.value.field == "schedule.at"
    assert to(idle, timer, Once(moment + 1)).definition.schedule == Once(moment + 1)


def test_a_calendar_that_changes_leaves_it_cancelled(world: World) -> None:
    timer = world.timer(Bounded(Cron(TEN, "UTC"), excluded=Calendar("plant")))
    moment = coming(world, timer, 3)
    cancel(world, timer, moment)
    changed = Calendar("plant", weekdays=frozenset())
    world.registrar.edit(APP, timer.id, lambda one: following(one, changed))
    world.run_for(60)
    assert moment not in world.target.moments(timer.id)


def test_it_counts_among_a_timers_so_many_firings(world: World) -> None:
    ending = Ending(most=4)
    new = NewTimer(APP, "few", Cron(TEN, "UTC"), Notify("http://shop.test/due"), ending=ending)
    timer = world.registrar.enable(APP, world.registrar.create(new).id)
    cancel(world, timer, coming(world, timer, 2))
    world.run_for(120)
    assert len(world.target.moments(timer.id)) == 3


def test_a_moment_put_off_is_cancelled_where_it_would_fire(world: World) -> None:
    timer = world.timer(Bounded(Every(20_000, world.now), spread=Spread(9_000, 7)))
    moment = coming(world, timer, 1)
    cancel(world, timer, moment)
    world.run_for(60)
    assert moment not in world.target.moments(timer.id)
    assert len(world.target.moments(timer.id)) == 2


@pytest.mark.parametrize(("before", "after"), [(9_000, 3_000), (9_000, 0), (0, 9_000)])
def test_a_cancelled_moment_does_not_come_back_when_the_jitter_is_edited(
    world: World, before: int, after: int
) -> None:
    rule = Cron("*/20 * * * * *", "UTC")
    was, asked = (Bounded(rule, spread=Spread(jitter, 7)) if jitter else rule for jitter in (before, after))
    timer = world.timer(was)
    moment = coming(world, timer, 1)
    cancel(world, timer, moment)
    to(world, timer, asked)
    world.run_for(100)
    own = [at // 20_000 for at in world.target.moments(timer.id)]
    assert own == [number for number in range(own[0], own[-1] + 1) if number != moment // 20_000]


def test_nor_when_the_bounds_leave_it_out_while_the_jitter_is_edited(idle: World) -> None:
    rule = Cron("*/20 * * * * *", "UTC")
    timer = idle.timer(Bounded(rule, spread=Spread(9_000, 7)))
    moment = coming(idle, timer, 9)
    cancel(idle, timer, moment)
    beyond = moment // 20_000 * 20_000 + 20_000
    to(idle, timer, Bounded(rule, start_ms=beyond, spread=Spread(9_000, 7)))
    to(idle, timer, Bounded(rule, start_ms=beyond, spread=Spread(3_000, 7)))
    to(idle, timer, Bounded(rule, spread=Spread(3_000, 7)))
    schedule = idle.timers.get(APP, timer.id).definition.schedule
    own = {at // 20_000 for at in schedule.moments(idle.now, idle.now + 300_000, 99)}
    assert own == set(range(min(own), max(own) + 1)) - {moment // 20_000}


def test_a_cancelled_moment_is_remembered_once_however_often_the_jitter_is_edited(idle: World) -> None:
    rule = Cron("*/20 * * * * *", "UTC")
    timer = idle.timer(Bounded(rule, spread=Spread(9_000, 7)))
    cancel(idle, timer, coming(idle, timer, 9))
    for most_ms in (3_000, 12_000, 4_000):
        to(idle, timer, Bounded(rule, spread=Spread(most_ms, 7)))
    schedule = idle.timers.get(APP, timer.id).definition.schedule
    assert isinstance(schedule, Bounded)
    assert len(schedule.cancelled) == 1


def test_the_latest_of_the_missed_is_not_one_that_was_cancelled(world: World) -> None:
    rule = MisfireRule(MisfirePolicy.FIRE_LATEST, 5_000, 0)
    new = NewTimer(APP, "latest", Cron("0 * * * * *", "UTC"), Notify("http://shop.test/due"), rule)
    timer = world.registrar.enable(APP, world.registrar.create(new).id)
    moments = [coming(world, timer, number) for number in range(3)]
    cancel(world, timer, moments[2])
    world.redis.away = True
    world.run_to(moments[2] + 10 * SECOND_MS)
    world.redis.away = False
    world.run_for(25)
    assert world.target.moments(timer.id) == [moments[1]]


def test_so_many_are_cancelled_at_most_and_what_is_long_past_makes_room(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.core.timers.schedule_edits.MOST_CANCELLED", 2)
    timer = idle.timer("0 * * * *")
    moments = [coming(idle, timer, number) for number in range(3)]
    cancel(idle, timer, moments[0])
    cancel(idle, timer, moments[1])
    with pytest.raises(Conflict, match="cancelled already"):
        idle.on_demand.cancel(APP, timer.id, moments[2])
    idle.time.sleep((moments[0] + KEPT_MS - idle.now) / 1_000)
    later = coming(idle, timer, 5)
    cancel(idle, timer, later)
    schedule = idle.timers.get(APP, timer.id).definition.schedule
    assert isinstance(schedule, Bounded)
    assert schedule.cancelled == {moments[1], later}


def test_a_cancelled_firing_that_is_replayed_waits_for_its_moment(world: World) -> None:
    timer = world.timer(TEN)
    moment = coming(world, timer, 3)
    cancel(world, timer, moment)
    replayed = world.on_demand.replay_these(APP, [(timer.id, moment)], Rate(50))
    assert [firing.due_at for firing in replayed.firings] == [moment]
    world.run_for(60)
    (arrival,) = [one for one in world.target.arrivals if one.fire_at == moment]
    assert arrival.late_ms >= 0
    assert outcomes(world, timer, moment) == [(SUCCEEDED, "")]


@pytest.mark.parametrize(("status", "became"), [(200, (SUCCEEDED, "")), (500, (SKIPPED, "cancelled"))])
def test_the_record_of_one_cancelled_too_late_says_that_it_was_sent(
    world: World, status: int, became: tuple[FiringStatus, str]
) -> None:
    """SQL was so slow that the executor had asked Redis before; a retry is then no longer made."""
    timer = world.timer(TEN)
    moment = coming(world, timer, 1)
    world.target.answer = lambda arrival: Answer(status, after_ms=2_000)
    world.run_to(moment - world.on_demand.soon_ms - 1)
    world.api.taps["before definitions.put"] = lambda: world.time.sleep(5)
    world.time.spawn(world.api.process, lambda: world.on_demand.cancel(APP, timer.id, moment))
    world.run_for(60)
    assert world.target.moments(timer.id).count(moment) == 1
    assert outcomes(world, timer, moment) == [became]
    (record,) = [one for one in world.records(timer) if one.firing.fire_at == moment]
    assert record.first_sent_at is not None
