"""A host that is failing, limited and paused at once: each of the three rules holds, and no firing is lost for it."""

from collections import Counter
from collections.abc import Callable

from tests.stages.scripted_target import Answer, Arrival
from tests.stages.test_failing_hosts import REFUSED, at_the_bad_host
from tests.stages.test_lanes import HUNG, PLACES, arrivals_at, every_second, waiting_in
from tests.stages.world import World
from wangtimer.callback.health import TRIED_AGAIN_S
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.slicing import SharedLane

MakeWorld = Callable[..., World]

PORTED = f"{HUNG}:80"
LIMIT = CallLimit(per_second=10)
# Rules are read every second here.
READ_S = 2


def rule(world: World, *paused: str) -> None:
    """Limit the host, and let these be paused."""
    world.limits_in_sql, world.pauses_in_sql = CallLimits(hosts={PORTED: LIMIT}), Pauses(frozenset(paused))
    world.limits.tell()
    world.pauses.tell()


def arrivals_since(world: World, since: float) -> list[Arrival]:
    return [one for one in arrivals_at(world, HUNG) if one.at_ms >= since]


def failing_in(world: World) -> int:
    return len(world.executor_nodes[0].engine.failing())


def test_a_host_may_be_failing_limited_and_paused_at_once(make_world: MakeWorld) -> None:
    world = make_world(executors=1, places=PLACES)
    world.target.answer = at_the_bad_host(REFUSED)
    rule(world)
    world.start()
    timers = every_second(world, "hog", [HUNG], 3)
    world.run_for(30)
    assert failing_in(world) == 1
    assert 2 <= len(arrivals_since(world, world.now - 20_000)) <= 3 + 20 / TRIED_AGAIN_S
    assert waiting_in(world, SharedLane.of_host_limit(PORTED)) >= 60

    rule(world, f"host:{PORTED}")
    world.run_for(READ_S)
    paused_at = world.now
    world.run_for(20)
    assert arrivals_since(world, paused_at) == []
    assert failing_in(world) == 1

    world.target.answer = lambda _arrival: Answer()
    rule(world)
    back_at = world.now
    world.run_for(60)
    back = arrivals_since(world, back_at)
    assert back[0].at_ms <= back_at + 1_000 * (READ_S + TRIED_AGAIN_S + 2)
    assert failing_in(world) == 0
    a_second = Counter(int(one.at_ms // 1_000) for one in back)
    assert max(a_second.values()) <= 10 + LIMIT.burst
    overdue = [
        one for timer in timers for one in world.records(timer) if one.firing.due_at < world.now - 5_000
    ]
    assert {one.firing.status for one in overdue} == {FiringStatus.SUCCEEDED}
    called = Counter(
        (one.request.url, one.fire_at, dict(one.request.headers)["X-WangTimer-Timer"]) for one in back
    )
    assert set(called.values()) == {1}
    waited = {one.firing.lane.partition(":")[0] for one in overdue}
    assert {"host-limit", "pause"} <= waited
