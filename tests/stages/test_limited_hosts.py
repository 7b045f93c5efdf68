"""Limits of target hosts, over all apps and of each app: host before app, and nobody waits while it holds a permit."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from tests.stages.scripted_target import Answer, Arrival
from tests.stages.test_lanes import every_second, waiting_in
from tests.stages.test_limited_apps import most_at_once
from tests.stages.world import World
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.limits import ANY_HOST, CallLimits
from wangtimer.core.flow.origin import read_url
from wangtimer.core.flow.slicing import SharedLane

MakeWorld = Callable[..., World]

BIG, OTHER = "big", "other"
HOST, GOOD = "big.test", "good.test"
PORTED = f"{HOST}:80"


def limited(make_world: MakeWorld, limits: CallLimits, executors: int = 2) -> World:
    world = make_world(executors=executors)
    world.limits_in_sql = limits
    world.limits.tell()
    return world.start()


def arrivals_of(world: World, host: str = HOST) -> list[Arrival]:
    return [arrival for arrival in world.target.arrivals if host in arrival.request.url]


def test_a_host_is_called_at_its_rate_by_all_apps_together_and_others_are_on_time(
    make_world: MakeWorld,
) -> None:
    world = limited(make_world, CallLimits(hosts={PORTED: CallLimit(per_second=5)}))
    for app in (BIG, OTHER):
        every_second(world, app, [HOST], 6)
    every_second(world, "third", [GOOD], 3)
    world.run_for(40)
    first = arrivals_of(world)[0].at_ms
    calls = [one for one in arrivals_of(world) if one.at_ms < first + 30_000]
    assert 0.95 * 150 <= len(calls) <= 150 + CallLimit(5).burst
    overtakings = sum(after.fire_at < before.fire_at - 1_000 for before, after in pairwise(calls))
    assert overtakings <= len(calls) / 100
    assert max(one.late_ms for one in arrivals_of(world, GOOD)) <= 50
    assert waiting_in(world, SharedLane.of_host_limit(PORTED)) > 100


def test_a_host_never_has_more_calls_at_once_though_a_process_is_killed(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimits(hosts={ANY_HOST: CallLimit(at_once=6)}), executors=3)
    world.target.answer = lambda arrival: Answer(after_ms=900 if HOST in arrival.request.url else 5)
    for app in (BIG, OTHER):
        every_second(world, app, [HOST], 6)
    world.run_for(10)
    world.executor_nodes[0].process.kill()
    world.run_for(30)
    calls = arrivals_of(world)
    assert most_at_once(calls, 900) == 6
    last = [one for one in calls if one.at_ms >= world.now - 10_000]
    assert len(last) >= 0.9 * 6 * 10 / 1.0


def test_an_app_has_so_many_calls_at_each_host_and_another_app_there_its_own(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimits(to_one_host={BIG: CallLimit(at_once=2)}), executors=1)
    world.target.answer = lambda arrival: Answer(after_ms=900)
    every_second(world, BIG, [HOST, GOOD], 8)
    other = every_second(world, OTHER, [HOST], 3)
    world.run_for(30)
    ids = {str(timer.id) for timer in other}
    of_others = [one for one in arrivals_of(world) if dict(one.request.headers)["X-WangTimer-Timer"] in ids]
    mine = [one for one in arrivals_of(world) if one not in of_others]
    assert most_at_once(mine, 900) == 2
    assert most_at_once(arrivals_of(world, GOOD), 900) == 2
    assert max(one.late_ms for one in of_others) <= 50
    assert waiting_in(world, SharedLane.of_app_at_host(BIG, PORTED)) > 10


def test_where_host_and_app_are_both_far_over_their_limits_both_limits_hold_and_few_moves_are_made(
    make_world: MakeWorld,
) -> None:
    limits = CallLimits({BIG: CallLimit(per_second=4)}, {PORTED: CallLimit(per_second=4)})
    world = limited(make_world, limits)
    moves: Counter[object] = Counter()
    noted = world.firings.note_lanes

    def counted(by_lane: dict[SharedLane, list[Member]]) -> set[Member]:
        moves.update(member for members in by_lane.values() for member in members)
        return noted(by_lane)

    world.firings.note_lanes = counted  # type: ignore[method-assign, assignment]
    every_second(world, BIG, [HOST, GOOD], 8)
    every_second(world, OTHER, [HOST], 4)
    world.run_for(60)
    at_host = arrivals_of(world)
    lasted_s = (at_host[-1].at_ms - at_host[0].at_ms) / 1_000
    assert 0.9 * 4 * lasted_s <= len(at_host) <= 4 * lasted_s + CallLimit(4).burst
    called = [one for one in world.target.arrivals if one.request.app == BIG]
    assert 0.85 * 4 * lasted_s <= len(called) <= 4 * lasted_s + CallLimit(4).burst
    assert max(moves.values()) <= 25
    assert sum(moves.values()) / len(moves) <= 2


def test_waiting_for_a_host_uses_no_attempt_and_a_limit_that_goes_lets_all_go(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimits(hosts={PORTED: CallLimit(per_second=1)}))
    timers = every_second(world, BIG, [HOST], 5)
    world.run_for(20)
    lane = SharedLane.of_host_limit(PORTED)
    waiting = [one.firing for timer in timers for one in world.records(timer) if one.firing.lane == lane.key]
    assert len(waiting) >= 40
    assert {one.attempt for one in waiting} == {1}
    world.limits.write(CallLimits())
    world.run_for(10)
    assert world.redis.table("lanes") == {}
    late = [one for timer in timers for one in world.records(timer) if one.firing.fire_at < world.now - 3_000]
    assert {one.firing.status for one in late} == {FiringStatus.SUCCEEDED}


def test_a_host_spelled_otherwise_has_the_limit_of_the_same_host(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimits(hosts={PORTED: CallLimit(per_second=5)}))
    every_second(world, BIG, [f"{HOST}.", HOST.upper(), HOST], 9)
    assert read_url("http://[::ffff:93.184.216.34]/")[0].host_port == "93.184.216.34:80"
    world.run_for(20)
    calls = world.target.arrivals
    lasted_s = (calls[-1].at_ms - calls[0].at_ms) / 1_000
    assert len(calls) <= 5 * lasted_s + CallLimit(5).burst
