"""A whole deployment whose consumers get firings while an executor, the stream and Redis die or hang.

Nothing is lost, nothing is early, and what comes twice was under way when a fault struck.
"""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.deployment import Deployment
from tests.secret_keys import SECRET_KEYS
from wangtimer.client import Consumer, ReceivedCall, SeenFirings

pytestmark = [pytest.mark.processes, pytest.mark.timeout(500)]

TIMERS = 20
APP = "shop"
CALM_S = 5
PATIENCE_S = 60
# s; what was under way is tried again after its ackTimeout of 5 s, or by another executor.
AROUND_A_FAULT_S = 20


class Arrival(NamedTuple):
    """A firing that a consumer acted on: its timer, its moment (ms UTC), and when it came (ms UTC)."""

    timer: str
    fire_at: int
    came_at: float


class Workers:
    """Two consumers, which remember no firing: each that comes is acted on."""

    def __init__(self, url: str) -> None:
        self.came: list[Arrival] = []
        self._consumers = [
            Consumer(url, "work", self._act, key="", app=APP, window=50, seen=SeenFirings(most=0))
            for _ in range(2)
        ]
        self._threads = [threading.Thread(target=one.run, daemon=True) for one in self._consumers]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        for one in self._consumers:
            one.stop()
        for thread in self._threads:
            thread.join(20)

    def _act(self, call: ReceivedCall) -> None:
        timer, _, fire_at = call.id.partition("-")
        self.came.append(Arrival(timer, int(fire_at), time.time() * 1_000))


def test_consumers_lose_nothing_and_get_nothing_early_while_processes_die_and_hang(tmp_path: Path) -> None:
    with Deployment(tmp_path, {"callback": 2, "stream": 1}, secret_keys=SECRET_KEYS) as deployment:
        ids = _timers(deployment)
        workers = Workers(deployment.stream_url)
        deployment.tend_for(CALM_S)
        begun = time.time() * 1_000
        faults = list(_strike(deployment))
        ended = time.time() * 1_000
        moments = range(int(begun // 1_000 + 1) * 1_000, int(ended // 1_000) * 1_000, 1_000)
        expected = {(timer, moment) for timer in ids for moment in moments}
        deadline = time.monotonic() + PATIENCE_S
        while not expected <= _seen(workers) and time.monotonic() < deadline:
            deployment.tend_for(1)
        workers.stop()
    missing = expected - _seen(workers)
    assert not missing, f"{len(missing)} of {len(expected)} are lost, such as {sorted(missing)[:3]}"
    assert all(one.came_at >= one.fire_at for one in workers.came)
    counted = Counter((one.timer, one.fire_at) for one in workers.came)
    for _, moment in (key for key, number in counted.items() if number > 1):
        assert any(at - 1_000 * AROUND_A_FAULT_S <= moment <= until for at, until in faults), moment


def _timers(deployment: Deployment) -> list[str]:
    session, headers = deployment._session, {"WangTimer-App": APP}
    url = f"{deployment.api_url}/v1"
    target = {"consumers": {"group": "work"}, "ackTimeout": "5s"}
    put = session.put(f"{url}/targets/work", json=target, headers=headers, timeout=20)
    assert put.status_code == 201, put.text
    ids = []
    for number in range(TIMERS):
        fields = {
            "schedule": {"cron": "* * * * * *"},
            "target": {"name": "work"},
            "retry": {"pauses": ["1s"] * 8},
        }
        made = session.post(f"{url}/timers", json={"key": f"k{number}"} | fields, headers=headers, timeout=20)
        assert made.status_code == 201, made.text
        ids.append(str(made.json()["id"]))
    return ids


def _strike(deployment: Deployment) -> Iterator[tuple[float, float]]:
    """Strike, one after the other; yield from when to when each fault may have caused repeats, ms UTC."""
    for name in ("callback", "stream"):
        at = time.time() * 1_000
        os.killpg(deployment.supervisor.children()[name].pid, signal.SIGKILL)
        deployment.tend_for(CALM_S + AROUND_A_FAULT_S)
        yield at, time.time() * 1_000
    at = time.time() * 1_000
    pid = deployment.supervisor.children()["stream"].pid
    os.kill(pid, signal.SIGSTOP)
    deployment.tend_for(12)
    os.kill(pid, signal.SIGCONT)
    deployment.tend_for(CALM_S)
    yield at, time.time() * 1_000
    at = time.time() * 1_000
    deployment.store.process.freeze()
    deployment.tend_for(6)
    deployment.store.process.thaw()
    deployment.tend_for(CALM_S + AROUND_A_FAULT_S)
    yield at, time.time() * 1_000
    # It keeps nothing on disk: what stood in the lists of consumers is lost.
    at = time.time() * 1_000
    deployment.store.process.kill()
    deployment.tend_for(2)
    deployment.store.process.start()
    deployment.tend_for(CALM_S + AROUND_A_FAULT_S)
    yield at, time.time() * 1_000


def _seen(workers: Workers) -> set[tuple[str, int]]:
    return {(one.timer, one.fire_at) for one in workers.came}
