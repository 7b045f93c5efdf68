"""A host that failed for days is disabled for an app: its firings fail without a call, but for those that try it."""

from collections.abc import Callable

import pytest

from tests.stages.scripted_target import Answer, Arrival
from tests.stages.test_lanes import every_second, waiting_in
from tests.stages.world import World
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.timer import Timer
from wangtimer.executor.disabled_hosts import TRIED_EVERY_S
from wangtimer.executor.sender import HOST_DISABLED_ERROR
from wangtimer.store.sql.firings import FiringRecord

MakeWorld = Callable[..., World]

BIG, OTHER = "big", "other"
HOST, GOOD = "big.test", "good.test"
KEY = (BIG, f"http://{HOST}:80")
LANE = SharedLane.of_way(BIG, f"{HOST}:80", "/due")
# Rules are read every second here.
READ_S = 2
AWAY = Answer(503)


def disable(world: World, *keys: tuple[str, str], paused: str = "") -> None:
    """Let these hosts be disabled, and no others, for processes that start too."""
    world.pauses_in_sql = Pauses(frozenset(filter(None, [paused])))
    world.disabled_in_sql = frozenset(keys)
    world.pauses.tell()
    world.api.disabled_hosts_replica.tell()


def failing(world: World) -> None:
    world.target.answer = lambda arrival: AWAY if HOST in arrival.request.url else Answer()


def calls_since(world: World, since: float, app: str = BIG, host: str = HOST) -> list[Arrival]:
    arrivals = [one for one in world.target.arrivals if one.at_ms >= since]
    return [one for one in arrivals if host in one.request.url and one.request.app == app]


def settled(world: World, timer: Timer, since: float) -> list[FiringRecord]:
    return [one for one in world.records(timer) if since <= one.firing.fire_at < world.now - 3_000]


def test_its_firings_fail_without_a_call_but_one_a_minute_and_process(make_world: MakeWorld) -> None:
    executors = 2
    world = make_world(executors=executors).start()
    failing(world)
    (timer,) = every_second(world, BIG, [HOST], 1)
    every_second(world, BIG, [HOST], 1, "other")
    disable(world, KEY)
    world.run_for(READ_S)
    since = world.now
    world.run_for(3 * TRIED_EVERY_S)
    calls = calls_since(world, since)
    assert 1 <= len(calls) <= 4 * executors
    found = settled(world, timer, since)
    assert len(found) >= 170
    unasked = [one for one in found if one.error == HOST_DISABLED_ERROR]
    assert len(unasked) >= len(found) - len(calls)
    assert {one.firing.status for one in unasked} == {FiringStatus.FAILED}
    assert waiting_in(world, LANE) <= 4 * executors


def test_what_waited_for_it_fails_too_when_it_is_disabled(make_world: MakeWorld) -> None:
    world = make_world(executors=1).start()
    failing(world)
    (timer,) = every_second(world, BIG, [HOST], 1)
    world.run_for(60)
    assert waiting_in(world, LANE) >= 35
    begun = world.now
    disable(world, KEY)
    world.run_for(30)
    assert waiting_in(world, LANE) <= 3
    waited = [one for one in settled(world, timer, 0) if one.firing.fire_at < begun - 20_000]
    assert {one.firing.status for one in waited} <= {FiringStatus.FAILED, FiringStatus.PENDING}
    assert sum(one.error == HOST_DISABLED_ERROR for one in waited) >= 25


def test_other_apps_and_other_hosts_of_the_app_are_called_on_time(make_world: MakeWorld) -> None:
    world = make_world(executors=1).start()
    every_second(world, BIG, [HOST, GOOD], 4)
    every_second(world, OTHER, [HOST], 2)
    disable(world, KEY)
    world.run_for(READ_S)
    since = world.now
    world.run_for(30)
    others = [*calls_since(world, since, BIG, GOOD), *calls_since(world, since, OTHER)]
    assert len(others) >= 3 * 28
    assert max(one.late_ms for one in others) < 50


def test_the_first_answer_of_a_try_is_told_and_what_is_enabled_is_called(make_world: MakeWorld) -> None:
    world = make_world(executors=1).start()
    (timer,) = every_second(world, BIG, [HOST], 1)
    disable(world, KEY)
    world.run_for(2 * TRIED_EVERY_S)
    assert set(world.answered) == {KEY}
    disable(world)
    world.run_for(READ_S)
    since = world.now
    world.run_for(20)
    found = settled(world, timer, since)
    assert len(found) >= 15
    assert {one.firing.status for one in found} == {FiringStatus.SUCCEEDED}


def test_a_try_that_is_turned_away_is_no_answer(make_world: MakeWorld) -> None:
    world = make_world(executors=1).start()
    failing(world)
    every_second(world, BIG, [HOST], 1)
    disable(world, KEY)
    world.run_for(2 * TRIED_EVERY_S)
    assert calls_since(world, 0)
    assert world.answered == []


def test_what_is_paused_too_waits(make_world: MakeWorld) -> None:
    world = make_world(executors=1).start()
    (timer,) = every_second(world, BIG, [HOST], 1)
    disable(world, KEY, paused=f"app:{BIG}")
    world.run_for(READ_S)
    since = world.now
    world.run_for(30)
    assert {one.firing.status for one in settled(world, timer, since)} == {FiringStatus.PENDING}


@pytest.mark.parametrize("part", ["", "/due", "/"], ids=["the whole host", "this part", "another part"])
def test_a_part_is_disabled_by_itself_or_with_its_host(make_world: MakeWorld, part: str) -> None:
    world = make_world().start()
    failing(world)
    (timer,) = every_second(world, BIG, [HOST], 1)
    (other,) = every_second(world, BIG, [HOST], 1, "other")
    disable(world, (BIG, f"http://{HOST}:80{part}"))
    world.run_for(READ_S + 1)
    since = world.now
    world.run_for(20)

    def is_called(one: Timer) -> bool:
        return HOST_DISABLED_ERROR not in {found.error for found in settled(world, one, since)}

    assert (is_called(timer), is_called(other)) == (part == "/", part != "")
