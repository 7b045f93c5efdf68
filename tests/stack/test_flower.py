"""Flower, started as the Procfile says, sees the workers that the Procfile starts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from celery import Celery

from tests.patience import wait_for
from tests.servers.redis_server import RedisServer
from wangtimer.base.broker import Broker
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK
from wangtimer.core.flow.firing import Chunk, DueMember, Member
from wangtimer.core.flow.slicing import Slice, TriggerOrder
from wangtimer.stack.ports import free_port
from wangtimer.stack.procfile import read_commands
from wangtimer.stack.service import Service
from wangtimer.stack.supervisor import Supervisor
from wangtimer.store.sql.database import Database

pytestmark = pytest.mark.processes

WORKERS = {"scheduler": "schedule", "migrate": "migrate", "trigger": "trigger", "callback": "callback"}
ACCOUNT = ("operator", "secret")


@pytest.fixture
def flower_url(redis_url: str, redis_server: RedisServer, mariadb_url: str, tmp_path: Path) -> Iterator[str]:
    """Flower's URL, with one worker of each kind beside it."""
    database = Database(mariadb_url, 1)
    database.create_tables()
    database.close()
    port = free_port()
    environment = {
        "WANGTIMER_DATABASE_URL": mariadb_url,
        "WANGTIMER_STORE_URL": redis_url,
        "WANGTIMER_BROKER_URL": redis_server.url(1),
        "WANGTIMER_EGRESS": PUBLIC_AND_LOOPBACK,
        "FLOWER_PORT": str(port),
        "FLOWER_BASIC_AUTH": ":".join(ACCOUNT),
    }
    supervisor = Supervisor()
    try:
        Service(supervisor, tmp_path, environment).start(
            read_commands()[name] for name in (*WORKERS, "flower")
        )
        assert wait_for(supervisor.all_ready, seconds=30), supervisor.unready()
        yield f"http://127.0.0.1:{port}"
    finally:
        supervisor.stop(seconds=5)


def queues_by_worker(flower_url: str) -> dict[str, set[str]]:
    """Return what Flower's API says; nothing while it is starting."""
    try:
        answer = requests.get(f"{flower_url}/api/workers?refresh=1", auth=ACCOUNT, timeout=10)
    except requests.ConnectionError:
        return {}
    workers: dict[str, dict[str, Any]] = answer.json() if answer.ok else {}
    return {
        name.partition("@")[0]: {queue["name"] for queue in worker.get("active_queues", [])}
        for name, worker in workers.items()
    }


def tasks_by_name(flower_url: str) -> dict[str, list[dict[str, Any]]]:
    """Return the tasks that Flower knows of."""
    answer = requests.get(f"{flower_url}/api/tasks", auth=ACCOUNT, timeout=10)
    tasks: dict[str, list[dict[str, Any]]] = {}
    for task in answer.json().values():
        tasks.setdefault(task["name"], []).append(task)
    return tasks


def processed_by_worker(flower_url: str) -> dict[str, int]:
    """Return how many tasks each worker has done, as Flower's page of workers counts them."""
    rows = requests.get(f"{flower_url}/workers?json=1", auth=ACCOUNT, timeout=10).json()["data"]
    return {row["hostname"].partition("@")[0]: row.get("task-succeeded", 0) for row in rows}


def test_flower_counts_what_each_worker_has_done_and_says_of_which_slice(
    flower_url: str, redis_server: RedisServer
) -> None:
    expected = {name: {queue} for name, queue in WORKERS.items()}
    assert wait_for(lambda: queues_by_worker(flower_url) == expected, seconds=30)
    broker = Broker(Celery(broker=redis_server.url(1), config_source="celeryconfig"))
    broker.app.conf.broker_url = redis_server.url(1)
    moment = 1_800_000_000_000
    members = tuple(DueMember(Member(number, moment, 1), moment + number) for number in (2, 1))

    def send() -> None:
        for name in ("schedule", "sweep"):
            broker.app.send_task(f"wangtimer.{name}", queue="schedule" if name == "schedule" else "migrate")
        broker.send_trigger(TriggerOrder(Slice.at(moment, 3), "token", 7))
        broker.send_chunk(Chunk(Slice.at(moment, 3), members))

    def is_counted() -> bool:
        send()
        counts = processed_by_worker(flower_url)
        return set(counts) >= WORKERS.keys() and all(counts[name] > 0 for name in WORKERS)

    assert wait_for(is_counted, seconds=30), processed_by_worker(flower_url)
    tasks = tasks_by_name(flower_url)
    # Each look sent one more: the latest may have come just now.
    chunk = next(one for one in tasks["wangtimer.callback"] if one["state"] == "SUCCESS")
    order = tasks["wangtimer.trigger"][0]
    assert chunk["args"] == "2 firings from 08:00:00.001Z, slice 30000000:3"
    assert order["args"] == "slice 30000000:3, credit 7"


def test_flower_lists_each_worker_with_its_queue_and_nothing_without_a_password(flower_url: str) -> None:
    expected = {name: {queue} for name, queue in WORKERS.items()}
    assert wait_for(lambda: queues_by_worker(flower_url) == expected, seconds=30), queues_by_worker(
        flower_url
    )
    assert requests.get(f"{flower_url}/api/workers", timeout=10).status_code == 401
