"""What WangTimer costs while nothing is due, counted by MONITOR; it does not grow with the number of timers."""

import json
import time
from pathlib import Path

import pytest
from sqlalchemy import create_engine, insert

from tests.e2e.command_counter import commands_a_second
from tests.e2e.deployment import Deployment
from wangtimer.store.sql.tables import timers

SECONDS = 60
STORE_BOUND, BROKER_BOUND = 5.0, 30.0
DAY_MS = 86_400_000

pytestmark = pytest.mark.e2e


@pytest.mark.timeout(300)
def test_idling_costs_few_commands_however_many_timers_there_are(tmp_path: Path) -> None:
    with Deployment(tmp_path) as deployment:
        deployment.tend_for(5)
        empty = commands_a_second(deployment, SECONDS)
        _insert_timers_due_tomorrow(deployment.database_url, 10_000)
        deployment.tend_for(15)
        full = commands_a_second(deployment, SECONDS)
    print(json.dumps({"empty": empty, "with_10000_timers": full}), flush=True)
    for measured in (empty, full):
        assert measured["store"] < STORE_BOUND
        assert measured["broker"] < BROKER_BOUND
    assert full["store"] <= empty["store"] + 0.2
    assert full["broker"] <= empty["broker"] + 1.0


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
