"""Limits of apps on real callback processes, as the target counts, though one of them is killed on the way."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from sqlalchemy import create_engine, insert, text
from sqlalchemy.pool import NullPool

from benchmarks.load import insert_rows, timer_row
from tests.callback.counting_target import CountingTarget
from tests.e2e.deployment import Deployment
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.store.sql.tables import apps

pytestmark = [pytest.mark.processes, pytest.mark.alone]

AT_ONCE, RATE = 20, 20
# Due each second: far more than each limit leaves.
TIMERS = 80
TAKES_S = 0.4
# Moments and answers of a call cross loopback: where the machine is busy, two may come closer than they left.
JITTER_S = 0.5
RUNS_S = 15


def test_limits_hold_over_three_processes_one_of_which_is_killed(tmp_path: Path) -> None:
    with (
        CountingTarget(TAKES_S) as slow,
        CountingTarget(0.0) as rated,
        Deployment(tmp_path, {"callback": 3}) as deployment,
    ):
        engine = create_engine(deployment.database_url, poolclass=NullPool)
        now = int(time.time() * 1_000)
        limits = {"at-once": {"callsAtOnce": AT_ONCE}, "rated": {"callsPerSecond": RATE}}
        with engine.begin() as sql:
            for app, of_app in limits.items():
                row = {"name": app, "created_at": now, "updated_at": now, "limits": json.dumps(of_app)}
                sql.execute(insert(apps).values(row))
        deployment.tend_for(8)  # a sweep tells the limits, and every process reads them
        first = (int(time.time()) + 4) * 1_000
        for app, url in (("at-once", slow.url), ("rated", rated.url)):
            rows = [
                timer_row(app, f"{app}-{number}", url, first - 1)
                | {"cron": "* * * * * *", "next_fire_at": first}
                for number in range(TIMERS)
            ]
            insert_rows(engine, rows)
        deployment.supervisor.tend_until(lambda: len(slow.began_at) > 3 * AT_ONCE)
        deployment.tend_for(RUNS_S / 2)
        os.kill(deployment.supervisor.children()["callback2"].pid, signal.SIGKILL)
        deployment.tend_for(RUNS_S)
        with engine.connect() as sql:
            query = text("SELECT DISTINCT lane FROM firing WHERE lane <> ''")
            lanes = set(sql.execute(query).scalars())
        engine.dispose()
    assert slow.most == AT_ONCE
    # Under load a call of theirs may find no connection, and wait for its host.
    assert {lane for lane in lanes if not lane.startswith("host:")} == {"limit:at-once", "limit:rated"}
    for seconds in (1, 5, 10):
        most = RATE * (seconds + JITTER_S) + CallLimit(RATE).burst
        assert rated.most_within(seconds) <= most
    assert len(rated.began_at) >= RATE * RUNS_S / 2
