"""A chunk with large bodies goes in parts: what befalls a later part concerns no earlier one."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.world import ExecutorNode, World
from wangtimer.core.firing import FiringStatus
from wangtimer.core.schedule import Once
from wangtimer.core.timer import Timer
from wangtimer.store.redis.definitions import READ_BYTES

MakeWorld = Callable[..., World]

BODY = "x" * 60_000
PART = READ_BYTES // len(BODY)


@pytest.fixture
def lone(make_world: MakeWorld) -> World:
    """One callback process whose target takes longer to answer than a lease lasts."""
    world = make_world(executors=1)
    world.target.answer = lambda _arrival: Answer(after_ms=8_000)
    return world.start()


def of_one_moment(world: World, number: int) -> list[Timer]:
    moment = world.now + 20_000
    return [world.timer(Once(moment), body=BODY) for _ in range(number)]


def at_the_second_part(node: ExecutorNode, what: Callable[[], None]) -> None:
    """Do this once, when the second part of a chunk is read."""
    reads = [0]

    def read() -> None:
        reads[0] += 1
        if reads[0] == 2:
            what()

    node.taps["before definitions.get_first"] = read


def assert_each_was_called_once(world: World, timers: list[Timer]) -> None:
    calls = Counter((arrival.timer_id, arrival.attempt) for arrival in world.target.arrivals)
    assert calls == dict.fromkeys(((timer.id, 1) for timer in timers), 1)
    assert {status for timer in timers for status in world.statuses(timer)} == {FiringStatus.SUCCEEDED}


def test_what_is_in_flight_is_not_given_back_when_the_process_ends(lone: World) -> None:
    node = lone.executor_nodes[0]

    def end() -> None:
        lone.time.sleep(2.0)
        lone.start_executor("next")
        lone.executor_nodes.remove(node)
        lone.time.spawn(node.process, lambda: node.executor.drain(10.0))
        lone.time.sleep(0.1)

    timers = of_one_moment(lone, PART + 10)
    at_the_second_part(node, end)
    lone.run_for(60)
    assert_each_was_called_once(lone, timers)


def test_what_is_in_flight_is_not_given_back_when_a_later_part_fails(lone: World) -> None:
    def stumble() -> None:
        lone.time.sleep(2.0)
        raise ZeroDivisionError

    timers = of_one_moment(lone, PART + 10)
    at_the_second_part(lone.executor_nodes[0], stumble)
    with pytest.raises(ZeroDivisionError):
        lone.run_for(60)
    lone.run_for(60)
    assert_each_was_called_once(lone, timers)
