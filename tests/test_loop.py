"""A loop does its work soon, again and again, whatever becomes of it."""

import time
from threading import Event
from threading import enumerate as running_threads
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from tests.store.worlds import until
from wangtimer.base.loop import Loop
from wangtimer.core.errors import StoreAway

SOON_S = 0.01


class Work:
    """Counts how often it is done; raises or returns the first of `results`, None once there is none."""

    def __init__(self, *results: float | Exception | None) -> None:
        self.results = list(results)
        self.done = 0

    def __call__(self) -> float | None:
        self.done += 1
        result = self.results.pop(0) if self.results else None
        if isinstance(result, Exception):
            raise result
        return result


def threads_named(name: str) -> int:
    return sum(thread.name == name for thread in running_threads())


def test_it_works_at_once_and_then_each_time_it_is_woken() -> None:
    work = Work()
    loop = Loop("woken", work)
    loop.start()
    for times in (1, 2, 3):
        until(lambda times=times: work.done == times)
        loop.wake()
    until(lambda: work.done == 4)


def test_a_wake_while_it_works_has_it_work_once_more() -> None:
    begun, may_end, times = Event(), Event(), []

    def work() -> None:
        times.append(1)
        begun.set()
        may_end.wait(10)

    loop = Loop("busy", work)
    loop.start()
    assert begun.wait(10)
    loop.wake()
    loop.wake()
    may_end.set()
    until(lambda: len(times) == 2)


@pytest.mark.parametrize("results", [(), (SOON_S, SOON_S, SOON_S)], ids=["its period", "what work returns"])
def test_it_works_again_after_a_while(results: tuple[float, ...]) -> None:
    work = Work(*results)
    Loop("periodic", work, None if results else SOON_S).start()
    until(lambda: work.done >= 4)


def test_two_starts_make_one_thread() -> None:
    name = uuid4().hex
    loop = Loop(name, Work())
    loop.start()
    loop.start()
    assert threads_named(name) == 1


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (StoreAway("Redis", "refused"), "loop_waits_for_store"),
        (RuntimeError("a fault"), "loop_stumbled"),
    ],
    ids=["a store is away", "a fault"],
)
def test_work_that_fails_is_done_again_after_a_pause_that_no_wake_shortens(
    error: Exception, event: str
) -> None:
    work = Work(error)
    loop = Loop("failing", work, pause_s=0.3)
    with capture_logs() as logs:
        began_at = time.monotonic()
        loop.start()
        until(lambda: work.done == 1)
        loop.wake()
        until(lambda: work.done == 2)
    assert time.monotonic() - began_at >= 0.3
    assert [one["event"] for one in logs if one.get("loop") == "failing"] == [event]
