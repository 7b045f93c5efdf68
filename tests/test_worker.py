"""A worker comes back to its broker in seconds, obeys nobody there, and ends itself if it hangs."""

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from redis import Redis

from tests.patience import Deadline, wait_for
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.stack.child import inherited_environment
from wangtimer.worker import EXIT_CODE

# A worker of one thread, so that a task that sleeps keeps the event loop from turning.
WORKER = """
import sys, time
import wangtimer.worker as worker
worker.HANGS_AFTER_S, worker.LOOK_EVERY_S = 4.0, 0.5
from wangtimer.celery import app
@app.task(name="hang")
def hang():
    time.sleep(60)
@app.task(name="note")
def note(path):
    open(path, "w").close()
app.worker_main(["worker", "-Q", "migrate", "-P", "solo", "--without-mingle", "--without-gossip"])
"""

# What Celery's workers obey by default, with arguments that would do harm.
ACTING: dict[str, dict[str, Any]] = {
    "cancel_consumer": {"queue": "migrate"},
    "add_consumer": {"queue": "elsewhere"},
    "pool_shrink": {"n": 1},
    "pool_grow": {"n": 100_000},
    "pool_restart": {},
    "autoscale": {"max": 1, "min": 0},
    "rate_limit": {"task_name": "note", "rate_limit": "1/h"},
    "time_limit": {"task_name": "note", "hard": 1},
    "revoke": {"task_id": "one", "terminate": True},
    "terminate": {"signal": "KILL", "task_id": "one"},
    "disable_events": {},
    "hello": {"from_node": "somebody", "revoked": ["one"]},
    "shutdown": {},
}

pytestmark = pytest.mark.processes


class Worker:
    def __init__(self, broker_url: str, directory: Path) -> None:
        environment = inherited_environment() | {
            "WANGTIMER_BROKER_URL": broker_url,
            "WANGTIMER_STORE_URL": broker_url,
            "WANGTIMER_EGRESS": "public",
            "WANGTIMER_DATABASE_URL": f"sqlite:///{directory / 'w.db'}",
        }
        self._broker_url = broker_url
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def send(self, task: str, *arguments: str) -> None:
        app = Celery(broker=self._broker_url)
        app.send_task(task, arguments, exchange="wangtimer", routing_key="migrate", queue="migrate")

    def does(self, path: Path, within_s: float) -> bool:
        """Tell whether a task that writes the file is done in time; it is sent again each second."""
        deadline = Deadline(within_s)
        while not deadline.is_over:
            self.send("note", str(path))
            if wait_for(path.exists, 1.0):
                return True
        return False

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def broker(tmp_path: Path):
    (tmp_path / "broker").mkdir()
    with RedisServer(redis_program(), tmp_path / "broker") as server:
        yield server


@pytest.fixture
def worker(broker: RedisServer, tmp_path: Path):
    running = Worker(broker.url(1), tmp_path)
    assert running.does(tmp_path / "started", 20)
    yield running
    running.end()


def test_a_worker_whose_loop_hangs_while_the_broker_answers_ends_itself(worker: Worker) -> None:
    worker.send("hang")
    assert worker.process.wait(20) == EXIT_CODE


def test_a_worker_is_back_within_seconds_of_a_broker_that_was_away(
    worker: Worker, broker: RedisServer, tmp_path: Path
) -> None:
    broker.process.kill()
    time.sleep(6)  # the outage: long enough for Celery's own pauses to have grown to 6 s
    broker.process.start()
    assert worker.does(tmp_path / "again", 4)
    assert worker.process.poll() is None


def test_a_message_costs_the_broker_no_acknowledgement(
    worker: Worker, broker: RedisServer, tmp_path: Path
) -> None:
    with closing(Redis.from_url(broker.url(1))) as client:
        client.config_resetstat()
        for number in range(20):
            worker.send("note", str(tmp_path / str(number)))
        assert wait_for(lambda: len(list(tmp_path.glob("1?"))) == 10, 5)
        counted = client.info("commandstats")
    assert counted["cmdstat_lpush"]["calls"] == 20
    of_acknowledging = ("zadd", "hset", "zrem", "hdel")
    # kombu notes the deadline of its binding (one ZADD) a moment after a worker started.
    calls = {word: counted.get(f"cmdstat_{word}", {"calls": 0})["calls"] for word in of_acknowledging}
    assert max(calls.values()) < 5, calls


def test_who_reaches_the_broker_may_ask_a_worker_but_not_stop_or_change_it(
    worker: Worker, broker: RedisServer, tmp_path: Path
) -> None:
    control = Celery(broker=broker.url(1)).control

    def answer(command: str, **arguments: Any) -> dict[str, Any]:
        (said,) = control.broadcast(command, arguments=arguments, reply=True, timeout=20, limit=1)
        (reply,) = said.values()
        return dict(reply)

    for command, arguments in ACTING.items():
        assert answer(command, **arguments) == {"error": f"KeyError('{command}')"}
    assert answer("ping") == {"ok": "pong"}
    assert answer("stats")["pool"]["max-concurrency"] == 1
    assert worker.process.poll() is None
    assert worker.does(tmp_path / "still", 20)


def test_an_outage_of_the_broker_is_no_reason_to_end(worker: Worker, broker: RedisServer) -> None:
    broker.process.kill()
    with pytest.raises(subprocess.TimeoutExpired):
        worker.process.wait(5)
