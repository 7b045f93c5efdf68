"""Whole deployments that send messages while an executor dies, a broker dies, and a broker hangs.

Nothing confirmed is lost, nothing is early, and what comes twice was under way when the fault struck.
"""

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import amqp
import pytest
import redis

from tests.e2e.deployment import Deployment
from tests.patience import Deadline
from tests.servers.rabbitmq import RabbitMQ
from tests.servers.redis_server import RedisServer, redis_program

pytestmark = pytest.mark.processes

TIMERS = 20
APP = "shop"
# s; how long the load goes on before, between and after the faults.
CALM_S = 5
# s; from the end of the load until what was failed by a fault was tried again.
WITHIN_S = 60
# s; what was under way in a process that died is sent again by another one.
AROUND_A_FAULT_S = 15


class Arrival(NamedTuple):
    """A message that came: its timer, its moment (ms UTC), and when it came (ms UTC)."""

    timer: str
    fire_at: int
    came_at: float


class RabbitQueue:
    """A durable queue, consumed as messages come."""

    target: ClassVar[dict[str, Any]] = {
        "queue": {"broker": "orders", "exchange": "shop.events", "routingKey": "shop.fired"}
    }

    def __init__(self, server: RabbitMQ) -> None:
        server.declare("shop.work", "shop.events", "shop.#")
        self._server, self.url, self.process = server, server.url, server.process
        self._came: list[Arrival] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._consume, daemon=True)
        self._thread.start()

    def restart(self) -> None:
        self._server.start()

    def arrivals(self) -> list[Arrival]:
        return list(self._came)

    def close(self) -> None:
        self._is_over.set()
        self._thread.join(10)

    def _consume(self) -> None:
        while not self._is_over.is_set():
            try:
                with closing(self._server.connect()) as connection:
                    channel = connection.channel()
                    channel.basic_consume("shop.work", callback=self._take)
                    while not self._is_over.is_set():
                        try:
                            connection.drain_events(timeout=0.5)
                        except TimeoutError:
                            continue
            except (OSError, amqp.AMQPError, AttributeError):
                time.sleep(0.2)

    def _take(self, message: amqp.Message) -> None:
        self._came.append(_arrival(message.headers, time.time() * 1_000))
        # What a consumer does not acknowledge is gone, though confirmed, if the broker dies while it sends.
        message.channel.basic_ack(message.delivery_tag)


class StreamQueue:
    """A stream on a Redis that keeps what it confirmed; each entry's id tells when it came."""

    target: ClassVar[dict[str, Any]] = {"queue": {"broker": "orders", "stream": "shop:events"}}

    def __init__(self, server: RedisServer) -> None:
        self._server, self.url, self.process = server, server.url(), server.process

    def restart(self) -> None:
        self.process.start()

    def arrivals(self) -> list[Arrival]:
        with closing(redis.Redis.from_url(self.url)) as client:
            entries = client.xrange("shop:events")
        return [
            _arrival(json.loads(fields[b"headers"]), float(name.partition(b"-")[0]))
            for name, fields in entries
        ]

    def close(self) -> None:
        pass


class CeleryQueue(RabbitQueue):
    """The queue of a user's Celery workers on RabbitMQ, read as they read it."""

    target: ClassVar[dict[str, Any]] = {"celery": {"broker": "orders", "queue": "shop.work"}}

    def _take(self, message: amqp.Message) -> None:
        assert message.headers["task"] == "shop.fire"
        super()._take(message)


def _arrival(headers: dict[str, str], came_at: float) -> Arrival:
    return Arrival(headers["X-WangTimer-Timer"], int(headers["X-WangTimer-Fire-At"]), came_at)


@contextmanager
def queue_of(kind: str, directory: Path) -> Iterator[RabbitQueue | StreamQueue]:
    directory.mkdir()
    if kind == "stream":
        options = ("--appendonly", "yes", "--appendfsync", "always")
        with RedisServer(redis_program(), directory, *options) as server:
            yield StreamQueue(server)
        return
    with RabbitMQ(directory) as broker:
        one = RabbitQueue(broker) if kind == "exchange" else CeleryQueue(broker)
        with closing(one):
            yield one


