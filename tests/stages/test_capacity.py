"""Who waits for room comes in as soon as there is some for it, and nobody else is woken."""

import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

from wangtimer.executor.capacity import Capacity
from wangtimer.executor.claim import Claims
from wangtimer.executor.room import PART_BYTES, Room

ON_TIME, LATE = 0, 1
WAITERS = 50


class Crowd:
    """Threads that wait for room, each with a kind, and which of them came in."""

    def __init__(self) -> None:
        self.came_in: SimpleQueue[str] = SimpleQueue()
        self.asked = 0

    def wait_with(self, name: str, enter: Callable[[Callable[[], int]], bool], *kinds: int) -> None:
        """Begin to wait and return once it does; the kind is the first of these, then the next, and so on."""
        rest = list(kinds)

        def kind() -> int:
            self.asked += 1
            return rest.pop(0) if len(rest) > 1 else rest[0]

        def come_in() -> None:
            if enter(kind):
                self.came_in.put(name)

        before = self.asked
        Thread(target=come_in, daemon=True).start()
        while self.asked == before:
            time.sleep(0.001)


def capacity(most: int) -> Capacity:
    return Capacity(2, lambda held, kind: held + 1 <= (most // 2 if kind == LATE else most))


def test_who_gives_room_asks_only_those_who_come_in() -> None:
    room, crowd = Room(4 * PART_BYTES, patience_s=60), Crowd()
    assert room.take(lambda: True)
    assert room.take(lambda: True)
    for number in range(WAITERS):
        crowd.wait_with(str(number), lambda kind: room.take(lambda: bool(kind())), LATE)
    crowd.asked = 0
    room.give_part()
    assert crowd.came_in.get(timeout=5) == "0"
    assert crowd.asked == 1


def test_who_settles_a_firing_asks_only_those_whose_chunk_comes_in() -> None:
    claims, crowd = Claims("test", 2), Crowd()
    assert claims.take_room(2, lambda: True, 0.0)
    for number in range(WAITERS):
        crowd.wait_with(
            str(number), lambda kind: claims.take_room(2, lambda: bool(kind()), timeout_s=60), LATE
        )
    crowd.asked = 0
    claims.give_room(1)
    assert crowd.came_in.get(timeout=5) == "0"
    assert crowd.asked == 1


def test_what_is_on_time_goes_first_and_each_kind_in_the_order_of_arrival() -> None:
    it, crowd = capacity(most=4), Crowd()
    it.hold(4)
    for name, kind in (("late 1", LATE), ("late 2", LATE), ("on time 1", ON_TIME), ("on time 2", ON_TIME)):
        crowd.wait_with(name, lambda kind: it.enter(1, kind, 60), kind)
    it.give(4)
    assert [crowd.came_in.get(timeout=5) for _ in range(2)] in (
        ["on time 1", "on time 2"],
        ["on time 2", "on time 1"],
    )
    assert it.held == 2
    it.give(1)
    assert crowd.came_in.get(timeout=5) == "late 1"
    it.give(1)
    assert crowd.came_in.get(timeout=5) == "late 2"


def test_what_has_become_late_while_it_waited_has_the_room_of_late_ones() -> None:
    it, crowd = capacity(most=4), Crowd()
    it.hold(4)
    crowd.wait_with("late by now", lambda kind: it.enter(1, kind, 60), ON_TIME, LATE)
    crowd.wait_with("on time", lambda kind: it.enter(1, kind, 60), ON_TIME)
    it.give(1)
    assert crowd.came_in.get(timeout=5) == "on time"
    assert crowd.came_in.empty()
    it.give(3)
    assert crowd.came_in.get(timeout=5) == "late by now"


def test_who_has_waited_too_long_holds_nothing_and_takes_no_room_from_the_next() -> None:
    it, crowd = capacity(most=1), Crowd()
    it.hold(1)
    assert not it.enter(1, lambda: ON_TIME, 0.01)
    crowd.wait_with("next", lambda kind: it.enter(1, kind, 60), ON_TIME)
    it.give(1)
    assert crowd.came_in.get(timeout=5) == "next"
    assert it.held == 1
