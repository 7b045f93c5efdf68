from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.stages.world import APP, World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import Conflict, InvalidInput, StoreAway, UnknownTimer
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.slicing import Slice
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded, Ending, Once, Schedule
from wangtimer.core.timers.timer import NewTimer, Notify, Timer, TimerStatus

SKIPPED, SUCCEEDED = FiringStatus.SKIPPED, FiringStatus.SUCCEEDED


@pytest.fixture
def idle(make_world: Callable[..., World]) -> World:
    """A deployment whose beat never ticks: only the request itself does anything."""
    return make_world()


def test_a_created_timer_is_disabled_and_never_fires(world: World) -> None:
    timer = world.created("* * * * * *")
    world.run_for(10)
    assert timer.definition.status is TimerStatus.DISABLED
    assert world.records(timer) == []
    assert world.target.arrivals == []


def test_a_timer_made_enabled_fires_on_time_and_once(world: World) -> None:
    timer = world.registrar.create_enabled(
        NewTimer(APP, "bill", Once(world.now + 3_000), Notify("http://shop.test/due"))
    )
    world.run_for(10)
    assert [arrival.late_ms for arrival in world.target.of(timer.id)] == [0]


def test_a_timer_without_a_moment_left_is_not_made_enabled(idle: World) -> None:
    ended = Bounded(Every(1_000, 0), last_ms=idle.now - 1)
    with pytest.raises(Conflict, match="no moment left"):
        idle.registrar.create_enabled(NewTimer(APP, "bill", ended, Notify("http://shop.test/due")))
    assert idle.timers.id_of(APP, "bill") is None


def test_a_put_that_cannot_enable_says_why(idle: World) -> None:
    ended = Bounded(Every(1_000, 0), last_ms=idle.now - 1)
    new = NewTimer(APP, "bill", ended, Notify("http://shop.test/due"))
    with pytest.raises(Conflict, match="no moment left"):
        idle.registrar.put(APP, "bill", lambda: new, lambda was: was, enabled=True)
    assert idle.timers.id_of(APP, "bill") is None


def test_a_timer_made_enabled_counts_its_firings_from_then_on(world: World) -> None:
    ending = Ending(most=2)
    timer = world.registrar.create_enabled(
        NewTimer(APP, "bill", Every(1_000, 0), Notify("http://shop.test/due"), ending=ending)
    )
    world.run_for(10)
    assert len(world.target.of(timer.id)) == 2


@pytest.mark.parametrize("is_new_schedule", [False, True])
def test_an_edit_may_enable_too_in_one_commit(world: World, is_new_schedule: bool) -> None:
    timer = world.created("*/2 * * * * *")
    schedule = Cron.parse("* * * * * *") if is_new_schedule else timer.definition.schedule
    edited = world.registrar.edit(APP, timer.id, lambda was: _with_schedule(was, schedule), enabled=True)
    assert edited.definition.version == timer.definition.version + 1
    world.run_for(10)
    assert len(world.target.of(timer.id)) in ((9, 10, 11) if is_new_schedule else (4, 5, 6))


@pytest.mark.parametrize("is_new_schedule", [False, True])
def test_an_edit_may_disable_too_in_one_commit(world: World, is_new_schedule: bool) -> None:
    timer = world.timer("*/2 * * * * *")
    world.run_for(5)
    called = len(world.target.of(timer.id))
    schedule = Cron.parse("* * * * * *") if is_new_schedule else timer.definition.schedule
    edited = world.registrar.edit(APP, timer.id, lambda was: _with_schedule(was, schedule), enabled=False)
    assert edited.definition.version == timer.definition.version + 1
    world.run_for(10)
    assert len(world.target.of(timer.id)) <= called + 1


def _with_schedule(timer: Timer, schedule: Schedule) -> Timer:
    return replace(timer, definition=timer.definition._replace(schedule=schedule))


def test_a_moment_over_a_minute_past_is_refused_and_one_of_a_minute_ago_is_taken(idle: World) -> None:
    with pytest.raises(InvalidInput, match="61 s ago"):
        idle.created(Once(idle.now - 61_000))
    assert idle.created(Once(idle.now - 60_000)).id


def test_enabling_plans_the_next_minute_and_tells_redis_within_the_request(idle: World) -> None:
    timer = idle.timer("* * * * * *")
    moments = [record.firing.fire_at for record in idle.records(timer)]
    assert moments == list(range(idle.now + 1_000, idle.now + 60_001, 1_000))
    assert idle.members_in_slices == 60
    assert idle.definitions.get([timer.id]).definitions[timer.id].is_enabled
    assert set(idle.redis.table("agenda")) == {Slice.at(moment, 0) for moment in moments}


