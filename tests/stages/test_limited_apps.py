"""Apps with a limit on their calls: what exceeds it waits in the limit's lane, in due order; nobody else is late."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.stages.scripted_target import Answer, Arrival
from tests.stages.test_lanes import every_second
from tests.stages.world import World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule
from wangtimer.core.timers.timer import NewTimer, Notify

MakeWorld = Callable[..., World]

BIG, OTHER = "big", "other"
LANE = SharedLane.of_limit(BIG)
HOST, GOOD = "big.test", "good.test"
# Of several limited apps.
APPS, SECONDS = 3, 5


def limited(make_world: MakeWorld, limit: CallLimit, executors: int = 2, **made: object) -> World:
    world = make_world(executors=executors, **made)
    world.limits.write(CallLimits({BIG: limit}))
    return world.start()


def arrivals_of(world: World, host: str = HOST) -> list[Arrival]:
    return [arrival for arrival in world.target.arrivals if host in arrival.request.url]


def most_at_once(arrivals: list[Arrival], takes_ms: float) -> int:
    """How many calls the target had at once, if each took so long, whatever became of its caller."""
    ends = [(one.at_ms, 1) for one in arrivals] + [(one.at_ms + takes_ms, -1) for one in arrivals]
    now = most = 0
    for _, change in sorted(ends):
        now += change
        most = max(most, now)
    return most


def test_an_app_is_called_at_its_rate_in_due_order_and_no_other_is_late(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimit(per_second=5))
    big = every_second(world, BIG, [HOST], 20)
    every_second(world, OTHER, [GOOD], 3)
    world.run_for(40)
    first = arrivals_of(world)[0].at_ms
    calls = [one for one in arrivals_of(world) if one.at_ms < first + 30_000]
    assert 0.95 * 150 <= len(calls) <= 150 + CallLimit(5).burst
    overtakings = sum(after.fire_at < before.fire_at - 1_000 for before, after in pairwise(calls))
    assert overtakings <= len(calls) / 100
    good = arrivals_of(world, GOOD)
    assert len(good) >= 35 * 3
    assert max(one.late_ms for one in good) <= 50
    waiting = [record for timer in big for record in world.records(timer) if record.firing.lane]
    assert {record.firing.lane for record in waiting} == {LANE.key}
    assert {record.firing.attempt for record in waiting} == {1}
    assert not [record for record in waiting if record.firing.status is FiringStatus.SKIPPED]


def test_the_target_never_has_more_calls_at_once_though_a_process_is_killed(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimit(at_once=6), executors=3)
    world.target.answer = lambda arrival: Answer(after_ms=900 if HOST in arrival.request.url else 5)
    every_second(world, BIG, [HOST], 12)
    world.run_for(10)
    before = len(arrivals_of(world))
    world.executor_nodes[0].process.kill()
    world.run_for(30)
    calls = arrivals_of(world)
    assert most_at_once(calls, 900) == 6
    assert before >= 6 * 5
    # The dead one's permits end a time-out later; then all six are in use again.
    last = [one for one in calls if one.at_ms >= world.now - 10_000]
    assert len(last) >= 0.9 * 6 * 10 / 1.0


def test_a_burst_under_the_limit_waits_for_nobody(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimit(per_second=500, at_once=100))
    every_second(world, BIG, [HOST], 20)
    world.run_for(10)
    calls = arrivals_of(world)
    assert len(calls) >= 20 * 7
    assert max(one.late_ms for one in calls) <= 50
    assert world.redis.table("lanes") == {}


def test_waiting_for_a_limit_is_no_misfire(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimit(per_second=1))
    rule = MisfireRule(MisfirePolicy.SKIP, grace_ms=1_000)
    timers = []
    for number in range(8):
        new = NewTimer(BIG, f"t{number}", Cron.parse("0 * * * * *"), Notify(f"http://{HOST}/due"), rule)
        timers.append(world.registrar.enable(BIG, world.registrar.create(new).id))
    world.run_for(80)
    statuses = Counter(one.firing.status for timer in timers for one in world.settled(timer))
    assert statuses == {FiringStatus.SUCCEEDED: len(arrivals_of(world))}
    assert len(arrivals_of(world)) >= 8
    assert max(one.late_ms for one in arrivals_of(world)) > 5_000


@pytest.mark.test_all
def test_a_hung_target_of_ten_takes_nothing_of_the_limit_from_the_others(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimit(per_second=18, at_once=20), places=(10, 200))
    hung = f"0.{HOST}"

    def answer(arrival: Arrival) -> Answer:
        return Answer(after_ms=10**9 if hung in arrival.request.url else 5)

    world.target.answer = answer
    every_second(world, BIG, [f"{number}.{HOST}" for number in range(10)], 20)
    world.run_for(60)
    nine = [
        one for one in arrivals_of(world) if hung not in one.request.url and one.at_ms > world.now - 30_000
    ]
    # 18 a second are due of these, and as many may be made: hung ones take a probe now and then.
    assert len(nine) >= 0.9 * 18 * 30


def test_a_limit_that_goes_lets_all_that_waits_go(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimit(per_second=1))
    big = every_second(world, BIG, [HOST], 5)
    world.run_for(20)
    assert len(world.redis.table("slices")[LANE].due) >= 40
    world.limits.write(CallLimits())
    world.run_for(10)
    assert world.redis.table("lanes") == {}
    overdue = [one for timer in big for one in world.records(timer) if one.firing.due_at < world.now - 3_000]
    assert {one.firing.status for one in overdue} == {FiringStatus.SUCCEEDED}


def test_a_limit_of_0_pauses_an_app(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimit(at_once=0))
    every_second(world, BIG, [HOST], 2)
    world.run_for(15)
    assert arrivals_of(world) == []
    world.limits.write(CallLimits({BIG: CallLimit(at_once=5)}))
    world.run_for(10)
    assert len(arrivals_of(world)) >= 2 * 15


@pytest.mark.test_all
def test_the_limit_holds_while_redis_has_lost_it(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimit(per_second=2))
    every_second(world, BIG, [HOST], 10)
    world.run_for(10)
    world.redis.lose()
    world.run_for(30)
    lost_at = world.now - 30_000
    calls = [one for one in arrivals_of(world) if one.at_ms > lost_at]
    assert len(calls) <= 2 * 30 + 2 * CallLimit(2).burst
    assert len(calls) >= 2 * 15


@pytest.mark.test_all
def test_the_limit_holds_though_redis_lost_it_and_all_callback_processes_start_anew(
    make_world: MakeWorld,
) -> None:
    world = limited(make_world, CallLimit(per_second=2))
    world.limits_in_sql = CallLimits({BIG: CallLimit(per_second=2)})
    every_second(world, BIG, [HOST], 10)
    every_second(world, OTHER, [GOOD], 3)
    world.run_for(10)
    world.redis.lose()
    for number, node in enumerate(list(world.executor_nodes)):
        node.process.kill()
        world.start_executor(f"anew-{number}")
    started_at = world.now
    world.run_for(30)
    calls = [one for one in arrivals_of(world) if one.at_ms > started_at]
    assert 2 * 15 <= len(calls) <= 2 * 30 + 2 * CallLimit(2).burst
    assert len([one for one in arrivals_of(world, GOOD) if one.at_ms > started_at]) >= 3 * 15


def test_while_redis_is_away_no_call_of_the_app_is_made_and_none_is_lost(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimit(per_second=50, at_once=50))
    big = every_second(world, BIG, [HOST], 4)
    world.run_for(5)
    world.redis.away = True
    away_at = world.now
    world.run_for(10)
    world.redis.away = False
    world.run_for(40)
    # What had its permit before.
    assert not [one for one in arrivals_of(world) if away_at + 50 < one.at_ms < away_at + 10_000]
    overdue = [one for timer in big for one in world.records(timer) if one.firing.due_at < world.now - 9_000]
    assert {one.firing.status for one in overdue} == {FiringStatus.SUCCEEDED}


def test_an_app_without_a_limit_costs_no_command_more(make_world: MakeWorld) -> None:
    world = limited(make_world, CallLimit(per_second=1))
    asked: list[str] = []
    for node in world.executor_nodes:
        node.taps["before permits.carry_out"] = lambda: asked.append("permits")
    every_second(world, OTHER, [GOOD], 10)
    world.run_for(20)
    assert len(arrivals_of(world, GOOD)) >= 10 * 15
    assert asked == []


def test_what_several_limited_apps_pull_together_is_read_once_for_all(make_world: MakeWorld) -> None:
    world = make_world(executors=1)
    apps = [f"app-{number}" for number in range(APPS)]
    world.limits.write(CallLimits(dict.fromkeys(apps, CallLimit(per_second=4))))
    world.start()
    for app in apps:
        every_second(world, app, [f"{app}.test"], 8)
    world.run_for(5)
    asked: Counter[str] = Counter()
    (node,) = world.executor_nodes

    def note(point: str) -> Callable[[], None]:
        return lambda: asked.update([point])

    for point in ("lanes.pull_all", "firings.rows", "definitions.get_first", "outbox.holds"):
        node.taps[f"before {point}"] = note(point)
    before = len(world.target.arrivals)
    world.run_for(SECONDS)
    assert len(world.target.arrivals) - before >= 0.9 * APPS * 4 * SECONDS
    pulls = asked["lanes.pull_all"]
    assert 0 < pulls <= 10 * SECONDS
    assert asked["firings.rows"] <= 1.2 * pulls
    assert asked["outbox.holds"] <= 1.2 * pulls
    # Chunks read definitions too.
    assert asked["definitions.get_first"] <= 3 * pulls
