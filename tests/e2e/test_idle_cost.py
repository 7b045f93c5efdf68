"""What WangTimer costs while nothing is due, counted by MONITOR; it does not grow with the number of timers."""

import json
import threading
import time
from pathlib import Path

import pytest
import redis
from sqlalchemy import create_engine, insert

from tests.e2e.deployment import Deployment
from tests.servers.redis_server import RedisServer
from wangtimer.store.sql.tables import timers

SECONDS = 60
STORE_BOUND, BROKER_BOUND = 5.0, 30.0
DAY_MS = 86_400_000

pytestmark = pytest.mark.e2e


@pytest.mark.timeout(300)
def test_idling_costs_few_commands_however_many_timers_there_are(tmp_path: Path) -> None:
    with Deployment(tmp_path) as deployment:
        deployment.tend_for(5)
        empty = _commands_a_second(deployment)
        _insert_timers_due_tomorrow(deployment.database_url, 10_000)
        deployment.tend_for(15)
        full = _commands_a_second(deployment)
    print(json.dumps({"empty": empty, "with_10000_timers": full}), flush=True)
    for measured in (empty, full):
        assert measured["store"] < STORE_BOUND
        assert measured["broker"] < BROKER_BOUND
    assert full["store"] <= empty["store"] + 0.2
    assert full["broker"] <= empty["broker"] + 1.0


def _commands_a_second(deployment: Deployment) -> dict[str, float]:
    counters = {name: _Counter(server) for name, server in _servers(deployment).items()}
    deployment.tend_for(SECONDS)
    return {name: round(counter.stop() / SECONDS, 2) for name, counter in counters.items()}


def _servers(deployment: Deployment) -> dict[str, RedisServer]:
    return {"store": deployment.store, "broker": deployment.broker}


class _Counter:
    """Counts what clients ask a server, in a thread of its own; what a script does is its one command."""

    def __init__(self, server: RedisServer) -> None:
        self._client = redis.Redis.from_url(server.url(), socket_timeout=None)
        self._count = 0
        self._stopping = False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """Return how many commands came."""
        self._stopping = True
        return self._count

    def _listen(self) -> None:
        with self._client.monitor() as monitor:
            for seen in monitor.listen():
                if self._stopping:
                    return
                self._count += seen["client_type"] != "lua"


def _insert_timers_due_tomorrow(database_url: str, number: int) -> None:
    now = int(time.time() * 1_000)
    row = {
        "app": "idle",
        "status": "enabled",
        "cron": None,
        "timezone": "UTC",
        "notify": json.dumps({"url": "http://127.0.0.1:9/", "method": "POST", "headers": [], "body": ""}),
        "misfire": "fire_all",
        "misfire_grace_ms": 60_000,
        "catchup_window_ms": 0,
        "version": 1,
        "edited_at": 0,
        "planned_until": now,
        "created_at": now,
        "updated_at": now - DAY_MS,
    }
    rows = [
        row | {"name": f"t{i}", "at_ms": now + DAY_MS + i, "next_fire_at": now + DAY_MS + i}
        for i in range(number)
    ]
    with create_engine(database_url).begin() as connection:
        connection.execute(insert(timers), rows)