def test_what_enabling_left_over_the_migrator_plans_without_a_gap_or_an_overlap(idle: World) -> None:
    timer = idle.timer("* * * * * *")
    idle.run_for(7)
    idle.beat.migrator.plan_due()
    moments = [record.firing.fire_at for record in idle.records(timer)]
    assert moments == list(range(moments[0], moments[-1] + 1, 1_000))
    assert moments[-1] >= idle.now + 750_000


def test_a_moment_nearer_than_the_lead_is_sent_on_without_any_trigger(idle: World) -> None:
    timer = idle.once_in(0.3)
    idle.run_for(1)
    assert [arrival.late_ms for arrival in idle.target.of(timer.id)] == [0]
    assert idle.orders == []


def test_a_moment_up_to_a_minute_ago_fires_at_once(world: World) -> None:
    timer = world.timer(Once(world.now - 59_000))
    world.run_for(1)
    assert len(world.target.of(timer.id)) == 1
    assert world.record(timer).firing.status is SUCCEEDED


def test_a_moment_longer_ago_cannot_be_enabled(idle: World) -> None:
    timer = idle.created(Once(idle.now + 1_000))
    idle.run_for(62)
    with pytest.raises(Conflict, match="61 s ago"):
        idle.registrar.enable(APP, timer.id)


def test_a_moment_that_has_its_outcome_cannot_be_enabled_again(world: World) -> None:
    timer = world.once_in(5)
    world.run_for(10)
    world.registrar.disable(APP, timer.id)
    with pytest.raises(Conflict):
        world.registrar.enable(APP, timer.id)
    world.run_for(10)
    assert len(world.target.of(timer.id)) == 1


def test_a_single_moment_fires_once_however_often_it_is_disabled_and_enabled(world: World) -> None:
    timer = world.once_in(20)
    for _ in range(5):
        world.registrar.disable(APP, timer.id)
        world.registrar.enable(APP, timer.id)
        world.run_for(2)
    world.run_for(60)
    assert [arrival.late_ms for arrival in world.target.of(timer.id)] == [0]


def test_enabling_an_enabled_timer_changes_nothing(idle: World) -> None:
    timer = idle.timer("* * * * * *")
    again = idle.registrar.enable(APP, timer.id)
    assert again == idle.timers.get(APP, timer.id)
    assert again.definition.version == timer.definition.version
    assert len(idle.records(timer)) == 60


def test_enabling_again_keeps_what_was_planned(world: World) -> None:
    timer = world.timer("*/10 * * * * *")
    world.run_for(25)
    planned = [record.firing for record in world.records(timer) if not record.first_sent_at]
    planned_until = world.timers.get(APP, timer.id).planned_until
    world.registrar.disable(APP, timer.id)
    assert world.registrar.enable(APP, timer.id).planned_until == planned_until
    assert [record.firing for record in world.records(timer) if not record.first_sent_at] == planned
    arrived = len(world.target.of(timer.id))
    world.run_for(60)
    assert len(world.target.of(timer.id)) == arrived + 6
    assert world.statuses(timer) == {SUCCEEDED, FiringStatus.PENDING}


def test_what_fell_into_the_time_it_was_disabled_is_not_made_up_for_when_it_is_enabled_again(
    make_world: Callable[..., World],
) -> None:
    world = make_world(step_s=60).start()
    timer = world.timer("*/10 * * * * *")
    world.run_for(2)
    world.registrar.disable(APP, timer.id)
    world.run_for(600)
    enabled_at = world.now
    world.registrar.enable(APP, timer.id)
    world.run_for(60)
    assert min(world.target.moments(timer.id)) > enabled_at
    assert len(world.target.of(timer.id)) == 6


def test_redis_away_while_enabling_costs_seconds_and_loses_nothing(world: World) -> None:
    world.redis.away = True
    timer = world.timer("* * * * * *")
    world.redis.away = False
    world.run_for(90)
    sent = world.target.moments(timer.id)
    assert len(sent) == len(set(sent)) >= 85
    assert max(arrival.late_ms for arrival in world.target.of(timer.id)) < 20_000
    assert max(arrival.late_ms for arrival in world.target.of(timer.id)[-20:]) == 0


