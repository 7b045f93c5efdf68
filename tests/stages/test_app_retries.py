"""When an app's failed calls are made again: by its own policy, where neither timer nor target has one."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.world import World
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.retry import Backoff, RetryPolicy
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import NewTimer, Notify, Timer

MakeWorld = Callable[..., World]

FIXED = RetryPolicy(attempts=4, backoff=Backoff.FIXED, pause_ms=7_000)
SHOP, OTHER = "shop", "other"


def tell(world: World, **retries: RetryPolicy) -> None:
    """Let apps have these policies, and no others, for processes that start too."""
    world.retries_in_sql = retries
    world.api.retries_replica.tell()


def failing_timer(world: World, app: str, retry: RetryPolicy | None = None) -> Timer:
    """Make a timer that is due in 10 s, and is answered with 500."""
    world.target.answer = lambda _arrival: Answer(500)
    due_at = int(world.now) + 10_000
    new = NewTimer(
        app, f"{app}-{due_at}-{retry is None}", Once(due_at), Notify("http://a.test/"), retry=retry
    )
    return world.registrar.enable(app, world.registrar.create(new).id)


def pauses(world: World, timer: Timer) -> list[float]:
    """Return the seconds between calls, without those that their answers took."""
    return [round((b.at_ms - a.at_ms) / 1_000) for a, b in pairwise(world.target.of(timer.id))]


def test_an_apps_policy_counts_for_its_timers_that_have_none_and_for_no_other_app(
    make_world: MakeWorld,
) -> None:
    world = make_world().start()
    tell(world, shop=FIXED)
    plain, own = failing_timer(world, SHOP), failing_timer(world, SHOP, RetryPolicy(pauses=(30_000,)))
    of_other = failing_timer(world, OTHER)
    world.run_for(60)
    assert [pauses(world, plain), pauses(world, own)] == [[7, 7, 7], [30]]
    assert len(pauses(world, of_other)) >= 4
    assert pauses(world, of_other)[:2] == [1, 2]
    record = world.record(plain)
    assert (record.firing.status, record.firing.attempt) == (FiringStatus.FAILED, 4)


def test_a_change_counts_for_the_attempts_to_come(make_world: MakeWorld) -> None:
    world = make_world().start()
    tell(world, shop=FIXED)
    timer = failing_timer(world, SHOP)
    world.run_for(20)
    assert pauses(world, timer) == [7]
    tell(world, shop=RetryPolicy(attempts=3, backoff=Backoff.FIXED, pause_ms=20_000))
    world.run_for(60)
    assert pauses(world, timer) == [7, 7]


def test_it_outlasts_a_loss_of_redis_and_the_restart_of_every_process(make_world: MakeWorld) -> None:
    world = make_world(executors=1).start()
    tell(world, shop=FIXED)
    world.run_for(5)
    timer = failing_timer(world, SHOP)
    world.redis.lose("replicas")
    world.executor_nodes[0].process.kill()
    world.executor_nodes.clear()
    world.start_executor("another")
    world.run_for(60)
    assert pauses(world, timer) == [7, 7, 7]


@pytest.mark.parametrize("final", [("410",), ()])
def test_an_answer_that_broke_off_is_tried_again_whatever_its_status(
    make_world: MakeWorld, final: tuple[str, ...]
) -> None:
    world = make_world().start()
    timer = failing_timer(world, SHOP, RetryPolicy(final=final))
    world.target.answer = lambda _arrival: Answer(410, error="the answer broke off")
    world.run_for(20)
    assert pauses(world, timer)[:2] == [1, 2]
    assert world.record(timer).error == "the answer broke off"
