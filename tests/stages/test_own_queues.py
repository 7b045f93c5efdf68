"""An app with a queue of its own: only callback processes of this queue call for it, and only it waits without them."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.stages.scripted_target import Answer, Arrival
from tests.stages.test_lanes import every_second
from tests.stages.world import World
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.queues import CALLBACK, message_queue
from wangtimer.core.flow.slicing import BUCKETS_A_QUEUE, SharedLane
from wangtimer.core.timers.timer import Timer
from wangtimer.timers.on_demand import Rate

MakeWorld = Callable[..., World]

OWN, OTHER = "own", "other"
OWN_HOST, OTHER_HOST = "own.test", "other.test"
REPORTS = message_queue("reports")
OWN_PROCESS = "reports-0"
# The queue of an app is read again after this.
READ_S = 3
# What was planned before is done by then: planning within a request goes a minute ahead, the planner two hours.
STEP_S = 60
RATE = Rate(100)


@pytest.fixture
def divided(make_world: MakeWorld) -> World:
    """Two processes of the common queue and one of `reports`, which the app `own` has."""
    world = make_world(callback_queues="mail,reports", step_s=STEP_S, most_attempts=5)
    world.start_executor(OWN_PROCESS, REPORTS)
    world.give_queue(OWN, "reports")
    return world.start()


def start_both(world: World) -> tuple[list[Timer], list[Timer]]:
    return every_second(world, OWN, [OWN_HOST], 4), every_second(world, OTHER, [OTHER_HOST], 4)


def processes_of(world: World, host: str, since: float = 0) -> set[str]:
    arrivals = arrivals_of(world, host, since)
    return {"common" if one.process.startswith("executor") else one.process for one in arrivals}


def arrivals_of(world: World, host: str, since: float = 0) -> list[Arrival]:
    return [one for one in world.target.arrivals if f"/{host}" in one.request.url and one.at_ms >= since]


def pool(world: World) -> None:
    """Kill the processes of the own queue."""
    for node in world.executor_nodes:
        if node.queue == REPORTS:
            node.process.kill()


def see_each_called_once(world: World, timers: list[Timer]) -> None:
    """Every moment that came due by now, and that is a second old, was called exactly once."""
    counts = Counter((one.timer_id, one.fire_at) for one in world.target.arrivals)
    rows = [record.firing for timer in timers for record in world.records(timer)]
    due = [row for row in rows if row.due_at < world.now - 1_000]
    assert due
    assert {row.status for row in due} == {FiringStatus.SUCCEEDED}
    assert {counts[row.member.key] for row in due} == {1}


def test_only_the_processes_of_its_queue_call_for_an_app_and_they_call_for_no_other(divided: World) -> None:
    own, others = start_both(divided)
    divided.run_for(90)
    assert processes_of(divided, OWN_HOST) == {OWN_PROCESS}
    assert processes_of(divided, OTHER_HOST) == {"common"}
    see_each_called_once(divided, own + others)
    assert max(one.late_ms for one in divided.target.arrivals) <= 50


def test_while_its_pool_is_dead_only_that_app_waits_and_nothing_is_lost(divided: World) -> None:
    own, others = start_both(divided)
    divided.run_for(20.5)
    pool(divided)
    killed_at = divided.now
    divided.run_for(300)
    assert arrivals_of(divided, OWN_HOST, killed_at) == []
    assert max(one.late_ms for one in arrivals_of(divided, OTHER_HOST)) <= 50
    divided.start_executor("reports-1", REPORTS)
    divided.run_for(120)
    assert processes_of(divided, OWN_HOST, killed_at) == {"reports-1"}
    assert max(one.late_ms for one in arrivals_of(divided, OTHER_HOST)) <= 50
    assert max(one.late_ms for one in arrivals_of(divided, OWN_HOST, divided.now - 10_000)) <= 50
    see_each_called_once(divided, own + others)


def test_a_queue_that_nobody_takes_holds_no_thread_of_a_trigger(divided: World) -> None:
    every_second(divided, OWN, [OWN_HOST], 4)
    pool(divided)
    divided.run_for(30)
    held = []
    for _ in range(100):
        divided.run_for(3)
        held.append(divided.held_threads)
    assert max(held) <= 2
    assert len(divided.waiting[REPORTS]) <= divided.settings.callback_queue_most + 2


def test_a_queue_that_nobody_takes_lets_the_pasts_of_others_through(divided: World) -> None:
    every_second(divided, OWN, [OWN_HOST], 2)
    pool(divided)
    divided.run_for(400)
    for node in divided.trigger_nodes:
        node.process.freeze(200)
    late = every_second(divided, OTHER, [OTHER_HOST], 2)
    divided.run_for(200)
    divided.start_executor("reports-1", REPORTS)
    divided.run_for(60)
    see_each_called_once(divided, late)


@pytest.mark.test_all
def test_an_app_that_gets_its_queue_back_by_nobody_loses_nothing(divided: World) -> None:
    pool(divided)
    own, _ = start_both(divided)
    divided.run_for(120)
    assert arrivals_of(divided, OWN_HOST) == []
    divided.give_queue(OWN, None)
    divided.run_for(90)
    assert processes_of(divided, OWN_HOST) == {"common"}
    see_each_called_once(divided, own)


def test_what_was_planned_goes_by_the_former_queue_while_an_app_has_it(divided: World) -> None:
    divided.give_queue("third", "reports")
    (timer,) = every_second(divided, OWN, [OWN_HOST], 1)
    divided.run_for(10)
    divided.give_queue(OWN, None)
    divided.run_for(5)
    assert processes_of(divided, OWN_HOST) == {OWN_PROCESS}
    divided.run_for(4 * STEP_S)
    assert processes_of(divided, OWN_HOST, divided.now - 20_000) == {"common"}
    see_each_called_once(divided, [timer])


def test_an_app_moves_from_one_queue_to_another(divided: World) -> None:
    divided.start_executor("mail-0", message_queue("mail"))
    (timer,) = every_second(divided, OWN, [OWN_HOST], 1)
    divided.run_for(10)
    divided.give_queue(OWN, "mail")
    divided.run_for(4 * STEP_S)
    assert processes_of(divided, OWN_HOST, divided.now - 20_000) == {"mail-0"}
    see_each_called_once(divided, [timer])


def test_fire_now_goes_by_the_queue_and_so_does_a_replay_of_an_older_firing(divided: World) -> None:
    divided.target.answer = lambda _: Answer(http_status=500)
    (timer,) = every_second(divided, "late", [OWN_HOST], 1)
    divided.run_for(60)
    failed = next(one.firing for one in divided.records(timer) if one.firing.status is FiringStatus.FAILED)
    divided.registrar.disable("late", timer.id)
    divided.target.answer = lambda _: Answer()
    divided.run_for(30)
    divided.give_queue("late", "reports")
    divided.run_for(READ_S)
    changed_at = divided.now
    (again,) = divided.on_demand.replay_these("late", [failed.member.key], RATE).firings
    now = divided.on_demand.fire_now("late", timer.id)
    divided.run_for(20)
    assert {again.bucket // BUCKETS_A_QUEUE, now.bucket // BUCKETS_A_QUEUE} == {2}
    assert processes_of(divided, OWN_HOST, changed_at) == {OWN_PROCESS}
    assert len(arrivals_of(divided, OWN_HOST, changed_at)) == 2


@pytest.mark.test_all
def test_two_apps_at_one_host_wait_in_their_own_lanes_which_their_queues_processes_pull(
    make_world: MakeWorld,
) -> None:
    world = make_world(executors=1, places=(5, 50), callback_queues="mail,reports")
    world.start_executor(OWN_PROCESS, REPORTS)
    world.give_queue(OWN, "reports")
    world.start()
    shared = "shared.test"
    hung = {"now": True}
    world.target.answer = lambda _: Answer(after_ms=10**9) if hung["now"] else Answer()
    timers = every_second(world, OWN, [shared], 10) + every_second(world, OTHER, [shared], 10)
    world.run_for(30)
    lanes = {lane for lane, sets in world.redis.table("slices").items() if isinstance(lane, SharedLane)}
    assert lanes == {SharedLane.of_way(app, f"{shared}:80", "/due") for app in (OWN, OTHER)}
    hung["now"] = False
    world.run_for(90)
    by_app = {(one.request.app, one.process) for one in world.target.arrivals}
    assert by_app == {(OWN, OWN_PROCESS), (OTHER, "executor-0")}
    statuses = Counter(one.firing.status for timer in timers for one in world.settled(timer))
    assert statuses.keys() == {FiringStatus.SUCCEEDED}


def test_what_waits_for_a_limit_is_pulled_by_the_processes_of_the_queue(divided: World) -> None:
    divided.limits.write(CallLimits({OWN: CallLimit(per_second=5)}))
    divided.run_for(READ_S)
    every_second(divided, OWN, [OWN_HOST], 12)
    divided.run_for(40)
    assert processes_of(divided, OWN_HOST) == {OWN_PROCESS}
    assert len(arrivals_of(divided, OWN_HOST)) >= 5 * 30


def test_while_triggers_that_know_no_own_queue_run_beside_nothing_is_lost(divided: World) -> None:
    """Their settings name one queue: what they send is called by the processes of the common queue."""
    rooted = divided.message_queue_of
    own, others = start_both(divided)
    divided.message_queue_of = lambda _queue: CALLBACK  # type: ignore[method-assign]
    divided.run_for(60)
    assert processes_of(divided, OWN_HOST, divided.now - 30_000) == {"common"}
    divided.message_queue_of = rooted  # type: ignore[method-assign]
    divided.run_for(60)
    assert processes_of(divided, OWN_HOST, divided.now - 30_000) == {OWN_PROCESS}
    see_each_called_once(divided, own + others)


def test_a_loss_of_redis_leaves_each_app_its_queue(divided: World) -> None:
    own, others = start_both(divided)
    divided.run_for(20)
    divided.redis.lose()
    lost_at = divided.now
    divided.run_for(60)
    assert processes_of(divided, OWN_HOST, lost_at) == {OWN_PROCESS}
    assert processes_of(divided, OTHER_HOST, lost_at) == {"common"}
    for timer in own + others:
        assert {one.firing.status for one in world_past(divided, timer)} == {FiringStatus.SUCCEEDED}


def world_past(world: World, timer: Timer) -> list[object]:
    return [one for one in world.records(timer) if one.firing.due_at < world.now - 10_000]


def test_an_app_without_a_queue_costs_no_command_more(make_world: MakeWorld) -> None:
    """With own queues in the settings processes read, every two seconds, which apps have one; else nothing."""
    world = make_world()
    every_second(world, OTHER, [OTHER_HOST], 4)
    world.run_for(20)
    assert world.redis.table("replicas") == {}
    assert {one.firing.bucket for one in world.sql.table("firings").values()} == {0}