def test_redis_away_while_enabling_puts_all_into_the_first_bucket(idle: World) -> None:
    idle.load.reserve({idle.now // 60_000: 1_000_000})
    idle.redis.away = True
    assert {record.firing.bucket for record in idle.records(idle.timer("* * * * * *"))} == {0}


def test_sql_away_while_enabling_is_told_and_changes_nothing(idle: World) -> None:
    timer = idle.created("* * * * * *")
    idle.sql.away = True
    with pytest.raises(StoreAway):
        idle.registrar.enable(APP, timer.id)
    idle.sql.away = False
    assert idle.members_in_slices == 0
    assert not idle.timers.get(APP, timer.id).definition.is_enabled


def test_a_timer_disabled_earlier_than_the_lead_before_its_moment_never_fires(world: World) -> None:
    for wait_s in (0.0, 5.0, 8.4, 8.98):
        timer = world.once_in(10)
        world.run_for(wait_s)
        world.registrar.disable(APP, timer.id)
        world.run_for(20)
        assert world.target.of(timer.id) == []
        assert (world.record(timer).firing.status, world.record(timer).error) == (SKIPPED, "disabled")


def test_a_timer_deleted_earlier_than_the_lead_before_its_moment_never_fires(world: World) -> None:
    for wait_s in (0.0, 5.0, 8.4, 8.98):
        timer = world.once_in(10)
        world.run_for(wait_s)
        world.registrar.delete(APP, timer.id)
        world.run_for(20)
        assert world.target.of(timer.id) == []
        assert (world.record(timer).firing.status, world.record(timer).error) == (SKIPPED, "deleted")


def test_a_timer_disabled_within_the_lead_fires_or_is_skipped_and_either_is_on_record(world: World) -> None:
    for wait_s in (9.1, 9.5, 9.9, 9.999):
        timer = world.once_in(10)
        world.run_for(wait_s)
        world.registrar.disable(APP, timer.id)
        world.run_for(20)
        has_fired = bool(world.target.of(timer.id))
        assert world.record(timer).firing.status is (SUCCEEDED if has_fired else SKIPPED)


def test_every_firing_of_a_disabled_timer_is_on_record_as_skipped(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(10.2)
    world.registrar.disable(APP, timer.id)
    world.run_for(100)
    passed = [record for record in world.records(timer) if record.firing.fire_at < world.now - 2_000]
    skipped = [record for record in passed if record.firing.status is SKIPPED]
    assert len(skipped) + len(world.target.of(timer.id)) == len(passed) > 60
    assert {record.error for record in skipped} == {"disabled"}


def test_a_deleted_timer_is_unknown_and_its_name_is_free(idle: World) -> None:
    timer = idle.created("* * * * *")
    idle.registrar.delete(APP, timer.id)
    with pytest.raises(UnknownTimer):
        idle.registrar.enable(APP, timer.id)
    assert idle.timers.page(APP, 0, 10) == []


@pytest.mark.parametrize("verb", ["enable", "disable", "delete"])
def test_another_app_cannot_touch_a_timer(idle: World, verb: str) -> None:
    timer = idle.created("* * * * *")
    with pytest.raises(UnknownTimer):
        getattr(idle.registrar, verb)("bank", timer.id)
    assert idle.timers.get(APP, timer.id) == timer


@pytest.mark.parametrize("verb", ["disable", "delete"])
def test_what_came_due_while_nobody_planned_is_on_record_though_the_timer_is_switched_off(
    idle: World, verb: str
) -> None:
    timer = idle.timer("0 * * * * *")
    idle.run_for(200)
    getattr(idle.registrar, verb)(APP, timer.id)
    assert len(idle.records(timer)) == 3
    idle.beat.start(idle)
    idle.run_for(60)
    assert idle.statuses(timer) == {SKIPPED}


def test_what_came_due_while_nobody_planned_is_stopped_by_a_disable_for_good(idle: World) -> None:
    timer = idle.timer("0 * * * * *")
    idle.run_for(200)
    idle.registrar.disable(APP, timer.id)
    idle.registrar.enable(APP, timer.id)
    idle.beat.start(idle)
    idle.run_for(30)
    assert idle.target.of(timer.id) == []
    assert [one.error for one in idle.records(timer) if one.firing.status is SKIPPED] == ["disabled"] * 3


def test_a_timer_disabled_early_in_a_long_absence_of_redis_does_not_fire_after_it(world: World) -> None:
    timer = world.timer("*/5 * * * * *")
    world.run_for(30)
    world.redis.away = True
    world.run_for(10)
    world.registrar.disable(APP, timer.id)
    disabled_at = world.now
    world.run_for(180)
    world.redis.away = False
    world.run_for(60)
    # Those that were due before are still to be made; that the timer is disabled by now skips them too.
    assert [moment for moment in world.target.moments(timer.id) if moment > disabled_at] == []
