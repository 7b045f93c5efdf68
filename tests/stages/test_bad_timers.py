"""One timer that cannot be read, judged or planned harms no other, and is not lost."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.stages.world import APP, World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.schedules.schedule import Once, Schedule
from wangtimer.core.timers.timer import Notify, Timer
from wangtimer.executor.unread import GIVEN_UP_AFTER_MS

MINUTE_S = 60
UNKNOWN_ZONE = Cron("*/10 * * * * *", "Mars/Phobos")


def spoil(
    world: World, timer: Timer, schedule: Schedule = UNKNOWN_ZONE, notify: Notify | None = None
) -> None:
    """Let a timer, edited by a node that knows more, be one that this node cannot judge."""
    timers = world.sql.table("timers")
    held = timers[timer.id]
    definition = held.definition._replace(
        version=held.definition.version + 1,
        schedule=schedule,
        edited_at=world.now,
        notify=notify or held.definition.notify,
    )
    timers[timer.id] = replace(held, definition=definition, updated_at=world.now)
    world.definitions.put([definition])


def mend(world: World, timer: Timer) -> None:
    spoil(world, timer, Cron("*/10 * * * * *", "UTC"))


@pytest.fixture
def lone(make_world: Callable[..., World]) -> World:
    return make_world(executors=1).start()


def test_the_neighbours_of_a_timer_that_cannot_be_judged_are_on_time(lone: World) -> None:
    neighbours = [lone.timer("*/10 * * * * *") for _ in range(20)]
    bad = lone.timer("*/10 * * * * *")
    lone.run_for(5)
    spoil(lone, bad)
    lone.run_for(120)
    for one in neighbours:
        arrivals = lone.target.of(one.id)
        assert len(arrivals) >= 12
        assert max(arrival.late_ms for arrival in arrivals) == 0


def test_what_cannot_be_judged_here_is_sent_once_it_can_be(lone: World) -> None:
    bad = lone.timer("*/10 * * * * *")
    lone.run_for(7)
    spoil(lone, bad)
    since = lone.now
    lone.run_for(60)
    waiting = [one.firing.fire_at for one in lone.records(bad) if since < one.firing.fire_at <= lone.now]
    assert len(waiting) == 6
    assert not [one for one in lone.settled(bad) if one.firing.fire_at > since]
    mend(lone, bad)
    lone.run_for(180)
    assert set(waiting) <= {arrival.fire_at for arrival in lone.target.of(bad.id)}


def test_what_nobody_could_judge_for_ten_minutes_has_failed_and_says_why(lone: World) -> None:
    once = lone.once_in(20)
    spoil(lone, once, UNKNOWN_ZONE)
    moment = lone.record(once).firing.fire_at
    claims = lone.executor_nodes[0].taps
    looks: list[int] = []
    claims["before timers.definitions"] = lambda: looks.append(lone.now)
    lone.run_for(20 + GIVEN_UP_AFTER_MS / 1_000 - 30)
    assert lone.record(once).firing.status is FiringStatus.PENDING
    lone.run_for(60)
    record = lone.record(once)
    assert record.firing.status is FiringStatus.FAILED
    assert "Mars/Phobos" in record.error
    assert not lone.target.of(once.id)
    assert len(looks) < 15, "pauses grow"
    assert moment + GIVEN_UP_AFTER_MS <= lone.now


def test_a_row_that_sql_has_and_nobody_here_can_read_waits_and_then_fails(lone: World) -> None:
    once = lone.once_in(20)
    lone.sql.table("unreadable")[once.id] = "its row cannot be read: KeyError: 'days'"
    lone.redis.table("definitions").clear()
    lone.run_for(40)
    assert lone.record(once).firing.status is FiringStatus.PENDING
    lone.run_for(GIVEN_UP_AFTER_MS / 1_000 + 20)
    assert lone.record(once).firing.status is FiringStatus.FAILED
    assert "its row cannot be read" in lone.record(once).error


def test_a_call_that_cannot_be_made_of_a_definition_waits_and_then_fails_and_harms_no_other(
    lone: World,
) -> None:
    bad = lone.once_in(20)
    good = lone.timer(Once(lone.record(bad).firing.fire_at))
    notify = bad.definition.notify._replace(body=None)  # type: ignore[arg-type]
    spoil(lone, bad, bad.definition.schedule, notify)
    lone.run_for(30)
    assert [arrival.late_ms for arrival in lone.target.of(good.id)] == [0]
    lone.run_for(GIVEN_UP_AFTER_MS / 1_000 + 20)
    assert lone.record(bad).firing.status is FiringStatus.FAILED


def test_a_page_full_of_timers_that_cannot_be_read_does_not_stop_planning(
    make_world: Callable[..., World],
) -> None:
    world = make_world(plan_page_timers=20)
    bad = [world.timer("* * * * *") for _ in range(100)]
    good = world.timer("30 * * * * *")
    world.sql.table("unreadable").update({timer.id: "another version wrote it" for timer in bad})
    world.run_for(1)
    world.beat.migrator.plan_due()
    assert len(world.records(good)) >= 119
    reads: list[int] = []
    world.beat.taps["before timers.to_plan"] = lambda: reads.append(1)
    world.beat.migrator.plan_due()
    assert len(reads) <= 2, "bad ones rest"


def test_a_page_full_of_timers_that_cannot_be_planned_does_not_stop_planning(
    make_world: Callable[..., World],
) -> None:
    world = make_world(plan_page_timers=20)
    bad = [world.timer("* * * * *") for _ in range(100)]
    good = world.timer("30 * * * * *")
    for timer in bad:
        spoil(world, timer)
    world.beat.migrator.plan_due()
    assert len(world.records(good)) >= 119


def test_a_plan_that_sql_refuses_keeps_no_other_from_being_made(make_world: Callable[..., World]) -> None:
    world = make_world()
    good, bad = [world.timer("* * * * *") for _ in range(7)], world.timer("* * * * *")
    commit = world.timers.commit_plans

    def refusing(plans, firings):
        if any(one.timer.id == bad.id for one in plans):
            raise ValueError("a moment that no column holds")
        return commit(plans, firings)

    world.timers.commit_plans = refusing  # type: ignore[method-assign]
    world.beat.migrator.plan_due()
    assert all(len(world.records(timer)) >= 119 for timer in good)
    assert len(world.records(bad)) < 3


def test_a_change_to_a_row_that_cannot_be_read_leaves_no_older_definition_to_fire_by(lone: World) -> None:
    timer = lone.timer("*/10 * * * * *")
    lone.run_for(5)
    lone.redis.away = True
    lone.registrar.disable(APP, timer.id)
    lone.redis.away = False
    lone.sql.table("unreadable")[timer.id] = "another version wrote it"
    lone.beat.sweeper.sweep()
    assert lone.definitions.get([timer.id]).definitions == {}
