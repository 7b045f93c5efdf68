from collections.abc import Callable
from dataclasses import replace
from threading import Barrier

import pytest

from tests.stages.world import APP, Beat, World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.flow.planning import Plan
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import Timer
from wangtimer.store.redis.window import NARROW_MS
from wangtimer.testing.doubles import HandClock

HOUR_MS = 3_600_000
SETTLED = {FiringStatus.SUCCEEDED}


@pytest.fixture
def idle(make_world: Callable[..., World]) -> World:
    """A deployment whose beat never ticks, and that only plans."""
    return make_world(executors=0)


def moments(world: World, timer_id: int) -> list[int]:
    table = world.sql.table("firings")
    return sorted(fire_at for one, fire_at in table if one == timer_id)


def test_a_timer_with_less_than_a_step_left_is_planned_two_steps_ahead(idle: World) -> None:
    timer = idle.timer("* * * * *")
    assert idle.beat.migrator.plan_due() == 1
    planned = moments(idle, timer.id)
    assert planned == list(range(idle.now + 60_000, idle.now + 2 * HOUR_MS + 1, 60_000))
    idle.beat.feeder.feed()
    assert idle.members_in_slices == 120


def test_while_nothing_is_to_plan_no_timer_is_read(idle: World) -> None:
    reads: list[str] = []
    for name in ("timers.to_plan", "timers.unplanned"):
        idle.beat.taps[f"before {name}"] = lambda name=name: reads.append(name)
    assert idle.beat.migrator.plan_due() == 0
    assert reads == []
    idle.timer("* * * * *")
    assert idle.beat.migrator.plan_due() == 1
    assert reads
    reads.clear()
    idle.beat.migrator.plan_due()
    assert reads == []


def test_what_is_planned_beyond_the_window_waits_in_sql(make_world: Callable[..., World]) -> None:
    world = make_world(executors=0, window_memory_mb=0)
    timer = world.timer("* * * * *")
    world.beat.feeder.feed()
    world.beat.migrator.plan_due()
    assert (len(moments(world, timer.id)), world.members_in_slices) == (120, 5)


def test_of_what_no_mark_says_planning_adds_the_next_two_minutes(idle: World) -> None:
    idle.timer("*/10 * * * * *")
    idle.beat.migrator.plan_due()
    assert idle.members_in_slices == 12


def test_a_dense_timer_is_planned_by_count_and_again_when_half_is_left(
    make_world: Callable[..., World],
) -> None:
    idle = make_world(executors=0, plan_most_moments=1_500)
    timer = idle.timer("* * * * * *")
    idle.beat.migrator.plan_due()
    assert len(moments(idle, timer.id)) == 1_500
    idle.run_for(740)
    assert idle.beat.migrator.plan_due() == 0
    idle.run_for(20)
    assert idle.beat.migrator.plan_due() == 1
    planned = moments(idle, timer.id)
    assert planned == list(range(planned[0], idle.now + 1_500_001, 1_000))


def test_dense_timers_are_planned_in_turns_the_least_planned_first(make_world: Callable[..., World]) -> None:
    world = make_world(executors=0, plan_page_timers=2, plan_most_moments=300)
    timers = [world.timer("* * * * * *") for _ in range(5)]
    planned: list[int] = []
    world.beat.taps["after timers.commit_plans"] = lambda: planned.append(
        min(len(moments(world, timer.id)) for timer in timers)
    )
    world.beat.migrator.plan_due()
    assert planned[2] >= 2 * world.settings.near_s
    assert all(750 < len(moments(world, timer.id)) <= 1_500 for timer in timers)


def test_in_a_rush_what_comes_soon_of_each_is_planned_before_what_comes_late_of_others(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=0, plan_page_timers=2)
    timers = [world.timer("* * * * * *") for _ in range(6)]
    planned: list[tuple[int, int]] = []

    def note() -> None:
        numbers = [len(moments(world, timer.id)) for timer in timers]
        planned.append((min(numbers), max(numbers)))

    world.beat.taps["after timers.commit_plans"] = note
    world.beat.migrator.plan_due()
    soon = 2 * world.settings.near_s
    assert next(least for least, most in planned if most > soon) == soon
    assert all(len(moments(world, timer.id)) > 750 for timer in timers)


