"""Three processes share the limit of an app, or of a host, as the target counts, though one is killed."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from tests.callback.calls import MachineClock
from tests.callback.counting_target import CountingTarget
from tests.callback.limited_process import PREFIX, TIMEOUT_MS
from tests.callback.target import wait_until
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.limits import ANY_HOST, CALL_LIMITS, CallLimits
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.permits import MARGIN_MS
from wangtimer.store.replica import Replica, ReplicaTexts

pytestmark = pytest.mark.processes

APP = "shop"
AT_ONCE, RATE = 6, 20
WITHIN_S = 300.0


class Processes:
    """Starts engines in processes of their own, and kills them."""

    def __init__(self, store_url: str, url: str) -> None:
        self._arguments = [store_url, url, APP, str(2 * AT_ONCE)]
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        argv = [sys.executable, "-m", "tests.callback.limited_process", *self._arguments]
        self._running.append(subprocess.Popen(argv))

    def kill_one(self) -> None:
        one = self._running.pop()
        one.send_signal(signal.SIGKILL)
        one.wait()

    def close(self) -> None:
        while self._running:
            self.kill_one()


def limit(store_url: str, limit: CallLimit, of: str) -> None:
    with closing(RedisConnection(store_url)) as connection:
        texts = ReplicaTexts(connection, Keys(PREFIX))
        limits = CallLimits({APP: limit}) if of == "app" else CallLimits(hosts={ANY_HOST: limit})
        Replica(CALL_LIMITS, CallLimits, texts, MachineClock()).write(limits)


OF = pytest.mark.parametrize("of", ["app", "host"])


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def started(stack: ExitStack, store_url: str, takes_s: float) -> tuple[CountingTarget, Processes]:
    target = stack.enter_context(CountingTarget(takes_s))
    processes = stack.enter_context(closing(Processes(store_url, target.url)))
    for _ in range(3):
        processes.start()
    return target, processes


@OF
def test_the_target_never_has_more_calls_at_once(stack: ExitStack, redis_url: str, of: str) -> None:
    limit(redis_url, CallLimit(at_once=AT_ONCE), of)
    target, processes = started(stack, redis_url, 0.3)
    for _ in range(2):
        calls = len(target.began_at)
        wait_until(lambda calls=calls: len(target.began_at) >= calls + 10 * AT_ONCE, WITHIN_S)
        processes.kill_one()
        processes.start()
    # Its permits end with its calls' time-out: then all are in use again.
    killed_at, calls = target.began_at[-1], len(target.began_at)
    wait_until(lambda: target.began_at[-1] > killed_at + (TIMEOUT_MS + MARGIN_MS) / 1_000 + 1, WITHIN_S)
    wait_until(lambda: len(target.began_at) >= calls + 10 * AT_ONCE, WITHIN_S)
    assert target.most == AT_ONCE


@OF
def test_the_target_is_never_called_faster(stack: ExitStack, redis_url: str, of: str) -> None:
    limit(redis_url, CallLimit(per_second=RATE), of)
    target, processes = started(stack, redis_url, 0.0)
    wait_until(lambda: len(target.began_at) >= 4 * RATE, WITHIN_S)
    processes.kill_one()
    wait_until(lambda: len(target.began_at) >= 12 * RATE, WITHIN_S)
    lasted_s = target.began_at[-1] - target.began_at[0]
    assert len(target.began_at) <= RATE * (lasted_s + 0.5) + CallLimit(RATE).burst
