"""Flower, started as the Procfile says, sees the workers that the Procfile starts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.servers.redis_server import RedisServer
from wangtimer.stack.ports import free_port
from wangtimer.stack.procfile import read_commands
from wangtimer.stack.service import Service
from wangtimer.stack.supervisor import Supervisor, wait_for

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("whole stack")]

WORKERS = {"scheduler": "schedule", "migrate": "migrate", "trigger": "trigger", "callback": "callback"}
ACCOUNT = ("operator", "secret")


@pytest.fixture
def flower_url(redis_url: str, redis_server: RedisServer, mariadb_url: str, tmp_path: Path) -> Iterator[str]:
    """Flower's URL, with one worker of each kind beside it."""
    port = free_port()
    environment = {
        "WANGTIMER_DATABASE_URL": mariadb_url,
        "WANGTIMER_STORE_URL": redis_url,
        "WANGTIMER_BROKER_URL": redis_server.url(1),
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


def test_flower_lists_each_worker_with_its_queue_and_nothing_without_a_password(flower_url: str) -> None:
    expected = {name: {queue} for name, queue in WORKERS.items()}
    assert wait_for(lambda: queues_by_worker(flower_url) == expected, seconds=30), queues_by_worker(
        flower_url
    )
    assert requests.get(f"{flower_url}/api/workers", timeout=10).status_code == 401
