"""Targets that refuse, hang, turn away or answer with errors of their own, over real connections."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.callback.calls import MachineClock, Outcomes
from tests.callback.limited_process import PREFIX
from tests.callback.target import NO_CONTENT, Target, answer_with, hold, wait_until
from wangtimer.callback import DeliveryEngine
from wangtimer.callback.health import FAILING_AFTER, ONE_FAILURE_S, TRIED_AGAIN_S
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.failing_hosts import FailingHostRecord
from wangtimer.store.redis.keys import Keys

BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
ERROR = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"
WITHIN_S = 60.0
NewEngine = Callable[..., DeliveryEngine]


@pytest.fixture
def bare_target() -> Iterator[Target]:
    target = Target()
    yield target
    target.close()


def fail_in_a_row(
    engine: DeliveryEngine, outcomes: Outcomes, url: str, timeout_ms: int | None = None
) -> None:
    """Make one call after another until the host is failing."""
    for number in range(1, FAILING_AFTER + 1):
        assert engine.failing() == {}
        engine.submit([outcomes.call(url, timeout_ms=timeout_ms)])
        outcomes.wait(number)
        time.sleep(2 * ONE_FAILURE_S)
    assert len(engine.failing()) == 1


@pytest.mark.test_all
def test_a_target_that_refuses_is_tried_by_one_call_until_it_listens_again(
    new_engine: NewEngine, outcomes: Outcomes
) -> None:
    engine, gone = new_engine(), Target()
    gone.close()
    fail_in_a_row(engine, outcomes, gone.url)
    (health,) = engine.failing().values()
    assert "refused" in health.error
    engine.submit([outcomes.call(gone.url) for _ in range(20)])
    wait_until(lambda: outcomes.ends > FAILING_AFTER, WITHIN_S)
    assert outcomes.ends == FAILING_AFTER + 1
    with closing(Target(address=("127.0.0.1", gone.port))) as back:
        replies = outcomes.wait(FAILING_AFTER + 20, TRIED_AGAIN_S + 10)
        assert len(back.requests) == sum(reply.succeeded for reply in replies) >= 17
    assert engine.failing() == {}


def test_a_target_that_hangs_is_tried_by_one_call(
    new_engine: NewEngine, outcomes: Outcomes, bare_target: Target
) -> None:
    engine = new_engine()
    bare_target.answer = hold
    fail_in_a_row(engine, outcomes, bare_target.url, timeout_ms=300)
    engine.submit([outcomes.call(bare_target.url, timeout_ms=300) for _ in range(20)])
    bare_target.wait_for_requests(FAILING_AFTER + 1)
    outcomes.wait(FAILING_AFTER + 1)
    assert len(bare_target.requests) == FAILING_AFTER + 1


def test_a_target_that_turns_calls_away_is_called_again_once_it_takes_them(
    new_engine: NewEngine, outcomes: Outcomes, bare_target: Target
) -> None:
    engine = new_engine()
    bare_target.answer = answer_with(BUSY)
    fail_in_a_row(engine, outcomes, bare_target.url)
    engine.submit([outcomes.call(bare_target.url) for _ in range(20)])
    bare_target.answer = answer_with(NO_CONTENT)
    outcomes.wait(FAILING_AFTER + 20, WITHIN_S)
    assert [reply.http_status for reply in outcomes.wait(0)].count(204) == 20
    assert engine.failing() == {}


def test_a_target_that_answers_with_errors_of_its_own_is_called_as_ever(
    engine: DeliveryEngine, outcomes: Outcomes, bare_target: Target
) -> None:
    bare_target.answer = answer_with(ERROR)
    for number in range(1, 3 * FAILING_AFTER):
        engine.submit([outcomes.call(bare_target.url)])
        outcomes.wait(number)
        time.sleep(ONE_FAILURE_S)
    assert engine.failing() == {}
    engine.submit([outcomes.call(bare_target.url) for _ in range(50)])
    outcomes.wait(3 * FAILING_AFTER - 1 + 50)


class Processes:
    """Starts two engines in processes of their own, and kills them."""

    def __init__(self, store_url: str, url: str) -> None:
        argv = [sys.executable, "-m", "tests.callback.failing_process", store_url, url, "shop", "30"]
        self._running = [subprocess.Popen(argv) for _ in range(2)]

    def close(self) -> None:
        for one in self._running:
            one.send_signal(signal.SIGKILL)
            one.wait()


@pytest.mark.processes
def test_two_processes_each_try_by_one_call_and_tell_since_when_over_a_restart(
    redis_url: str, bare_target: Target
) -> None:
    bare_target.answer = answer_with(BUSY)
    with closing(RedisConnection(redis_url)) as connection:
        record = FailingHostRecord(connection, Keys(PREFIX), MachineClock())
        with closing(Processes(redis_url, bare_target.url)):
            wait_until(lambda: record.present() != [], WITHIN_S)
            (first,) = record.present()
            assert (first.app, first.error) == ("shop", "HTTP 503")
            # Both are failing when all rests are longest: then each makes one call in five seconds.
            wait_until(lambda: calls_within(bare_target, TRIED_AGAIN_S) <= 3, WITHIN_S)
        with closing(Processes(redis_url, bare_target.url)):
            wait_until(lambda: any(one.told_at > first.told_at + 5_000 for one in record.present()), WITHIN_S)
            (again,) = record.present()
            assert again.since <= first.since
            bare_target.answer = answer_with(NO_CONTENT)
            wait_until(lambda: record.entries() == {}, WITHIN_S)


def calls_within(target: Target, seconds: float) -> int:
    before = len(target.requests)
    time.sleep(seconds)
    return len(target.requests) - before