def test_in_strain_the_far_future_is_planned_in_parts_with_rests_and_what_comes_near_goes_first(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.planning.migrator.ROWS_A_TRANSACTION", 1_000)
    world = make_world(executors=0)
    timers = [world.timer("* * * * * *") for _ in range(4)]
    soon = 2 * world.settings.near_s
    world.strained_until = float("inf")
    began_at = world.now
    seen: list[list[int]] = []

    def work() -> None:
        """A transaction takes 0.1 s; after the first of the far future another timer comes up."""
        world.time.sleep(0.1)
        seen.append([len(moments(world, timer.id)) for timer in timers])
        if len(seen) == 2:
            timers.append(world.timer("* * * * * *"))

    world.beat.taps["after timers.commit_plans"] = work
    world.beat.migrator.plan_due()
    assert max(seen[0]) <= soon, "first what comes soon of all"
    assert max(seen[1]) > soon
    assert seen[2][-1] <= soon, "then what comes soon of the new one, before the rest of the others"
    assert all(len(moments(world, timer.id)) > 700 for timer in timers)
    parts = len(seen) - 2
    assert 100 * len(seen) + 100 * parts <= world.now - began_at <= 100 * len(seen) + 4 * 100 * parts


def plan_at_100_ms_a_part(world: World) -> tuple[int, int]:
    """Plan where each part takes 100 ms; return how long that took, ms, and the number of parts."""
    began_at, parts = world.now, []

    def work() -> None:
        world.time.sleep(0.1)
        parts.append(world.now)

    world.beat.taps["after timers.commit_plans"] = work
    world.beat.migrator.plan_due()
    return world.now - began_at, len(parts)


def test_in_strain_one_timer_that_is_near_lets_no_others_of_its_page_go_on_without_rest(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.planning.migrator.ROWS_A_TRANSACTION", 1_000)
    world = make_world(executors=0, plan_most_moments=400)
    for _ in range(4):
        world.timer("* * * * * *")
    world.beat.migrator.plan_due()
    world.run_for(600)
    world.timer("* * * * * *")
    world.strained_until = float("inf")
    took_ms, parts = plan_at_100_ms_a_part(world)
    assert parts > 1
    assert took_ms >= 100 * parts + 4 * 100


def test_a_timer_just_made_spares_those_it_is_planned_with_no_rest(idle: World) -> None:
    """An app could else make one for each transaction of its others."""
    far = replace(idle.timer("* * * * * *"), planned_until=idle.now + 3_600_000)
    fresh = replace(far, planned_until=idle.now + 60_000)
    idle.strained_until = float("inf")
    plans = [Plan(timer, (), timer.planned_until, None) for timer in (fresh, far)]
    began_at = idle.now
    assert idle.beat.migrator._rests_after(plans, 0.5)
    assert idle.now - began_at == 2_000
    assert not idle.beat.migrator._rests_after(plans[:1], 0.5)


def test_a_process_that_is_asked_to_stop_plans_no_further_part_and_the_next_one_goes_on(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.planning.migrator.ROWS_A_TRANSACTION", 1_000)
    world = make_world(executors=0)
    timers = [world.timer("* * * * * *") for _ in range(4)]

    def stop() -> None:
        world.beat.stopping.set()

    world.beat.taps["after timers.commit_plans"] = stop
    assert world.beat.migrator.plan_due() < 4
    world.beat.stopping.clear()
    world.beat.taps.clear()
    world.beat.migrator.plan_due()
    assert all(len(moments(world, timer.id)) > 700 for timer in timers)


@pytest.mark.parametrize(("ahead_s", "rest"), [(0, 0), (60, 0), (61, 1), (300, 1), (301, 4), (3_600, 4)])
def test_the_further_ahead_all_is_planned_the_longer_planning_rests_in_strain(
    idle: World, ahead_s: int, rest: int
) -> None:
    assert idle.beat.migrator._rest_of(ahead_s * 1_000) == rest


def test_whether_there_is_strain_is_not_asked_where_nothing_is_to_be_planned(idle: World) -> None:
    asked: list[bool] = []
    migrator = replace(idle.beat.migrator, is_strained=lambda: bool(asked.append(True)))
    assert (migrator.plan_due(), asked) == (0, [])
    idle.timer("* * * * *")
    assert migrator.plan_due() == 1
    assert asked


def test_without_strain_planning_takes_no_rest(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.planning.migrator.ROWS_A_TRANSACTION", 1_000)
    world = make_world(executors=0)
    for _ in range(4):
        world.timer("* * * * * *")
    took_ms, parts = plan_at_100_ms_a_part(world)
    assert took_ms == 100 * parts


def test_while_many_are_planned_redis_gets_what_it_always_holds(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.planning.migrator.ROWS_A_TRANSACTION", 1_000)
    monkeypatch.setattr("wangtimer.planning.plan_writer.ROWS_A_TRANSACTION", 1_000)
    world = make_world(executors=0, window_s=300)
    world.beat.feeder.feed()
    for _ in range(3):
        world.timer("* * * * * *")
    world.beat.migrator.plan_due()
    until = ((world.now + 300_000) // 60_000 + 1) * 60_000
    assert world.members_in_slices == 3 * ((until - 1) // 1_000 - world.now // 1_000)
    world.run_for(11)
    world.beat.feeder.feed()
    pending = len([1 for _, fire_at in world.sql.table("firings") if fire_at > world.now])
    assert world.members_in_slices >= pending > 3 * 700


def test_planning_writes_the_definitions_its_firings_will_need(idle: World) -> None:
    timer = idle.timer("* * * * *")
    idle.redis.lose("definitions")
    idle.beat.migrator.plan_due()
    assert idle.definitions.get([timer.id]).definitions == {timer.id: timer.definition}


def test_a_timer_with_more_than_a_step_left_is_not_even_read(idle: World) -> None:
    idle.timer("* * * * *")
    idle.beat.migrator.plan_due()
    idle.run_for(3_500)
    assert idle.beat.migrator.plan_due() == 0
    idle.run_for(200)
    assert idle.beat.migrator.plan_due() == 1


def test_a_moment_beyond_the_step_waits_until_it_is_near(idle: World) -> None:
    timer = idle.timer(Once(idle.now + 5 * HOUR_MS))
    assert idle.beat.migrator.plan_due() == 0
    idle.run_for(4 * 3_600)
    assert idle.beat.migrator.plan_due() == 1
    assert moments(idle, timer.id) == [timer.definition.schedule.first_after(0)]
    assert idle.beat.migrator.plan_due() == 0


def test_planning_goes_on_where_it_stopped_after_any_outage(idle: World) -> None:
    timer = idle.timer("* * * * *")
    idle.beat.migrator.plan_due()
    idle.run_for(30 * 3_600)
    idle.beat.migrator.plan_due()
    planned = moments(idle, timer.id)
    assert planned == list(range(planned[0], planned[-1] + 1, 60_000))
    assert planned[-1] == idle.now + 2 * HOUR_MS


def test_after_an_outage_the_present_is_planned_first_then_the_past_and_then_the_far_future(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=0, plan_most_moments=3_600)
    lagging, present = world.timer("* * * * * *"), world.timer("* * * * *")
    timers, now = world.sql.table("timers"), world.now
    for timer, since in ((lagging, now - HOUR_MS // 2), (present, now)):
        first = timer.definition.schedule.first_after(since)
        timers[timer.id] = replace(timers[timer.id], planned_until=since, next_fire_at=first)
    world.sql.table("firings").clear()
    latest: list[tuple[int, int]] = []
    world.beat.taps["after timers.commit_plans"] = lambda: latest.append(
        (len(moments(world, present.id)), max(moments(world, lagging.id), default=0) - now)
    )
    world.beat.migrator.plan_due()
    assert latest[0] == (120, -now)
    assert latest[1] == (120, world.settings.near_s * 1_000)
    assert latest[-1][1] >= 1_500_000


def test_page_after_page_is_planned_until_nobody_is_left(make_world: Callable[..., World]) -> None:
    world = make_world(plan_page_timers=2)
    timers = [world.timer("0 * * * *") for _ in range(7)]
    assert world.beat.migrator.plan_due() == 7
    assert {len(world.records(timer)) for timer in timers} == {2}


def test_timers_made_while_others_are_planned_wait_for_the_next_look(idle: World) -> None:
    """With 200 made a second, a look would never end, and plan one or two in each transaction."""
    idle.timer("0 * * * *")

    def make_another() -> None:
        del idle.beat.taps["before timers.commit_plans"]
        idle.run_for(0.01)
        made.append(idle.timer("0 * * * *"))

    made: list[Timer] = []
    idle.beat.taps["before timers.commit_plans"] = make_another
    assert idle.beat.migrator.plan_due() == 1
    assert moments(idle, made[0].id) == []
    assert idle.beat.migrator.plan_due() == 1
    assert len(moments(idle, made[0].id)) == 2


def test_new_timers_do_not_keep_those_that_lag_from_being_planned(make_world: Callable[..., World]) -> None:
    """Planning was away; meanwhile and since, timers are made whose second minute is near."""
    world = make_world(executors=0, plan_page_timers=2, plan_most_moments=30)
    lagging = [world.timer("*/30 * * * * *") for _ in range(7)]
    world.run_for(600)
    world.beat.taps["before timers.commit_plans"] = lambda: (
        world.run_for(0.01),
        world.timer("* * * * * *"),
    )
    world.beat.migrator.plan_due()
    assert all(max(moments(world, timer.id)) >= world.now for timer in lagging)


@pytest.mark.test_all
def test_a_timer_made_while_planning_catches_up_does_not_wait_for_its_end(
    make_world: Callable[..., World],
) -> None:
    """Its maker planned a minute of it. Catching up after a long outage may take hours."""
    world = make_world(executors=0, plan_page_timers=2, plan_most_moments=30)
    for _ in range(7):
        world.timer("* * * * * *")
    world.run_for(7_200)
    made: list[Timer] = []
    planned_at: list[int] = []

    def work() -> None:
        world.time.sleep(1)
        made[:] = made or [world.timer("*/10 * * * * *")]
        if max(moments(world, made[0].id), default=0) > made[0].created_at + 70_000 and not planned_at:
            planned_at.append(world.now)

    world.beat.taps["after timers.commit_plans"] = work
    world.beat.migrator.plan_due()
    assert world.now - made[0].created_at > 300_000
    assert planned_at[0] - made[0].created_at < 60_000


def test_a_timer_made_by_a_clock_that_is_ahead_is_planned(idle: World) -> None:
    idle.timer("* * * * *")
    behind = HandClock(idle.now - 60_000)
    assert replace(idle.beat.migrator, clock=behind).plan_due() == 1


def test_a_timer_that_fires_often_is_planned_in_parts_that_leave_nothing_out(
    make_world: Callable[..., World],
) -> None:
    world = make_world(plan_most_moments=100)
    timer = world.timer("* * * * * *")
    assert world.beat.migrator.plan_due() == 7
    planned = moments(world, timer.id)
    assert planned == list(range(planned[0], planned[-1] + 1, 1_000))
    assert planned[-1] > world.now + 750_000


def test_a_timer_changed_while_it_was_planned_is_left_as_it_is(idle: World) -> None:
    timer = idle.timer("* * * * *")
    before = moments(idle, timer.id)
    idle.beat.taps["before timers.commit_plans"] = lambda: idle.registrar.disable(APP, timer.id)
    assert idle.beat.migrator.plan_due() == 0
    assert moments(idle, timer.id) == before


def test_two_migrators_at_once_plan_every_moment_once(idle: World) -> None:
    timer = idle.timer("* * * * *")
    other = Beat(idle)
    idle.beat.taps["before timers.commit_plans"] = other.migrator.plan_due
    idle.beat.migrator.plan_due()
    planned = moments(idle, timer.id)
    assert planned == list(range(idle.now + 60_000, idle.now + 2 * HOUR_MS + 1, 60_000))
    idle.beat.feeder.feed()
    assert idle.members_in_slices == 120


def test_a_timer_that_somebody_holds_keeps_no_other_from_being_planned(
    make_world: Callable[..., World],
) -> None:
    """Whatever its place in the order of planning."""
    world = make_world(executors=0, plan_page_timers=2)
    timers = [world.timer("* * * * *") for _ in range(7)]
    held, commit = {timers[0].id, timers[3].id}, world.timers.commit_plans

    def commit_free(plans: list[Plan], firings: list[Firing]) -> tuple[list[Plan], list[Firing], set[int]]:
        free = [one for one in plans if one.timer.id not in held]
        done, pending, _ = commit(free, [one for one in firings if one.timer_id not in held])
        return done, pending, held & {one.timer.id for one in plans}

    world.timers.commit_plans = commit_free  # type: ignore[method-assign]
    world.run_for(60)
    world.beat.migrator.plan_due()
    planned = {timer.id for timer in timers if len(world.records(timer)) >= 119}
    assert planned == {timer.id for timer in timers} - held
    held.clear()
    world.beat.migrator.plan_due()
    assert all(len(world.records(timer)) >= 119 for timer in timers)


def test_where_another_migrator_took_the_page_the_next_one_is_planned(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=0, plan_page_timers=2)
    timers = [world.timer("0 * * * *") for _ in range(7)]
    other = Beat(world).migrator

    def take_the_page_first() -> None:
        del world.beat.taps["before timers.commit_plans"]
        other._plan_page(*other._next_page(set(), world.now), set())

    world.beat.taps["before timers.commit_plans"] = take_the_page_first
    assert world.beat.migrator.plan_due() == 5
    assert {len(world.records(timer)) for timer in timers} == {2}


def test_what_has_its_outcome_already_is_not_put_back_into_redis_by_planning_it_again(world: World) -> None:
    timer = world.timer("*/10 * * * * *")
    world.run_for(65)
    done = len(world.target.of(timer.id))
    timers = world.sql.table("timers")
    timers[timer.id] = replace(timers[timer.id], planned_until=world.now - 60_000, next_fire_at=world.now)
    world.run_for(60)
    assert len(world.target.of(timer.id)) == done + 6
    assert len(set(world.target.moments(timer.id))) == done + 6


def test_redis_away_while_planning_leaves_the_rows_for_the_repairs(world: World) -> None:
    timer = world.timer("0 * * * * *")
    world.beat.taps["before definitions.put"] = lambda: setattr(world.redis, "away", True)
    world.beat.migrator.plan_due()
    del world.beat.taps["before definitions.put"]
    world.redis.away = False
    world.run_for(600)
    assert len(world.target.of(timer.id)) == 10
    assert {arrival.late_ms for arrival in world.target.of(timer.id)} == {0}


def test_redis_away_while_counting_buckets_does_not_stop_planning(idle: World) -> None:
    timer = idle.timer("* * * * *")
    idle.redis.away = True
    assert idle.beat.migrator.plan_due() == 1
    assert len(moments(idle, timer.id)) == 120


def test_sql_away_stops_planning_until_it_is_back(idle: World) -> None:
    timer = idle.timer("* * * * *")
    idle.sql.away = True
    with pytest.raises(StoreAway):
        idle.beat.migrator.plan_due()
    idle.sql.away = False
    idle.beat.migrator.plan_due()
    assert len(moments(idle, timer.id)) == 120


def test_a_commit_whose_answer_is_lost_plans_nothing_twice(make_world: Callable[..., World]) -> None:
    idle = make_world()
    timer = idle.timer("* * * * *")
    idle.beat.taps["after timers.to_plan"] = lambda: setattr(idle.sql, "loses_answers", True)
    with pytest.raises(StoreAway):
        idle.beat.migrator.plan_due()
    idle.beat.taps.clear()
    idle.sql.loses_answers = False
    idle.beat.migrator.plan_due()
    idle.beat.start(idle)
    idle.run_for(600)
    sent = idle.target.moments(timer.id)
    assert len(sent) == len(set(sent)) == 10


def test_planning_is_done_in_pages_of_rows_too(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.planning.migrator.ROWS_A_TRANSACTION", 200)
    world = make_world()
    for _ in range(5):
        world.timer("* * * * *")
    commits: list[int] = []
    world.beat.taps["after timers.commit_plans"] = lambda: commits.append(1)
    assert world.beat.migrator.plan_due() == 5
    assert len(commits) == 3
    world.run_for(NARROW_MS / 1_000)
    world.beat.feeder.feed()
    assert world.members_in_slices == 600


def test_threads_that_plan_a_page_together_leave_nothing_out_and_plan_nothing_twice(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.planning.migrator.ROWS_A_TRANSACTION", 200)
    timers = [idle.timer("* * * * *") for _ in range(6)]
    all_at_once = Barrier(3, timeout=10)
    idle.beat.taps["before timers.commit_plans"] = lambda: all_at_once.wait() and None
    migrator = idle.beat.migrator
    assert replace(migrator, plan_rule=replace(migrator.plan_rule, threads=3)).plan_due() == 6
    assert {len(moments(idle, timer.id)) for timer in timers} == {120}
    idle.run_for(NARROW_MS / 1_000)
    idle.beat.feeder.feed()
    assert idle.members_in_slices == 720


def spoil(world: World, timer: Timer, cron: Cron, lag_ms: int = 0) -> None:
    """Let SQL hold a schedule this process cannot read, as after a roll-back to an older release."""
    timers = world.sql.table("timers")
    held = timers[timer.id]
    marks = {"next_fire_at": held.next_fire_at - lag_ms, "planned_until": held.planned_until - lag_ms}
    timers[timer.id] = replace(held, definition=held.definition._replace(schedule=cron), **marks)


@pytest.mark.parametrize("lag_ms", [0, HOUR_MS])
@pytest.mark.parametrize("cron", [Cron("* * * * *", "America/NotYetKnown"), Cron("* * * * fryday", "UTC")])
def test_a_timer_that_cannot_be_planned_keeps_no_other_from_it(idle: World, cron: Cron, lag_ms: int) -> None:
    bad, good = idle.timer("* * * * *"), idle.timer("* * * * *")
    spoil(idle, bad, cron, lag_ms)
    assert idle.beat.migrator.plan_due() == 1
    assert len(moments(idle, good.id)) == 120
    assert moments(idle, good.id)[-1] == idle.now + 2 * HOUR_MS
    assert idle.beat.migrator.plan_due() == 0


def test_more_timers_that_cannot_be_planned_than_a_page_holds_keep_no_other_from_it(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=0, plan_page_timers=2)
    for _ in range(5):
        spoil(world, world.timer("* * * * *"), Cron("* * * * *", "America/NotYetKnown"), HOUR_MS)
    good = [world.timer("* * * * *") for _ in range(3)]
    world.beat.migrator.plan_due()
    assert {len(moments(world, timer.id)) for timer in good} == {120}


def test_a_timer_that_could_not_be_planned_is_planned_once_it_can_be(idle: World) -> None:
    timer = idle.timer("* * * * *")
    spoil(idle, timer, Cron("* * * * *", "America/NotYetKnown"))
    idle.beat.migrator.plan_due()
    spoil(idle, timer, Cron("* * * * *", "UTC"))
    assert idle.beat.migrator.plan_due() == 0, "it rests, so that many bad ones do not cost each look"
    idle.run_for(idle.settings.near_s / 2)
    assert idle.beat.migrator.plan_due() == 1
    assert len(moments(idle, timer.id)) == 120


@pytest.mark.parametrize("switch_off", ["disable", "delete"])
def test_a_timer_that_cannot_be_planned_can_be_switched_off(idle: World, switch_off: str) -> None:
    timer = idle.timer("* * * * *")
    spoil(idle, timer, Cron("* * * * *", "America/NotYetKnown"), HOUR_MS)
    changed = getattr(idle.registrar, switch_off)(APP, timer.id)
    assert not changed.definition.is_enabled
