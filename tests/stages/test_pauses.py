"""Pauses by operators: nothing is called, no attempt is used, and what came due follows the timer's misfire policy."""

from collections import Counter
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tests.stages.scripted_target import Answer, Arrival
from tests.stages.test_lanes import every_second, waiting_in
from tests.stages.world import World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule
from wangtimer.core.timers.overlap import Course, Overlap
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.executor.sender import Sent
from wangtimer.executor.steps.overlap_step import OverlapStep
from wangtimer.store.sql.begun_firings import Judged

MakeWorld = Callable[..., World]

BIG, OTHER = "big", "other"
HOST, GOOD = "big.test", "good.test"
# Rules are read every second here.
READ_S = 2


def pause(world: World, *names: str) -> None:
    """Let these be paused, and nothing else, for processes that start too."""
    world.pauses_in_sql = Pauses(frozenset(names))
    world.pauses.tell()


def arrivals_since(world: World, since: float, host: str = HOST) -> list[Arrival]:
    return [one for one in world.target.arrivals if host in one.request.url and one.at_ms >= since]


def every_minute(world: World, misfire: MisfireRule) -> Timer:
    """Make and enable a timer of an app that fires at each full minute."""
    new = NewTimer(BIG, "minutely", Cron.parse("0 * * * * *"), Notify(f"http://{HOST}/due"), misfire)
    return world.registrar.enable(BIG, world.registrar.create(new).id)


@pytest.mark.parametrize("name", ["all", f"app:{BIG}", f"host:{HOST}:80", "timer"])
def test_what_is_paused_is_not_called_uses_no_attempt_and_all_is_called_when_it_goes_on(
    make_world: MakeWorld, name: str
) -> None:
    world = make_world(executors=2).start()
    (timer,) = every_second(world, BIG, [HOST], 1)
    world.run_for(10)
    name = f"timer:{timer.id}" if name == "timer" else name
    pause(world, name)
    world.run_for(READ_S)
    paused_at = world.now
    world.run_for(30)
    assert arrivals_since(world, paused_at) == []
    lane = SharedLane.of_pause(name)
    waiting = [
        one.firing for one in world.records(timer) if paused_at < one.firing.fire_at < world.now - 2_000
    ]
    assert len(waiting) >= 25
    assert {(one.status, one.attempt, one.lane) for one in waiting} == {(FiringStatus.PENDING, 1, lane.key)}
    pause(world)
    world.run_for(10)
    late = [one for one in world.records(timer) if paused_at < one.firing.fire_at < world.now - 3_000]
    assert {one.firing.status for one in late} == {FiringStatus.SUCCEEDED}
    assert lane.key in {one.firing.lane for one in late}
    called = Counter(one.fire_at for one in arrivals_since(world, 0))
    assert set(called.values()) == {1}
    assert lane not in world.redis.table("lanes")


def test_others_are_on_time_beside_a_paused_app_and_host(make_world: MakeWorld) -> None:
    world = make_world(executors=1).start()
    every_second(world, BIG, [HOST], 20)
    every_second(world, OTHER, [GOOD, HOST], 4)
    pause(world, f"app:{BIG}", f"host:{HOST}:80")
    world.run_for(30)
    good = arrivals_since(world, 0, GOOD)
    assert len(good) >= 2 * 25
    assert max(one.late_ms for one in good) <= 50


def test_a_lane_that_is_paused_is_looked_at_seldom_however_many_wait(make_world: MakeWorld) -> None:
    world = make_world(executors=1).start()
    every_second(world, BIG, [HOST], 30)
    pause(world, f"app:{BIG}")
    world.run_for(20)
    assert waiting_in(world, SharedLane.of_pause(f"app:{BIG}")) >= 400
    pulls = []
    node = world.executor_nodes[0]
    node.taps["before lanes.pull_all"] = lambda: pulls.append(world.now)
    world.beat.process.kill()
    world.run_for(30)
    assert 5 <= len(pulls) <= 15


@pytest.mark.parametrize(
    ("policy", "outcomes"),
    [
        (MisfirePolicy.FIRE_ALL, {FiringStatus.SUCCEEDED: 5}),
        (MisfirePolicy.FIRE_LATEST, {FiringStatus.SKIPPED: 4, FiringStatus.SUCCEEDED: 1}),
        (MisfirePolicy.SKIP, {FiringStatus.SKIPPED: 5}),
    ],
)
def test_what_came_due_meanwhile_follows_the_timers_misfire_policy(
    make_world: MakeWorld, policy: MisfirePolicy, outcomes: dict[FiringStatus, int]
) -> None:
    world = make_world(executors=1).start()
    timer = every_minute(world, MisfireRule(policy, grace_ms=1_000))
    pause(world, f"app:{BIG}")
    world.run_for(300 - world.now % 60_000 / 1_000 + 30)
    due = [one for one in world.records(timer) if one.firing.fire_at < world.now]
    assert len(due) == 5
    assert {one.firing.status for one in due} == {FiringStatus.PENDING}
    pause(world)
    world.run_for(10)
    moments = {one.firing.fire_at for one in due}
    after = [one.firing for one in world.records(timer) if one.firing.fire_at in moments]
    assert Counter(one.status for one in after) == outcomes