@pytest.mark.parametrize("kind", ["exchange", "stream", "celery"])
def test_nothing_is_lost_or_early_while_executors_and_brokers_die_and_hang(kind: str, tmp_path: Path) -> None:
    with queue_of(kind, tmp_path / "queue") as queue:
        brokers = tmp_path / "brokers.toml"
        brokers.write_text(
            f'[[broker]]\nname = "orders"\nurl = "{queue.url}"\n[[broker.allow]]\napp = "{APP}"\n'
            'exchanges = ["shop.*"]\nstreams = ["shop:*"]\ncelery_queues = ["shop.*"]\n'
        )
        with Deployment(tmp_path, {"callback": 2}, brokers_file=str(brokers)) as deployment:
            ids = _timers(deployment, queue)
            deployment.tend_for(CALM_S)
            begun = time.time() * 1_000
            faults = list(_strike(deployment, queue))
            ended = time.time() * 1_000
            expected = {
                (timer, moment)
                for timer in ids
                for moment in range(int(begun // 1_000 + 1) * 1_000, int(ended // 1_000) * 1_000, 1_000)
            }
            _wait_for(deployment, lambda: expected <= _seen(queue))
            came = queue.arrivals()
    missing = expected - {(one.timer, one.fire_at) for one in came}
    assert not missing, f"{len(missing)} of {len(expected)} are lost, such as {sorted(missing)[:3]}"
    assert all(one.came_at >= one.fire_at for one in came)
    repeated = [
        key for key, number in Counter((one.timer, one.fire_at) for one in came).items() if number > 1
    ]
    for _, moment in repeated:
        assert any(at - 1_000 * AROUND_A_FAULT_S <= moment <= until for at, until in faults), moment


def _timers(deployment: Deployment, queue: RabbitQueue | StreamQueue) -> list[str]:
    session, headers = deployment._session, {"WangTimer-App": APP}
    url = f"{deployment.api_url}/v1"
    put = session.put(f"{url}/targets/events", json=queue.target, headers=headers, timeout=20)
    assert put.status_code == 201, put.text
    target: dict[str, object] = {"name": "events"}
    target |= {"celery": {"task": "shop.fire"}} if "celery" in queue.target else {"body": "{}"}
    ids = []
    for number in range(TIMERS):
        fields = {"schedule": {"cron": "* * * * * *"}, "target": target, "retry": {"pauses": ["1s"] * 8}}
        body = {"key": f"k{number}"} | fields
        made = session.post(f"{url}/timers", json=body, headers=headers, timeout=20)
        assert made.status_code == 201, made.text
        ids.append(str(made.json()["id"]))
    return ids


def _strike(deployment: Deployment, queue: RabbitQueue | StreamQueue) -> Iterator[tuple[float, float]]:
    """Strike, one after the other; yield from when to when each fault may have caused repeats, ms UTC."""
    at = time.time() * 1_000
    os.killpg(deployment.supervisor.children()["callback"].pid, signal.SIGKILL)
    deployment.tend_for(CALM_S + AROUND_A_FAULT_S)
    yield at, time.time() * 1_000
    at = time.time() * 1_000
    queue.process.kill()
    deployment.tend_for(2)
    queue.restart()
    deployment.tend_for(CALM_S)
    yield at, time.time() * 1_000
    at = time.time() * 1_000
    queue.process.freeze()
    deployment.tend_for(12)
    queue.process.thaw()
    deployment.tend_for(CALM_S)
    yield at, time.time() * 1_000


def _seen(queue: RabbitQueue | StreamQueue) -> set[tuple[str, int]]:
    return {(one.timer, one.fire_at) for one in queue.arrivals()}


def _wait_for(deployment: Deployment, is_so: Callable[[], bool]) -> None:
    deadline = Deadline(WITHIN_S)
    while not is_so() and not deadline.is_over:
        deployment.tend_for(1)
