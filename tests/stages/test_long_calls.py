"""Calls that may take longer than the deployment's: held for as long, counted for as long, made anew after a stop."""

from collections.abc import Callable

from tests.stages.scripted_target import Answer
from tests.stages.test_lanes import every_second
from tests.stages.test_limited_apps import BIG, HOST, arrivals_of, limited, most_at_once
from tests.stages.world import World
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.call_options import Timeouts
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.executor.room import Room

MakeWorld = Callable[..., World]
TEN_MINUTES = Timeouts(total_ms=600_000)


def long_timer(world: World, due_in_ms: int = 10_000, name: str = "long") -> Timer:
    new = NewTimer(
        BIG, name, Once(int(world.now) + due_in_ms), Notify(f"http://{HOST}/"), timeouts=TEN_MINUTES
    )
    return world.registrar.enable(BIG, world.registrar.create(new).id)


def stop_for_another(world: World) -> None:
    """Stop the only callback process in order, as another one begins."""
    (node,) = world.executor_nodes
    world.start_executor("next")
    world.executor_nodes.remove(node)
    world.time.spawn(node.process, lambda: (node.executor.drain(12.0), node.process.kill()))


def test_a_call_of_nine_minutes_is_made_once(make_world: MakeWorld) -> None:
    world = make_world().start()
    timer = long_timer(world)
    world.target.answer = lambda _arrival: Answer(after_ms=540_000)
    world.run_for(560)
    assert len(world.target.of(timer.id)) == 1
    record = world.record(timer)
    assert (record.firing.status, record.cost_ms) == (FiringStatus.SUCCEEDED, 540_000)


def test_a_call_ends_at_its_own_time_out(make_world: MakeWorld) -> None:
    world = make_world().start()
    timer = long_timer(world)
    world.target.answer = lambda _arrival: Answer(after_ms=3_600_000)
    world.run_for(620)
    first, second = world.target.of(timer.id)
    assert 600_000 <= second.at_ms - first.at_ms <= 602_000
    assert (first.attempt, second.attempt) == (1, 2)


def test_a_call_that_a_stop_cuts_off_is_made_anew_by_another_process_as_the_same_attempt(
    make_world: MakeWorld,
) -> None:
    world = make_world(executors=1).start()
    timer = long_timer(world)
    world.target.answer = lambda _arrival: Answer(after_ms=60_000)
    world.run_for(20)
    stop_for_another(world)
    world.run_for(90)
    first, second = world.target.of(timer.id)
    assert (first.attempt, second.attempt) == (1, 1)
    assert second.at_ms - first.at_ms < 30_000
    assert world.record(timer).firing.status is FiringStatus.SUCCEEDED


def test_a_stop_gives_the_permits_of_what_it_cuts_off_back(make_world: MakeWorld) -> None:
    """The next process waited for ten minutes, at each deployment."""
    world = limited(make_world, CallLimit(at_once=1), executors=1)
    world.target.answer = lambda _arrival: Answer(after_ms=60_000)
    timer = long_timer(world)
    world.run_for(20)
    stop_for_another(world)
    world.run_for(120)
    first, second = world.target.of(timer.id)
    assert second.at_ms - first.at_ms < 30_000


def test_the_target_never_has_more_long_calls_at_once_though_their_process_is_killed(
    make_world: MakeWorld,
) -> None:
    world = limited(make_world, CallLimit(at_once=2), executors=2)
    world.target.answer = lambda _arrival: Answer(after_ms=120_000)
    for number in range(6):
        long_timer(world, 10_000 + 10 * number, f"long-{number}")
    world.run_for(20)
    assert len(arrivals_of(world)) == 2
    dead = next(node for node in world.executor_nodes if node.claims.current())
    dead.process.kill()
    world.run_for(1_200)
    arrivals = arrivals_of(world)
    assert len({one.timer_id for one in arrivals}) == 6
    assert most_at_once(arrivals, 120_000) <= 2


def test_long_calls_with_large_bodies_leave_other_apps_their_room(make_world: MakeWorld) -> None:
    """All requests of a process share its room: 80 of them took it for ten minutes."""
    world = make_world(executors=1, room=Room(8_000_000, 0.0)).start()
    world.target.answer = lambda arrival: Answer(after_ms=590_000 if "large" in arrival.request.url else 5)
    every_second(world, "other", ["good.test"], 1)
    for number in range(80):
        call = Notify(f"http://large{number % 8}.test/", body="x" * 60_000)
        new = NewTimer(BIG, f"large-{number}", Once(int(world.now) + 15_000), call, timeouts=TEN_MINUTES)
        world.registrar.enable(BIG, world.registrar.create(new).id)
    world.run_for(100)
    assert len(arrivals_of(world, "large")) == 80
    good = arrivals_of(world, "good.test")
    assert len(good) >= 95
    assert max(arrival.late_ms for arrival in good) < 2_000
