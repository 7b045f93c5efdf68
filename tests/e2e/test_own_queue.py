"""Two pools of real callback processes: an app with a queue of its own waits while its pool is dead, no other does."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, insert, text
from sqlalchemy.pool import NullPool

from benchmarks.load import insert_rows, timer_row
from tests.callback.target import NO_CONTENT, Received, Target
from tests.e2e.deployment import Deployment
from wangtimer.core.flow.queues import message_queue
from wangtimer.stack.procfile import read_commands
from wangtimer.store.sql.tables import apps

pytestmark = pytest.mark.processes

QUEUE = "reports"
TIMERS = 5
# Longer than a dead pool is taken for living.
DEAD_S = 15
# A machine that runs other tests is late for everybody.
LATE_S = 3.0


@contextmanager
def pool(deployment: Deployment, directory: Path, name: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A callback process of the own queue."""
    argv = [sys.executable, "-m", *read_commands()["callback"].argv]
    argv[argv.index("-Q") + 1] = message_queue(QUEUE)
    argv[argv.index("-n") + 1] = f"{name}@%h"
    environment = os.environ | deployment.environment(int(deployment.api_url.rpartition(":")[2]))
    with (directory / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(argv, env=environment, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


class Stamped:
    """A target that notes the moment of each call, ms UTC, and when it came, s UTC."""

    def __init__(self) -> None:
        self.arrived: list[tuple[int, float]] = []
        self._target = Target(self._answer)
        self.url = self._target.url

    def close(self) -> None:
        self._target.close()

    def is_up_to_date(self, until: float, timers: int) -> bool:
        """Tell whether calls of moments after `until` came."""
        return len([moment for moment, _ in self.arrived if moment / 1_000 > until]) >= timers

    def _answer(self, received: Received) -> None:
        self.arrived.append((int(received.values("x-wangtimer-fire-at")[0]), time.time()))
        received.connection.sendall(NO_CONTENT)


def test_while_one_pool_is_dead_only_its_app_waits_and_nothing_is_lost(tmp_path: Path) -> None:
    with (
        closing(Stamped()) as own,
        closing(Stamped()) as other,
        Deployment(tmp_path, callback_queues=f"mail,{QUEUE}") as deployment,
    ):
        engine = create_engine(deployment.database_url, poolclass=NullPool)
        now = int(time.time() * 1_000)
        with engine.begin() as sql:
            for app, queue in (("own", QUEUE), ("other", None)):
                row = {"name": app, "created_at": now, "updated_at": now, "queue": queue}
                sql.execute(insert(apps).values(row))
        with pool(deployment, tmp_path, "first") as first:
            deployment.tend_for(8)  # a sweep tells the queues, and every process reads them
            begins = (int(time.time()) + 4) * 1_000
            for app, target in (("own", own), ("other", other)):
                rows = [
                    timer_row(app, f"{app}-{number}", target.url, begins - 1)
                    | {"cron": "* * * * * *", "next_fire_at": begins}
                    for number in range(TIMERS)
                ]
                insert_rows(engine, rows)
            deployment.supervisor.tend_until(lambda: len(own.arrived) > 3 * TIMERS)
            first.send_signal(signal.SIGKILL)
            killed_at = time.time()
            deployment.tend_for(DEAD_S)
            while_dead = len([at for _, at in own.arrived if at > killed_at + 1])
        with pool(deployment, tmp_path, "second"):
            began_again_at = time.time()
            deployment.supervisor.tend_until(
                lambda: time.time() > began_again_at + 60 or own.is_up_to_date(began_again_at + 10, TIMERS)
            )
            ended_at = time.time() - 5
            deployment.tend_for(4)
        with engine.connect() as sql:
            rows = sql.execute(
                text("SELECT bucket DIV 256 AS queue, COUNT(*) AS firings FROM firing GROUP BY 1")
            )
            queues = {int(row.queue) for row in rows}
            pending = sql.execute(
                text("SELECT COUNT(*) FROM firing WHERE status = 'pending' AND due_at < :until"),
                {"until": int(ended_at * 1_000)},
            ).scalar_one()
        engine.dispose()
    assert queues == {0, 2}
    assert while_dead == 0
    assert pending == 0
    due = range(begins, int(ended_at) * 1_000, 1_000)
    for target in (own, other):
        assert sorted({moment for moment, _ in target.arrived} & set(due)) == list(due)
    assert max(at - moment / 1_000 for moment, at in other.arrived) < LATE_S
