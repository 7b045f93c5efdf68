"""SQL takes statements and does not answer them: what need not be asked about is on time all the same."""

from collections.abc import Callable

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.test_lanes import GOOD, HUNG, arrivals_at, every_second
from tests.stages.test_lanes import hang as leave_unanswered
from tests.stages.world import ExecutorNode, World
from wangtimer.core.errors import StoreAway
from wangtimer.executor import mover
from wangtimer.executor.mover import Mover
from wangtimer.executor.sql_rest import LONG_S, REST_S

MakeWorld = Callable[..., World]

BAD = "bad.test"
GOOD_TIMERS, BAD_TIMERS = 5, 2
# What a statement costs: connecting 3 s, reading 5.
TIME_OUT_S = 8.0
SECONDS = 20


@pytest.fixture
def failing(make_world: MakeWorld) -> World:
    """One callback process, a target that answers, and one that answers 500: its firings are retried."""
    world = make_world(executors=1)
    world.target.answer = lambda arrival: Answer(500 if BAD in arrival.request.url else 200)
    world.start()
    every_second(world, "good", [GOOD], GOOD_TIMERS)
    every_second(world, "bad", [BAD], BAD_TIMERS)
    world.run_for(20)
    return world


def hang(world: World, statement: str) -> list[float]:
    """Let this statement hang; return the list in which it is noted when each began, by the stop-watch."""
    begun: list[float] = []

    def wait() -> None:
        begun.append(world.time.monotonic())
        world.time.sleep(TIME_OUT_S)
        raise StoreAway("SQL", "hangs, as the test says")

    node: ExecutorNode = world.executor_nodes[0]
    node.taps[f"before {statement}"] = wait
    return begun


def test_while_sql_hangs_the_neighbours_of_what_is_asked_about_are_on_time(failing: World) -> None:
    hang(failing, "firings.rows")
    since = failing.now
    failing.run_for(SECONDS)
    good = [one for one in arrivals_at(failing, GOOD) if one.fire_at >= since]
    assert len(good) >= GOOD_TIMERS * (SECONDS - 1)
    assert max(one.late_ms for one in good) <= 50


def test_an_sql_that_hangs_is_asked_by_few(failing: World) -> None:
    begun = hang(failing, "firings.rows")
    failing.run_for(SECONDS)
    first = begun[0]
    cycle_s = TIME_OUT_S + REST_S
    assert begun
    assert not [at for at in begun if LONG_S < at - first < cycle_s]
    assert [at for at in begun if at - first >= cycle_s]


def test_while_sql_hangs_what_is_to_wait_in_lanes_takes_no_room_from_others(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is a twenty-fifth of its real size; the mover is one thread."""
    most = 400
    monkeypatch.setattr(mover, "MOST_AT_ONCE", 40)
    world = make_world(executors=1, places=(10, 160))
    node = world.executor_nodes[0]
    node.claims._most = most
    node.mover = OneAtATime(node.mover)  # type: ignore[assignment]
    world.target.answer = leave_unanswered
    world.start()
    every_second(world, "hog", [f"{number}.{HUNG}" for number in range(4)], 20)
    every_second(world, "other", [GOOD], 3)
    world.run_for(30)
    hang(world, "firings.note_lanes")
    since, held = world.now, []
    for _ in range(60):
        world.run_for(1)
        held.append(node.claims.held)
    good = [one for one in arrivals_at(world, GOOD) if one.fire_at >= since]
    assert len(good) >= 3 * 58
    assert max(one.late_ms for one in good) <= 50
    assert max(held) < most


class OneAtATime:
    """A mover that moves in one thread, as the real one does; who finds it at work relieves it."""

    def __init__(self, mover: Mover) -> None:
        self._mover = mover
        self._is_moving = False

    @property
    def has_moves(self) -> bool:
        return self._mover.has_moves

    def move_all(self) -> None:
        if self._is_moving:
            self._mover.relieve()
        else:
            self._is_moving = True
            try:
                self._mover.move_all()
            finally:
                self._is_moving = False
