"""Timers edited while they fire: the old moments fire no more, the new ones do, at once."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.world import APP, World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import Conflict, InvalidInput, UnknownTimer
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded, Ending, Once, Schedule, Spread
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.timers.registrar import Change, following

SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS = 1_000, 60_000, 3_600_000, 86_400_000


@pytest.fixture
def idle(make_world: Callable[..., World]) -> World:
    return make_world(executors=0)


def to(schedule: Schedule) -> Change:
    """Return an edit of nothing but the schedule."""
    return lambda timer: replace(timer, definition=timer.definition._replace(schedule=schedule))


def named(name: str) -> Change:
    return lambda timer: replace(timer, name=name)


def limited(ending: Ending) -> Change:
    return lambda timer: replace(timer, ending=ending)


def reasons(world: World, timer: Timer) -> dict[FiringStatus, set[str]]:
    found: dict[FiringStatus, set[str]] = {}
    for record in world.records(timer):
        found.setdefault(record.firing.status, set()).add(record.error)
    return found


def test_the_old_moments_do_not_fire_and_the_new_ones_do_at_once(world: World) -> None:
    timer = world.timer("*/10 * * * * *")
    world.run_for(25)
    before = world.target.moments(timer.id)
    edited_at = world.now
    world.registrar.edit(APP, timer.id, to(Cron("3-59/10 * * * * *", "UTC")))
    world.run_for(60)
    after = [at for at in world.target.moments(timer.id) if at > edited_at]
    assert len(before) == 3
    assert {at % 10_000 for at in after} == {3_000}
    assert len(after) == 6
    assert reasons(world, timer)[FiringStatus.SKIPPED] == {"superseded"}


def test_a_moment_both_schedules_have_fires_once(world: World) -> None:
    timer = world.timer("*/10 * * * * *")
    world.run_for(5)
    world.registrar.edit(APP, timer.id, to(Cron("*/5 * * * * *", "UTC")))
    world.run_for(60)
    moments = world.target.moments(timer.id)
    assert len(moments) == len(set(moments)) == 13


def test_an_edit_back_and_forth_leaves_the_first_schedule(world: World) -> None:
    timer = world.timer("*/10 * * * * *")
    for schedule in (Cron("7 0 0 1 1 *", "UTC"), Cron("*/10 * * * * *", "UTC")):
        world.registrar.edit(APP, timer.id, to(schedule))
    world.run_for(60)
    moments = world.target.moments(timer.id)
    assert len(moments) == len(set(moments)) == 6


def test_an_edit_of_the_call_alone_leaves_the_plan_as_it_is(idle: World) -> None:
    timer = idle.timer("* * * * *")
    rows = len(idle.records(timer))
    notify = Notify("http://shop.test/other")
    edited = idle.registrar.edit(
        APP, timer.id, lambda one: replace(one, definition=one.definition._replace(notify=notify))
    )
    assert edited.definition.notify == notify
    assert (edited.planned_until, edited.next_fire_at) == (timer.planned_until, timer.next_fire_at)
    assert (edited.definition.edited_at, len(idle.records(timer))) == (0, rows)
    assert idle.definitions.get([timer.id]).definitions[timer.id].notify == notify


def test_a_disabled_timer_is_edited_and_stays_disabled(idle: World) -> None:
    timer = idle.created("* * * * *")
    edited = idle.registrar.edit(APP, timer.id, to(Every(7_000, idle.now)))
    assert not edited.definition.is_enabled
    assert idle.records(timer) == []
    assert edited.next_fire_at == idle.now + 7_000


def test_what_came_due_unplanned_before_the_edit_is_on_record(idle: World) -> None:
    timer = idle.timer("* * * * *")
    marks = idle.sql.table("timers")[timer.id]
    idle.sql.table("timers")[timer.id] = replace(marks, planned_until=idle.now - HOUR_MS)
    idle.registrar.edit(APP, timer.id, to(Cron("0 0 1 1 *", "UTC")))
    assert len([one for one in idle.records(timer) if one.firing.fire_at <= idle.now]) >= 60


def test_an_edit_of_another_version_is_refused_and_changes_nothing(idle: World) -> None:
    timer = idle.timer("* * * * *")
    version = idle.registrar.edit(APP, timer.id, named("a"), timer.definition.version).definition.version
    assert version == timer.definition.version + 1
    with pytest.raises(Conflict) as caught:
        idle.registrar.edit(APP, timer.id, named("b"), timer.definition.version)
    assert caught.value.field == "version"
    assert idle.timers.get(APP, timer.id).name == "a"


def test_an_unknown_timer_cannot_be_edited(idle: World) -> None:
    with pytest.raises(UnknownTimer):
        idle.registrar.edit(APP, 99, named("a"))


@pytest.mark.parametrize(
    ("before", "after"), [(None, 15_000), (15_000, None), (15_000, 4_000), (4_000, 15_000)]
)
@pytest.mark.parametrize("into_ms", [700, 3_000, 9_000, 14_000, 19_000])
def test_each_moment_fires_once_when_the_jitter_is_edited(
    world: World, before: int | None, after: int | None, into_ms: int
) -> None:
    rule = Cron("*/20 * * * * *", "UTC")
    was, asked = (Bounded(rule, spread=Spread(jitter, 1)) if jitter else rule for jitter in (before, after))
    timer = world.timer(was)
    world.run_for(61 + into_ms / 1_000)
    edited_at = world.now
    world.registrar.edit(APP, timer.id, to(asked))
    world.run_for(120)
    own = [at // 20_000 for at in world.target.moments(timer.id)]
    assert own == list(range(own[0], own[0] + len(own)))
    settled = edited_at // 20_000 * 20_000 + 40_000
    made = [at for at in world.target.moments(timer.id) if at > settled]
    assert made == asked.moments(settled, world.now, 99)


@pytest.mark.parametrize("into_ms", [700, 14_000, 18_700, 19_500])
@pytest.mark.parametrize("apart_ms", [0, 300, 1_400, 6_000])
def test_each_moment_fires_once_when_the_jitter_is_edited_again_and_again(
    world: World, into_ms: int, apart_ms: int
) -> None:
    rule = Cron("*/20 * * * * *", "UTC")
    timer = world.timer(Bounded(rule, spread=Spread(15_000, 1)))
    world.run_for(61 + into_ms / 1_000)
    for jitter_ms in (4_000, 12_000, 400):
        world.registrar.edit(APP, timer.id, to(Bounded(rule, spread=Spread(jitter_ms, 1))))
        world.run_for(apart_ms / 1_000)
    world.run_for(120)
    own = [at // 20_000 for at in world.target.moments(timer.id)]
    assert own == list(range(own[0], own[0] + len(own)))


def test_overdue_moments_fire_after_the_jitter_was_edited_twice(make_world: Callable[..., World]) -> None:
    world = make_world(executors=0).start()
    rule = Cron("*/20 * * * * *", "UTC")
    timer = world.timer(Bounded(rule, spread=Spread(15_000, 1)))
    world.run_for(100)
    for jitter_ms in (4_000, 12_000):
        world.registrar.edit(APP, timer.id, to(Bounded(rule, spread=Spread(jitter_ms, 1))))
        world.run_for(45)
    world.start_executor("late")
    world.run_for(100)
    own = [at // 20_000 for at in sorted(world.target.moments(timer.id))]
    assert own == list(range(own[0], own[0] + len(own)))
    assert own[0] * 20_000 <= timer.created_at + 20_000


@pytest.mark.parametrize("into_ms", [14_000, 19_500])
def test_a_moment_keeps_its_place_when_the_bounds_are_edited(world: World, into_ms: int) -> None:
    rule, spread = Cron("*/20 * * * * *", "UTC"), Spread(40_000, 1)
    timer = world.timer(Bounded(rule, spread=spread))
    world.run_for(61 + into_ms / 1_000)
    last = world.now // 20_000 * 20_000 + 20_000
    world.registrar.edit(APP, timer.id, limited(Ending(end_ms=last)))
    world.run_for(120)
    made = world.target.moments(timer.id)
    assert made == Bounded(rule, spread=spread).moments(made[0] - 1, last + 19_999, 99)
    assert made[-1] > last


# ending


def new(schedule: Schedule, ending: Ending) -> NewTimer:
    return NewTimer(
        APP, "limited", ending.applied_to(schedule), Notify("http://shop.test/due"), ending=ending
    )


def test_so_many_firings_are_counted_from_the_first_enable(world: World) -> None:
    timer = world.registrar.create(new(Cron("*/10 * * * * *", "UTC"), Ending(most=3)))
    world.run_for(120)
    world.registrar.enable(APP, timer.id)
    world.run_for(120)
    assert len(world.target.moments(timer.id)) == 3


def test_moments_that_pass_while_it_is_disabled_count(world: World) -> None:
    timer = world.registrar.create(new(Cron("*/10 * * * * *", "UTC"), Ending(most=6)))
    world.registrar.enable(APP, timer.id)
    world.run_for(21)
    world.registrar.disable(APP, timer.id)
    world.run_for(20)
    world.registrar.enable(APP, timer.id)
    world.run_for(120)
    assert len(world.target.moments(timer.id)) == 4


def test_a_timer_without_a_moment_left_cannot_be_enabled(world: World) -> None:
    timer = world.registrar.create(new(Cron("*/10 * * * * *", "UTC"), Ending(end_ms=world.now + 30_000)))
    world.run_for(60)
    with pytest.raises(Conflict, match="no moment"):
        world.registrar.enable(APP, timer.id)


def test_an_edit_of_the_limit_begins_counting_anew(world: World) -> None:
    timer = world.registrar.create(new(Cron("*/10 * * * * *", "UTC"), Ending(most=2)))
    world.registrar.enable(APP, timer.id)
    world.run_for(60)
    world.registrar.edit(APP, timer.id, limited(Ending(most=3)))
    world.run_for(60)
    assert len(world.target.moments(timer.id)) == 5


def test_nothing_fires_before_the_start_or_after_the_end(world: World) -> None:
    start, end = world.now + 25_000, world.now + 65_000
    bounded = Bounded(Cron("*/10 * * * * *", "UTC"), start)
    timer = world.registrar.create(new(bounded, Ending(end_ms=end)))
    world.registrar.enable(APP, timer.id)
    world.run_for(120)
    moments = world.target.moments(timer.id)
    assert (min(moments), max(moments)) == (start, end)
    assert len(moments) == 5


# calendars


def test_a_calendar_uploaded_anew_edits_the_timers_that_name_it(world: World) -> None:
    open_ = Calendar("plant")
    timer = world.timer(Bounded(Cron("*/10 * * * * *", "UTC"), excluded=open_))
    plain = world.timer("*/10 * * * * *")
    world.run_for(30)
    today = datetime.fromtimestamp(world.now / 1_000, UTC).date()
    closed = Calendar("plant", days=frozenset({today}))
    for one in (timer, plain):
        world.registrar.edit(APP, one.id, lambda timer: following(timer, closed))
    world.run_for(30)
    assert len(world.target.moments(timer.id)) == 3
    assert len(world.target.moments(plain.id)) == 6


def test_a_single_moment_can_become_a_schedule_and_back(world: World) -> None:
    timer = world.timer(Once(world.now + HOUR_MS))
    world.registrar.edit(APP, timer.id, to(Every(10_000, world.now)))
    world.run_for(30)
    world.registrar.edit(APP, timer.id, to(Once(world.now + 15_000)))
    world.run_for(60)
    assert len(world.target.moments(timer.id)) == 4


def test_a_calendar_does_not_begin_the_count_anew_nor_stumble_over_a_finished_timer(world: World) -> None:
    bounded = Bounded(Cron("*/10 * * * * *", "UTC"), excluded=Calendar("plant"))
    timers = [
        world.registrar.create(replace(new(bounded, Ending(most=most)), name=str(most))) for most in (1, 4)
    ]
    for timer in timers:
        world.registrar.enable(APP, timer.id)
    world.run_for(21)
    far_day = Calendar("plant", days=frozenset({datetime(2001, 1, 1, tzinfo=UTC).date()}))
    for timer in timers:
        world.registrar.edit(APP, timer.id, lambda timer: following(timer, far_day))
    world.run_for(120)
    assert [len(world.target.moments(timer.id)) for timer in timers] == [1, 4]


def test_a_single_moment_long_past_is_refused(idle: World) -> None:
    timer = idle.timer("* * * * *")
    with pytest.raises(InvalidInput) as caught:
        idle.registrar.edit(APP, timer.id, to(Once(idle.now - 61_000)))
    assert caught.value.field == "schedule.at"


def test_what_came_due_before_an_edit_is_made_though_nobody_could_make_it_then(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=0).start()
    timer = world.timer("*/10 * * * * *")
    world.run_for(45)
    edited_at = world.now
    world.registrar.edit(APP, timer.id, to(Cron("7 0 0 1 1 *", "UTC")))
    world.run_for(45)
    world.start_executor("late")
    world.run_for(30)
    called = world.target.moments(timer.id)
    assert len(called) == len(set(called)) >= 4
    assert max(called) <= edited_at
    assert reasons(world, timer)[FiringStatus.SKIPPED] == {"superseded"}


def test_what_waits_for_a_failing_host_is_made_after_two_edits(make_world: Callable[..., World]) -> None:
    world = make_world(executors=1).start()
    timer = world.timer("*/2 * * * * *")
    world.run_for(6)
    world.target.answer = lambda *_: Answer(503)
    world.run_for(40)
    edited_at = world.now
    for minute in (7, 8):
        world.registrar.edit(APP, timer.id, to(Cron(f"{minute} 0 0 1 1 *", "UTC")))
    world.run_for(10)
    world.target.answer = lambda *_: Answer()
    world.run_for(400)
    due = [one for one in world.records(timer) if one.firing.fire_at < edited_at - 2_000]
    assert len(due) >= 20
    assert {one.firing.status for one in due} == {FiringStatus.SUCCEEDED}
