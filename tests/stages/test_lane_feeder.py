"""More waits in a lane than Redis may hold: it holds the first due, and the rest comes as there is room."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.test_lanes import HUNG, LANE, NEVER, PLACES, hang, latest_of, start_both, waiting_in
from tests.stages.world import World
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.store.redis.lanes import LEAST

MakeWorld = Callable[..., World]

MANY = 1_000
DAY_MS = 86_400_000


@pytest.fixture
def small(make_world: MakeWorld) -> World:
    """One callback process, and lanes that may hold no more than the least."""
    world = make_world(executors=1, places=PLACES, lanes_memory_mb=0)
    world.target.answer = hang
    return world.start()


def with_many_waiting(world: World, host: str = HUNG, number: int = MANY, every_ms: int = 1) -> Timer:
    """Return a timer of which many firings wait for a target that hangs."""
    app = "hog" if host == HUNG else host
    new = NewTimer(app, host, Once(world.now + DAY_MS), Notify(f"http://{host}/due"))
    timer = world.registrar.enable(app, world.registrar.create(new).id)
    since, lane = world.now - 60_000, SharedLane.of_way(app, f"{host}:80", "/due")
    moments = range(since, since + number * every_ms, every_ms)
    rows = [Firing.planned(timer.id, moment, 0)._replace(lane=lane.key) for moment in moments]
    world.firings.insert(rows)
    world.beat.hot.add(rows)
    return timer


def test_redis_holds_no_more_than_it_may_of_what_waits(small: World) -> None:
    hung, _ = start_both(small)
    for _ in range(60):
        small.run_for(1)
        assert waiting_in(small) <= LEAST
    overdue = sum(one.firing.due_at < small.now for timer in hung for one in small.records(timer))
    assert overdue > 5 * LEAST


def test_once_the_target_answers_all_that_waited_is_called_the_first_due_first(small: World) -> None:
    hog = with_many_waiting(small)
    small.run_for(10)
    small.target.answer = lambda _arrival: Answer()
    small.target.arrivals.clear()
    small.run_for(200)
    assert latest_of(small, [hog])[FiringStatus.SUCCEEDED] == MANY
    first_calls = [one for one in small.target.arrivals if one.timer_id == hog.id and one.attempt == 1]
    moments = [arrival.fire_at for arrival in first_calls]
    # What stood in Redis is called side by side, and each feeding comes behind it.
    assert all(later > earlier - 2 * LEAST for earlier, later in pairwise(moments))
    assert small.redis.table("rests") == {}
    assert LANE not in small.redis.table("lanes")


def test_what_comes_due_meanwhile_does_not_overtake_the_rest(small: World) -> None:
    hog = with_many_waiting(small)
    small.run_for(1)
    late = Firing.planned(hog.id, small.now - 1_000, 0)._replace(lane=LANE.key)
    small.firings.insert([late])
    small.beat.hot.add([late])
    assert not small.redis.table("slices")[LANE].holds(late.member)
    small.target.answer = lambda _arrival: Answer()
    small.run_for(200)
    assert latest_of(small, [hog])[FiringStatus.SUCCEEDED] == MANY + 1


def test_after_a_loss_of_redis_the_rest_comes_too(small: World) -> None:
    hog = with_many_waiting(small)
    small.run_for(10)
    small.redis.lose()
    small.run_for(20)
    assert waiting_in(small) <= LEAST
    small.target.answer = lambda _arrival: Answer()
    small.run_for(200)
    assert latest_of(small, [hog])[FiringStatus.SUCCEEDED] == MANY


def test_a_feeding_that_fails_half_way_is_done_again(small: World) -> None:
    hog = with_many_waiting(small)
    small.run_for(10)
    small.target.answer = lambda _arrival: Answer()
    fails = [True, False, True, False]

    def fail_now_and_then() -> None:
        if fails and fails.pop():
            raise StoreAway("Redis", "gone")

    small.beat.taps["after lanes.fed"] = fail_now_and_then
    small.run_for(200)
    assert latest_of(small, [hog])[FiringStatus.SUCCEEDED] == MANY
    assert not fails


def test_targets_that_hang_on_leave_a_target_that_answers_again_its_rate(make_world: MakeWorld) -> None:
    # 4,000 firings in lanes, all taken up by the others.
    world = make_world(executors=1, places=(200, 4_000), lanes_memory_mb=1)
    world.target.answer = lambda _arrival: NEVER
    world.start()
    for number in range(12):
        with_many_waiting(world, f"dead{number}.test")
    mine = with_many_waiting(world, number=3_000)
    world.run_for(15)
    assert waiting_in(world) <= LEAST
    world.target.answer = lambda arrival: Answer(after_ms=50) if HUNG in arrival.request.url else NEVER
    world.run_for(35)
    assert latest_of(world, [mine]) == {FiringStatus.SUCCEEDED: 3_000}


def test_many_that_wait_for_another_target_hide_none(small: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # A pass reads 1,000 rows, and 20 of the other's stand before each of this one's.
    monkeypatch.setattr("wangtimer.window.lane_feeder.PAGE", 20)
    with_many_waiting(small, f"other.{HUNG}", 6_000)
    with_many_waiting(small, number=3 * LEAST, every_ms=20)
    small.redis.table("slices")[LANE].due.clear()
    assert small.beat.lane_feeder.feed() == LEAST


def test_without_a_rest_nothing_is_read(small: World) -> None:
    small.run_for(10)
    asked = []
    small.firings.pending_between = lambda *_what, **_how: asked.append(1) or []
    assert small.beat.lane_feeder.feed() == 0
    assert asked == []
