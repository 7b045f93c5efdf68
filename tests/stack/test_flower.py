"""Flower, started as the Procfile says, sees the workers that the Procfile starts, and one of a queue of its own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import requests
from celery import Celery

from tests.docs.blocks import ROOT
from tests.patience import wait_for
from tests.servers.prepared_databases import PreparedDatabases
from tests.servers.redis_server import RedisServer
from wangtimer.base.broker import Broker
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK
from wangtimer.core.flow.firing import Chunk, DueMember, Member
from wangtimer.core.flow.slicing import Slice, TriggerOrder
from wangtimer.stack.ports import free_port
from wangtimer.stack.procfile import read_commands
from wangtimer.stack.service import Service, is_ready
from wangtimer.stack.supervisor import Supervisor

pytestmark = pytest.mark.processes

WORKERS = {"scheduler": "schedule", "migrate": "migrate", "trigger": "trigger", "callback": "callback"}
OWN = "callback-reports"
QUEUES = WORKERS | {OWN: "callback.reports"}
EXPECTED = {name: {queue} for name, queue in QUEUES.items()}
ACCOUNT = ("operator", "secret")


@dataclass(frozen=True, slots=True)
class Running:
    """Flower's URL and the API's."""

    flower: str
    api: str


@pytest.fixture(scope="module")
def running(
    redis_server: RedisServer,
    prepared_databases: PreparedDatabases,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    """Flower, with one worker of each queue beside it, the API and beat."""
    redis_server.flush()
    with prepared_databases.lent() as database_url:
        yield from started(redis_server, database_url, tmp_path_factory.mktemp("flower"))


def started(redis_server: RedisServer, database_url: str, folder: Path) -> Iterator[Running]:
    port, api = free_port(), f"127.0.0.1:{free_port()}"
    environment = {
        "WANGTIMER_DATABASE_URL": database_url,
        "WANGTIMER_STORE_URL": redis_server.url(),
        "WANGTIMER_BROKER_URL": redis_server.url(1),
        "WANGTIMER_EGRESS": PUBLIC_AND_LOOPBACK,
        "WANGTIMER_CALLBACK_QUEUES": OWN.partition("-")[2],
        "WANGTIMER_HTTP_BIND": api,
        "FLOWER_PORT": str(port),
        "FLOWER_BASIC_AUTH": ":".join(ACCOUNT),
    }
    commands = read_commands()
    callback = commands["callback"]
    own = tuple(
        word.replace("callback@", f"{OWN}@") if "@" in word else QUEUES[OWN] if word == "callback" else word
        for word in callback.argv
    )
    del commands["stream"]
    supervisor = Supervisor()
    try:
        Service(supervisor, folder, environment).start(
            (*commands.values(), replace(callback, name=OWN, argv=own))
        )
        assert wait_for(lambda: supervisor.all_ready() and is_ready(f"http://{api}"), seconds=30), (
            supervisor.unready()
        )
        yield Running(f"http://127.0.0.1:{port}", f"http://{api}")
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
    running: Running, redis_server: RedisServer
) -> None:
    flower_url = running.flower
    assert wait_for(lambda: queues_by_worker(flower_url) == EXPECTED, seconds=30)
    broker = Broker(Celery(broker=redis_server.url(1), config_source="celeryconfig"))
    broker.app.conf.broker_url = redis_server.url(1)
    moment = 1_800_000_000_000
    members = tuple(DueMember(Member(number, moment, 1), moment + number) for number in (2, 1))

    def send() -> None:
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


def test_flower_lists_each_worker_with_its_queue_and_nothing_without_a_password(running: Running) -> None:
    flower_url = running.flower
    assert wait_for(lambda: queues_by_worker(flower_url) == EXPECTED, 30), queues_by_worker(flower_url)
    page = requests.get(f"{flower_url}/broker", auth=ACCOUNT, timeout=10).text
    assert set(re.findall(r'<tr id="([^"]+)">', page)) == set(QUEUES.values())
    for path in ("api/workers", "broker"):
        assert requests.get(f"{flower_url}/{path}", timeout=10).status_code == 401


def test_a_call_that_failed_is_a_task_that_succeeded_as_the_page_says(running: Running) -> None:
    assert "**A failed call is a succeeded task.**" in (ROOT / "docs/how-to/monitor.md").read_text()
    assert wait_for(lambda: queues_by_worker(running.flower) == EXPECTED, seconds=30)
    asked = {"headers": {"WangTimer-App": "shop"}, "timeout": 10}
    requests.post(f"{running.api}/v1/apps", json={"name": "shop"}, timeout=10).raise_for_status()
    # Nobody listens there.
    target = {"url": f"http://127.0.0.1:{free_port()}/"}
    body = {"key": "lost", "schedule": {"delay": "0s"}, "target": target, "retry": {"attempts": 1}}
    requests.post(f"{running.api}/v1/timers", json=body, **asked).raise_for_status()

    def failed() -> list[Any]:
        found = requests.get(f"{running.api}/v1/firings?timer=key:lost&status=failed", **asked)
        return list(found.json()["items"])

    assert wait_for(failed, seconds=30)

    def states() -> list[str]:
        """Return those of the tasks of one firing: its own."""
        tasks = tasks_by_name(running.flower).get("wangtimer.callback", [])
        return [one["state"] for one in tasks if one["args"].startswith("1 firings from ")]

    assert wait_for(lambda: states() == ["SUCCESS"], seconds=30), states()
