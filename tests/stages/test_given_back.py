"""What a stopping executor gives back is made by another one, at its moment."""

from collections.abc import Callable

from tests.stages.scripted_target import Answer
from tests.stages.world import World
from wangtimer.core.flow.firing import Member

# Long enough for what is given back to be armed again well before its moment.
LEAD_MS = 2_000


def test_a_retry_that_a_stopping_process_gives_back_is_not_made_before_its_moment(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=1, lead_ms=LEAD_MS).start()
    world.target.answer = lambda arrival: Answer(500 if arrival.attempt < 4 else 200)
    timer = world.once_in(10)
    while not any(member.attempt == 4 for member in running(world)):
        world.run_for(0.01)
    retry = world.record(timer).firing
    assert world.now < retry.due_at
    world.executor_nodes[0].executor.drain(1.0)
    world.executor_nodes[0].process.kill()
    world.start_executor("next")
    world.run_for(30)
    assert [arrival.attempt for arrival in world.target.arrivals] == [1, 2, 3, 4]
    assert world.target.arrivals[3].at_ms >= retry.due_at


def running(world: World) -> list[Member]:
    """Return what stands in any slice as running."""
    return [member for sets in world.redis.table("slices").values() for member in sets.running]
