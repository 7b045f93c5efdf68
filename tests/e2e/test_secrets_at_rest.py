"""Canaries in the secrets of timers, searched for in all that a whole deployment writes: databases, logs, answers."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import requests

from tests.callback.target import Received, Target
from tests.e2e.deployment import Deployment
from tests.servers.mariadb import MariaDBServer
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.executor.executor import FRESH_MS
from wangtimer.settings import Settings
from wangtimer.store.redis.keys import Keys

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("whole stack")]

# Each in a part of its own, and long enough to be in no file by chance.
CANARIES = {
    name: f"canary-{name}-5f3a9c1e7b" for name in ("header", "cookie", "marked", "query", "body", "gone")
}
# What is no secret stands in every store: so the search finds what is there.
OPEN = "no-secret-81d2c4"
APP = {"WangTimer-App": "shop"}
TIMERS = "/v1/timers"


class WritingDeployment(Deployment):
    """A deployment whose servers write all they can: binary log, append-only file, snapshots as they are."""

    def _sql_server(self, directory: Path) -> MariaDBServer:
        return MariaDBServer(directory, "--log-bin=binlog", "--server-id=1", "--binlog-format=MIXED")

    def _store_server(self, directory: Path) -> RedisServer:
        options = ("--appendonly", "yes", "--appendfsync", "always", "--rdbcompression", "no")
        return RedisServer(redis_program(), directory, *options)


def target_of(url: str, **more: Any) -> dict[str, Any]:
    return {
        "url": f"{url}fire?token={CANARIES['query']}",
        "headers": {
            "Authorization": f"Bearer {CANARIES['header']}",
            "Cookie": CANARIES["cookie"],
            "X-Tenant": CANARIES["marked"],
            "X-Tag": OPEN,
        },
        "body": CANARIES["body"],
        "secretHeaders": ["X-Tenant"],
        "secretBody": True,
    } | more


@pytest.fixture
def target() -> Iterator[Target]:
    """It answers each call with a failure that repeats a secret: so there are errors, attempts and outputs."""

    def refuse(received: Received) -> None:
        said = f"busy; you sent {received.values('authorization')}".encode()
        head = f"HTTP/1.1 503 No\r\nContent-Length: {len(said)}\r\n\r\n"
        received.connection.sendall(head.encode() + said)

    one = Target(refuse)
    yield one
    one.close()


def everything_asked(url: str, target: Target) -> list[str]:
    """Make, change, read and delete timers in every way; return all that was answered."""
    said = []

    def send(method: str, path: str, body: Any = None, **headers: str) -> Any:
        answered = requests.request(method, f"{url}{path}", json=body, headers=APP | headers, timeout=20)
        said.append(f"{answered.text}{answered.headers}")
        assert answered.status_code < 300, answered.text
        return answered.json()

    every = {"schedule": {"every": "1s"}, "misfire": {"policy": "fire_all"}}
    body = every | {"key": "first", "target": target_of(target.url)}
    for _ in range(2):
        made = send("POST", TIMERS, body, **{"Idempotency-Key": "once"})
    shown = send("GET", f"{TIMERS}/{made['id']}")
    send("PUT", f"{TIMERS}/key:first", every | {"target": shown["target"]})
    send("PATCH", f"{TIMERS}/key:first", {"target": {"headers": {"X-Tag": f"{OPEN}-2"}}})
    many = send(
        "POST",
        f"{TIMERS}:batchCreate",
        {"timers": [every | {"key": "many", "target": target_of(target.url)}]},
    )
    gone = every | {"key": "gone", "target": {"url": target.url, "headers": {"X-Api-Key": CANARIES["gone"]}}}
    send("POST", TIMERS, gone)
    target.wait_for_requests(6, 30)
    send("DELETE", f"{TIMERS}/key:gone")
    old = {"url": f"{target.url}?key={CANARIES['query']}", "header": {"Authorization": CANARIES["header"]}}
    send("POST", "/api/timer/v1/def", {"app": "shop", "name": "old", "everyMs": 1000, "notifyHTTPParam": old})
    for path in (
        TIMERS,
        f"/v1/firings?timer={made['id']}",
        "/metrics",
        "/readyz",
        "/api/timer/v1/defs?app=shop",
    ):
        answered = requests.get(f"{url}{path}", headers=APP, timeout=20)
        said.append(f"{answered.text}{answered.headers}")
    wrong = target_of("ftp://nowhere/")
    answered = requests.post(
        f"{url}{TIMERS}", json=body | {"key": "wrong", "target": wrong}, headers=APP, timeout=20
    )
    assert answered.status_code == 400
    said.append(answered.text)
    # A timer that was not changed: of its firings the request is known.
    unchanged = many["items"][0]["id"]
    firing = requests.get(f"{url}/v1/firings?timer={unchanged}", headers=APP, timeout=20).json()
    states = set()
    for one in firing["items"]:
        history = requests.get(f"{url}/v1/firings/{one['id']}", headers=APP, timeout=20)
        said.append(f"{json.dumps(one)}{history.text}")
        states.add(history.json()["requestState"])
    assert "as_sent" in states
    assert any("busy; you sent" in text for text in said)
    return said


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


def contents_of(directory: Path) -> dict[str, bytes]:
    files = (one for one in directory.rglob("*") if one.is_file() and not one.is_symlink())
    return {str(one.relative_to(directory)): one.read_bytes() for one in files}


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
    found = [name for name, content in written.items() if OPEN.encode() in content]
    for place in ("sql/data/ib", "sql/data/wangtimer/timer", "sql/data/binlog", "store/"):
        assert any(name.startswith(place) for name in found), (place, found)
