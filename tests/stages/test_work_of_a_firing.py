"""What a plain firing costs the threads that prepare and settle it, counted: a feature that adds to it is seen here."""

import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import wangtimer
from tests.stages.world import World
from wangtimer.core.schedules.schedule import Once

FIRINGS = 1_000
PACKAGE = str(Path(wangtimer.__file__).parent)
DOUBLES = str(Path(wangtimer.__file__).with_name("testing"))
# Calls of Python a firing, from its claim to the engine, and where its outcome is settled. The stores are doubles:
# their work is not counted. A change that needs more has a decision that says why.
MOST_CALLS, MOST_SETTLING_CALLS = 20.5, 5.5
# Blocks of memory that it has taken by the time it waits in the engine.
MOST_BLOCKS = 10.5


def is_counted(file: str) -> bool:
    return file.startswith(PACKAGE) and not file.startswith(DOUBLES)


class Counted:
    """Counts the calls of functions of the package, but for the doubles, while a method of an object runs."""

    def __init__(self, holder: object, method: str) -> None:
        self.calls: Counter[str] = Counter()
        self._method = getattr(holder, method)
        setattr(holder, method, self._run)

    def _run(self, *given: Any) -> Any:
        sys.setprofile(self._note)
        try:
            return self._method(*given)
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and is_counted(frame.f_code.co_filename):
            self.calls[frame.f_code.co_qualname] += 1

    @property
    def each(self) -> str:
        """The calls a firing, the most frequent first."""
        return ", ".join(f"{name} {number / FIRINGS:.2f}" for name, number in self.calls.most_common(50))


@pytest.fixture
def lone(make_world: Callable[..., World]) -> World:
    return make_world(executors=1).start()


def fire_crowd(world: World) -> None:
    """Fire as many one-shots at one moment."""
    moment = (world.now // 60_000 + 3) * 60_000 + 500
    for _ in range(FIRINGS):
        world.timer(Once(moment))
    world.run_for((moment - world.now) / 1_000 + 5)
    assert len(world.target.arrivals) == FIRINGS


def test_a_plain_firing_makes_few_calls_of_python(lone: World) -> None:
    node = lone.executor_nodes[0]
    prepared, settled = Counted(node.executor, "begin"), Counted(node.settler, "settle_all")
    fire_crowd(lone)
    assert prepared.calls.total() / FIRINGS <= MOST_CALLS, prepared.each
    assert settled.calls.total() / FIRINGS <= MOST_SETTLING_CALLS, settled.each


def test_a_plain_firing_takes_few_blocks_of_memory(lone: World) -> None:
    executor = lone.executor_nodes[0].executor
    begin, taken = executor.begin, Counter[str]()

    def traced(*given: Any) -> Any:
        tracemalloc.start()
        try:
            return begin(*given)
        finally:
            for found in tracemalloc.take_snapshot().statistics("lineno"):
                if is_counted(found.traceback[0].filename):
                    taken[f"{found.traceback[0]}"] += found.count
            tracemalloc.stop()

    executor.begin = traced  # type: ignore[method-assign]
    fire_crowd(lone)
    each = ", ".join(f"{line} {number / FIRINGS:.2f}" for line, number in taken.most_common(30))
    assert taken.total() / FIRINGS <= MOST_BLOCKS, each
    assert taken.total() / FIRINGS >= MOST_BLOCKS / 2, each
