"""Canaries in the secrets of timers, searched for in all that a whole deployment writes: databases, logs, answers."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from tests.callback.target import Target
from tests.e2e.canaries import (
    CANARIES,
    OPEN,
    REDIS_WRITES_ALL,
    SQL_WRITES_ALL,
    contents_of,
    everything_asked,
    refuse,
)
from tests.e2e.deployment import Deployment
from tests.servers.mariadb import MariaDBServer
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.base.settings import Settings
from wangtimer.executor.judge import FRESH_MS
from wangtimer.store.redis.keys import Keys

pytestmark = pytest.mark.processes


class WritingDeployment(Deployment):
    """A deployment whose servers write all they can: binary log, append-only file, snapshots as they are."""

    def _sql_server(self, directory: Path) -> MariaDBServer:
        return MariaDBServer(directory, *SQL_WRITES_ALL)

    def _store_server(self, directory: Path) -> RedisServer:
        return RedisServer(redis_program(), directory, *REDIS_WRITES_ALL)


@pytest.fixture
def target() -> Iterator[Target]:
    one = Target(refuse)
    yield one
    one.close()


def wait_until_redis_is_believed(deployment: Deployment, started_at: float) -> None:
    """Wait until firings ask SQL nothing: some time after the start, and once a sweep has told Redis of changes."""
    told_key = Keys(str(Settings.model_fields["key_prefix"].default)).told
    with redis.Redis.from_url(deployment.store.url(0)) as client:
        deployment.supervisor.tend_until(
            lambda: (
                time.time() > started_at + FRESH_MS / 1_000
                and int(client.get(told_key) or 0) > started_at * 1_000
            )
        )


def write_all(deployment: Deployment) -> None:
    """Have each server write what it has in memory."""
    deployment.sql.run("SET GLOBAL innodb_max_dirty_pages_pct = 0, innodb_fast_shutdown = 0")
    deployment.sql.run("FLUSH LOGS")
    for server in (deployment.store, deployment.broker):
        with redis.Redis.from_url(server.url()) as client:
            client.save()


@pytest.mark.timeout(400)
def test_no_secret_of_a_timer_is_in_any_file_or_answer(tmp_path: Path, target: Target) -> None:
    with WritingDeployment(tmp_path) as deployment:
        started_at = time.time()
        said = everything_asked(deployment.api_url, target)
        wait_until_redis_is_believed(deployment, started_at)
        # While SQL hangs, outcomes wait in the store.
        calls = len(target.requests)
        deployment.sql.process.freeze()
        try:
            target.wait_for_requests(calls + 4, 30)
            time.sleep(1)
        finally:
            deployment.sql.process.thaw()
        deployment.tend_for(6)
        write_all(deployment)
        deployment.sql.process.stop()
    arrived = [(one.values("authorization"), one.body.decode(), one.path) for one in target.requests]
    assert ([f"Bearer {CANARIES['header']}"], CANARIES["body"], f"/fire?token={CANARIES['query']}") in arrived
    written = contents_of(tmp_path)
    for canary in CANARIES.values():
        assert not any(canary in text for text in said)
        assert [name for name, content in written.items() if canary.encode() in content] == []
    assert [name for name, content in written.items() if b"X-WangTimer-Ack-Token" in content] == []
    found = [name for name, content in written.items() if OPEN.encode() in content]
    for place in ("sql/data/ib", "sql/data/wangtimer/timer", "sql/data/binlog", "store/"):
        assert any(name.startswith(place) for name in found), (place, found)