def test_what_waited_for_room_when_the_pause_came_is_no_misfire(make_world: MakeWorld) -> None:
    world = make_world(executors=1)
    world.limits.write(CallLimits({BIG: CallLimit(per_second=1)}))
    world.start()
    rule = MisfireRule(MisfirePolicy.SKIP, grace_ms=1_000)
    timers = []
    for number in range(10):
        new = NewTimer(BIG, f"t{number}", Cron.parse("0 * * * * *"), Notify(f"http://{HOST}/due"), rule)
        timers.append(world.registrar.enable(BIG, world.registrar.create(new).id))
    world.run_for((60_000 - world.now % 60_000) / 1_000 + 3)
    limit = SharedLane.of_limit(BIG)
    before = waiting_in(world, limit)
    assert before >= 4
    pause(world, f"app:{BIG}")
    world.run_for(20)
    assert waiting_in(world, limit) >= before - READ_S - 1
    pause(world)
    world.run_for(20)
    statuses = Counter(one.firing.status for timer in timers for one in world.settled(timer))
    assert statuses == {FiringStatus.SUCCEEDED: 10}


def test_a_call_that_waits_in_the_process_when_the_pause_comes_is_not_sent(make_world: MakeWorld) -> None:
    world = make_world(executors=1, places=(2, 50))
    world.target.answer = lambda arrival: Answer(after_ms=4_000)
    world.start()
    timers = every_second(world, BIG, [HOST], 3)
    world.run_for(5)
    pause(world, f"timer:{timers[0].id}")
    world.run_for(READ_S)
    since = world.now
    world.run_for(20)
    called = {dict(one.request.headers)["X-WangTimer-Timer"] for one in arrivals_since(world, since)}
    assert called == {str(timer.id) for timer in timers[1:]}


def test_what_is_not_judged_for_a_pause_is_not_sent_where_the_pause_ends_meanwhile(
    make_world: MakeWorld,
) -> None:
    world = make_world(executors=1).start()
    node = world.executor_nodes[0]
    judged: set[Member] = set()

    def judge(members: Sequence[Member], *_: object) -> dict[Member, Judged]:
        judged.update(members)
        return dict.fromkeys(members, Judged(Course.GO))

    begun: Any = SimpleNamespace(judge=judge, end=lambda *_: [])
    (step,) = [one for one in node.steps if isinstance(one, OverlapStep)]
    object.__setattr__(step, "begun", begun)
    node.overlaps.begun_firings = begun
    every = Cron.parse("* * * * * *")
    new = NewTimer(BIG, "each second", every, Notify(f"http://{HOST}/due"), overlap=Overlap.SKIP)
    timer = world.registrar.enable(BIG, world.registrar.create(new).id)
    pause(world, "all")
    world.run_for(READ_S)
    send = node.executor._sender.send

    def send_as_the_pause_ends(*given: Any) -> Sent:
        node.pauses_replica.known = Pauses()
        return send(*given)

    node.executor._sender.send = send_as_the_pause_ends  # type: ignore[method-assign]
    world.run_for(5)
    pause(world)
    world.run_for(5)
    called = {Member(timer.id, one.fire_at, 1) for one in world.target.arrivals}
    assert len(called) >= 10
    assert called <= judged


def test_a_pause_outlasts_a_loss_of_redis_and_the_restart_of_every_process(make_world: MakeWorld) -> None:
    world = make_world(executors=1).start()
    (timer,) = every_second(world, BIG, [HOST], 1)
    world.run_for(5)
    pause(world, f"app:{BIG}")
    world.run_for(5)
    since = world.now
    world.redis.lose()
    world.executor_nodes[0].process.kill()
    world.executor_nodes.clear()
    world.start_executor("another")
    world.run_for(40)
    assert arrivals_since(world, since) == []
    pause(world)
    world.run_for(40)
    late = [one for one in world.records(timer) if one.firing.fire_at < world.now - 10_000]
    assert {one.firing.status for one in late} == {FiringStatus.SUCCEEDED}


def test_a_retry_waits_for_the_pause_without_using_an_attempt(make_world: MakeWorld) -> None:
    world = make_world(executors=1)
    world.target.answer = lambda arrival: Answer(http_status=500)
    world.start()
    new = NewTimer(BIG, "minutely", Cron.parse("0 * * * * *"), Notify(f"http://{HOST}/due"))
    timer = world.registrar.enable(BIG, world.registrar.create(new).id)
    world.run_for((60_000 - world.now % 60_000) / 1_000 + 1)
    pause(world, "all")
    world.run_for(READ_S)
    since = world.now
    attempts = world.records(timer)[0].firing.attempt
    world.run_for(50)
    assert arrivals_since(world, since) == []
    assert world.records(timer)[0].firing.attempt == attempts


def test_a_disable_stops_what_waits_though_the_timer_is_enabled_again(make_world: MakeWorld) -> None:
    world = make_world(executors=1).start()
    (timer,) = every_second(world, BIG, [HOST], 1)
    pause(world, f"timer:{timer.id}")
    world.run_for(20)
    disabled_at = world.now
    world.registrar.disable(BIG, timer.id)
    world.run_for(5)
    world.registrar.enable(BIG, timer.id)
    world.run_for(5)
    pause(world)
    world.run_for(20)
    waited = [one for one in world.records(timer) if disabled_at - 15_000 < one.firing.fire_at <= disabled_at]
    assert {one.error for one in waited} == {"disabled"}
    assert {one.firing.status for one in waited} == {FiringStatus.SKIPPED}
    later = [
        one for one in world.records(timer) if disabled_at + 6_000 < one.firing.fire_at < world.now - 2_000
    ]
    assert {one.firing.status for one in later} == {FiringStatus.SUCCEEDED}
