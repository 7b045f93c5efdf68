"""What a thousand firings due together cost in calls of the store, SQL statements and messages, on real servers.

Numbers, not times, so that a change that costs more is caught on any machine.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import MySQLdb
import pytest
from celery import Celery
from sqlalchemy import and_, func, select

from benchmarks.load import Shot, dues_at, insert_shots
from benchmarks.redis_figures import CommandCounter
from tests.patience import wait_for
from tests.servers.mariadb import MariaDBServer
from tests.servers.nginx import NginxTarget
from wangtimer.base.broker import Broker
from wangtimer.base.settings import Settings
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK
from wangtimer.core.flow.firing import Chunk
from wangtimer.core.flow.slicing import TriggerOrder
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.sql.tables import firings
from wangtimer.wiring import Wiring, once

FIRINGS, WARM_FIRINGS = 1_000, 10
STORE_CALLS, SQL_STATEMENTS, MESSAGES = 50, 15, 15
# Near enough that the first tick finds their slice, far enough that they are planned before they are armed.
DUE_IN_MS = 2_800
# After this nobody asks SQL because Redis is new to a process.
LONG_CONNECTED_S = 60.0


class RecordingBroker(Broker):
    """Runs each message in a thread, as workers do, and counts it."""

    def __init__(self, wiring: "OneProcess") -> None:
        super().__init__(Celery())
        self.sent: Counter[str] = Counter()
        self._wiring = wiring
        self._threads = ThreadPoolExecutor(32)
        self._tasks: list[Future[None]] = []

    def send_chunk(self, chunk: Chunk) -> None:
        self._run("callback", lambda: self._wiring.executor.fire(chunk))

    def send_trigger(self, order: TriggerOrder) -> None:
        trigger = self._wiring.trigger
        self._run("trigger", lambda: trigger.watch(order.slice, order.token, order.credit))

    def waiting_chunks(self, _queue: int = 0) -> int:
        return 0

    def await_tasks(self) -> None:
        """Return when every task has ended, and those they sent; raises what one of them raised."""
        for task in self._tasks:
            task.result(30)
        self._tasks.clear()

    def _run(self, name: str, work: Callable[[], None]) -> None:
        self.sent[name] += 1
        self._tasks.append(self._threads.submit(work))


class OneProcess(Wiring):
    """Every stage in one process, on real servers."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, Celery())
        self.recording = self.broker = RecordingBroker(self)
        self.aged_s = 0.0

    @once
    def redis(self) -> RedisConnection:
        """Redis, on a stop-watch that can be put forward."""
        return RedisConnection(self.settings.store_url, monotonic=lambda: time.monotonic() + self.aged_s)


@dataclass(slots=True)
class Statements:
    """Counts the statements a MariaDB runs, by its own counters."""

    server: MariaDBServer
    before: dict[str, int] = field(default_factory=dict)

    KINDS = (
        "select",
        "insert",
        "update",
        "delete",
        "replace",
        "insert_select",
        "update_multi",
        "delete_multi",
    )

    def begin(self) -> None:
        self.before = self._read()

    def seen(self) -> dict[str, int]:
        now = self._read()
        return {kind: now[kind] - self.before[kind] for kind in now if now[kind] != self.before[kind]}

    def _read(self) -> dict[str, int]:
        connection = MySQLdb.connect(host="127.0.0.1", port=self.server.port, user="root")
        with connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Com\\_%'")
            rows = {name.lower().removeprefix("com_"): int(value) for name, value in cursor.fetchall()}
        connection.close()
        return {kind: rows[kind] for kind in self.KINDS}


@pytest.fixture
def process(mariadb_url: str, redis_url: str) -> Iterator[OneProcess]:
    wiring = OneProcess(Settings(database_url=mariadb_url, store_url=redis_url, egress=PUBLIC_AND_LOOPBACK))
    wiring.database.create_tables()
    yield wiring
    wiring.executor.drain(2)
    wiring.redis.close()
    wiring.database.close()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[NginxTarget]:
    with NginxTarget(tmp_path) as running:
        yield running


def test_a_thousand_firings_due_together_cost_few_calls_statements_and_messages(
    process: OneProcess, target: NginxTarget, mariadb_server: MariaDBServer, redis_url: str
) -> None:
    _warm_up(process, target)
    _plan(process, target, FIRINGS)
    process.recording.sent.clear()
    statements, store = Statements(mariadb_server), CommandCounter(redis_url)
    statements.begin()
    _fire(process)
    store.stop()
    sql = statements.seen()
    print({"store": Counter(store.commands), "sql": sql, "messages": process.recording.sent})
    assert _succeeded(process) == _measured(process) == FIRINGS + WARM_FIRINGS
    assert 0 < len(store.commands) < STORE_CALLS, Counter(store.commands)
    assert 0 < sum(sql.values()) < SQL_STATEMENTS, sql
    assert 0 < process.recording.sent.total() < MESSAGES, process.recording.sent


def _warm_up(process: OneProcess, target: NginxTarget) -> None:
    """Open connections, load scripts, and let the process know Redis for long."""
    process.feeder.feed()
    _plan(process, target, WARM_FIRINGS)
    _fire(process)
    process.aged_s = LONG_CONNECTED_S


def _plan(process: OneProcess, target: NginxTarget, number: int) -> None:
    moment = int(process.clock.now_ms()) + DUE_IN_MS
    shots = [Shot(due, target.url) for due in dues_at([moment] * number)]
    insert_shots(process.database.engine, shots)
    process.migrator.plan_due()


def _fire(process: OneProcess) -> None:
    """Tick as beat does until a slice was found, then let trigger and executors do their work."""
    assert wait_for(lambda: process.scheduler.tick() > 0, seconds=5)
    process.recording.await_tasks()


def _succeeded(process: OneProcess) -> int:
    count = select(func.count()).where(firings.c.status == "succeeded")
    return int(process.database.read(lambda sql: sql.execute(count).scalar_one()))


def _measured(process: OneProcess) -> int:
    """Return how many firings tell when their attempt was sent, and how its cost is split."""
    is_split = and_(
        firings.c.connect_ms <= firings.c.first_byte_ms, firings.c.first_byte_ms <= firings.c.cost_ms
    )
    count = select(func.count()).where(is_split, firings.c.sent_at == firings.c.first_sent_at)
    return int(process.database.read(lambda sql: sql.execute(count).scalar_one()))
