"""What executors died on: `tests/store/test_deaths.py` shows how deaths are counted, this what a count leads to."""

from tests.stages.world import World
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.executor.quarantine import DIED_ALONE


def test_what_killed_its_executor_alone_too_has_failed_and_is_sent_no_more(world: World) -> None:
    poison, neighbour = world.once_in(20), world.once_in(20)
    died_on(world, poison.id, times=DIED_ALONE)
    world.run_for(30)
    record = world.record(poison)
    assert (record.firing.status, record.error) == (
        FiringStatus.FAILED,
        "each executor that ran it died, the last of them while it ran alone",
    )
    assert [arrival.timer_id for arrival in world.target.arrivals] == [neighbour.id]
    assert world.members_in_slices == 0


def test_what_one_executor_died_on_is_sent_again_like_any_other(world: World) -> None:
    timer = world.once_in(20)
    died_on(world, timer.id, times=1)
    world.run_for(30)
    assert world.record(timer).firing.status is FiringStatus.SUCCEEDED


def died_on(world: World, timer_id: int, times: int) -> None:
    """Let Redis count so many deaths for the timer's only member; the last is one while it ran alone."""
    (firing,) = (record.firing for record in world.firings.records(timer_id, 1))
    world.redis.table("slices")[firing.slice].deaths[firing.member] = times
