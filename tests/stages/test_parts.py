"""A chunk with large bodies goes in parts: what befalls a later part concerns no earlier one."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.timeline import Timeline
from tests.stages.world import ExecutorNode, World
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import Timer
from wangtimer.executor.room import Room
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


class SlowRoom(Room):
    """Room that each part waits for."""

    def __init__(self, timeline: Timeline, wait_s: float) -> None:
        super().__init__(64_000_000)
        self.waits = 0
        self._timeline = timeline
        self._wait_s = wait_s

    def wait(self, is_late: Callable[[], bool]) -> bool:
        return True

    def take(self, is_late: Callable[[], bool]) -> bool:
        self.waits += 1
        self._timeline.sleep(self._wait_s)
        return super().take(is_late)


def slow_room_of(world: World, wait_s: float) -> SlowRoom:
    room = SlowRoom(world.time, wait_s)
    executor = world.executor_nodes[0].executor
    executor._room = executor._claimer._room = room
    return room


def test_a_chunk_is_renewed_however_long_its_parts_wait_for_room(lone: World) -> None:
    slow_room_of(lone, 5.0)
    timers = of_one_moment(lone, 20 * PART)
    deaths: set[int] = set()
    for _ in range(130):
        lone.run_for(1)
        deaths |= {number for sets in lone.redis.table("slices").values() for number in sets.deaths.values()}
    assert not deaths
    assert_each_was_called_once(lone, timers)


def test_a_process_that_is_asked_to_stop_begins_no_other_part(lone: World) -> None:
    room = slow_room_of(lone, 5.0)
    node = lone.executor_nodes[0]
    timers = of_one_moment(lone, 20 * PART)
    lone.run_for(31)
    lone.start_executor("next")
    lone.executor_nodes.remove(node)
    node.stopping.set()
    begun = room.waits
    lone.run_for(90)
    assert 1 < begun < 20
    assert room.waits == begun
    assert_each_was_called_once(lone, timers)
