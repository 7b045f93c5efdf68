"""Stream processes on real servers, firings that consumers are to get, and connections of consumers."""

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import requests

from tests.made_apps import make_app_with_key
from tests.patience import wait_for
from tests.secret_keys import SECRET_KEYS
from tests.servers.server_process import ServerProcess
from wangtimer.celery import app as celery_app
from wangtimer.client.consumer import lines_of
from wangtimer.core.flow.firing import Firing, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.messages.consumer_group import ConsumerEntry, ConsumerGroup, event_of, event_parts
from wangtimer.core.time.moment_text import show_moment
from wangtimer.stack.child import inherited_environment
from wangtimer.stack.ports import free_port
from wangtimer.store.sql.firings import insert_missing
from wangtimer.testing.deployment import GivenSettings
from wangtimer.wiring import build

SOON_S = 15.0


class StreamProcess(ServerProcess):
    """`python -m wangtimer.stream` on a port of its own."""

    def __init__(self, directory: Path, **variables: str | int) -> None:
        directory.mkdir()
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        said = {f"WANGTIMER_{name.upper()}": str(value) for name, value in variables.items()}
        self._environment = inherited_environment() | said | {"WANGTIMER_STREAM_BIND": f"127.0.0.1:{port}"}
        super().__init__([sys.executable, "-m", "wangtimer.stream"], directory, self._is_ready)

    def start(self) -> None:
        before = dict(os.environ)
        os.environ.update(self._environment)
        try:
            super().start()
        finally:
            os.environ.clear()
            os.environ.update(before)

    def _is_ready(self) -> bool:
        with suppress(requests.RequestException):
            return requests.get(f"{self.url}/healthz", timeout=1).ok
        return False


class Ground:
    """`with Ground(...) as ground: ground.start()`; the apps `shop` and `other` have a key each."""

    def __init__(self, database_url: str, store_url: str, directory: Path) -> None:
        self.directory = directory
        self._urls = {"database_url": database_url, "store_url": store_url}
        self.settings = GivenSettings(
            **self._urls, broker_url=store_url, secret_keys=SECRET_KEYS, egress="public,127.0.0.0/8"
        )
        self.wiring = build(self.settings, celery_app)
        self.wiring.database.create_tables()
        self.keys = {app: make_app_with_key(database_url, app) for app in ("shop", "other")}
        self.processes: list[StreamProcess] = []
        self.connections: list[Connection] = []
        self._timers = 0

    def start(self, **variables: str | int) -> StreamProcess:
        """Start a stream process."""
        directory = self.directory / f"stream{len(self.processes)}"
        given = {
            **self._urls,
            "broker_url": self._urls["store_url"],
            "secret_keys": SECRET_KEYS,
            "auth": "keys",
            **variables,
        }
        process = StreamProcess(directory, **given)
        self.processes.append(process)
        process.start()
        return process

    def close(self) -> None:
        for connection in self.connections:
            connection.close()
        for process in self.processes:
            process.stop()

    def connect(
        self, process: StreamProcess, group: str = "work", app: str = "shop", window: int = 10
    ) -> "Connection":
        """Connect a consumer, and wait until it is in."""
        connection = Connection(process.url, group, self.keys[app], window)
        self.connections.append(connection)
        return connection

    def give(
        self,
        number: int = 1,
        *,
        app: str = "shop",
        group: str = "work",
        ack_ms: int = 60_000,
        body: bytes = b"{}",
    ) -> list[Member]:
        """Put firings for a group, as an executor does, accepted in SQL."""
        now = int(self.wiring.clock.now_ms())
        members = [Member(self._timer_id(), now - 1, 1) for _ in range(number)]
        rows = [Firing.planned(one.timer_id, one.fire_at, 0) for one in members]
        self.wiring.database.write(lambda sql: insert_missing(sql, rows))
        accepted = [Outcome(one, 0, FiringStatus.ACCEPTED, now + ack_ms, now, 0, 1, None) for one in members]
        self.wiring.firings.settle(accepted)
        self.put(members, app=app, group=group, ack_ms=ack_ms, body=body)
        return members

    def put(
        self,
        members: list[Member],
        *,
        app: str = "shop",
        group: str = "work",
        ack_ms: int = 60_000,
        body: bytes = b"{}",
    ) -> list[str]:
        """Put entries alone; return what is full of each."""
        now = int(self.wiring.clock.now_ms())
        of, lists = ConsumerGroup(app, group), self.wiring.consumer_lists
        calls = []
        for member in members:
            parts = event_parts(member.firing_id, member.attempt, self._headers(member, app), body)
            event = event_of(parts, show_moment(now + ack_ms), ack_ms)
            entry = ConsumerEntry(member.firing_id, member.attempt, now + ack_ms, event)
            calls.append(lists.put(of, entry, now))
        return [str(answer) for answer in self.wiring.redis.run_all(calls)]

    def status(self, member: Member) -> FiringStatus:
        return self.wiring.firings.rows([member])[member.key].status

    def say(
        self, process: StreamProcess, verb: str, member: Member, app: str = "shop", **more: Any
    ) -> requests.Response:
        """Say a word of a firing; its token is right unless given."""
        word = {"id": member.firing_id, "token": self.wiring.ack_tokens.token(member), **more}
        return requests.post(
            f"{process.url}/v1/consumers/work:{verb}",
            json={"firings": [word]},
            headers={"Authorization": f"Bearer {self.keys[app]}"},
            timeout=20,
        )

    def waiting(self, app: str = "shop", group: str = "work") -> int:
        """Return how many entries stand in Redis for a group."""
        key = f"{self.wiring.keys.consumer_list}{app}/{group}"
        return int(self.wiring.redis.command(lambda client: client.llen(key)))

    def counted_bytes(self) -> dict[str, int]:
        """Return the bytes that are counted, by group, app and in all."""
        key = self.wiring.keys.consumer_bytes
        counted = self.wiring.redis.command(lambda client: client.hgetall(key))
        return {name: int(value) for name, value in counted.items()}

    def _timer_id(self) -> int:
        self._timers += 1
        return 900_000_000_000_000 + self._timers

    def _headers(self, member: Member, app: str) -> dict[str, str]:
        return {
            "webhook-id": member.firing_id,
            "X-WangTimer-Timer": str(member.timer_id),
            "X-WangTimer-Fire-At": str(member.fire_at),
            "X-WangTimer-Attempt": str(member.attempt),
            "X-WangTimer-App": app,
            "X-WangTimer-Ack-Token": self.wiring.ack_tokens.token(member),
        }


class Connection:
    """A consumer that acknowledges nothing by itself."""

    def __init__(self, url: str, group: str, key: str, window: int) -> None:
        self.response = requests.get(
            f"{url}/v1/consumers/{group}/events",
            params={"window": window},
            headers={"Authorization": f"Bearer {key}"},
            stream=True,
            timeout=(5, 60),
        )
        assert self.response.status_code == 200, self.response.text
        self.events: list[dict[str, Any]] = []
        self.why_closed = ""
        self.is_open = True
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def ids(self) -> list[str]:
        return [event["id"] for event in self.events]

    def has(self, number: int) -> bool:
        """Wait until so many firings came."""
        return wait_for(lambda: len(self.events) >= number, SOON_S)

    def close(self) -> None:
        """Break the connection off."""
        with suppress(Exception), socket.socket(fileno=os.dup(self.response.raw.fileno())) as same:
            same.shutdown(socket.SHUT_RDWR)

    def _read(self) -> None:
        kind = ""
        with suppress(Exception):
            for line in lines_of(self.response.iter_content(None)):
                name, _, value = line.decode().partition(": ")
                if name == "event":
                    kind = value
                elif name == "data" and kind == "firing":
                    self.events.append(json.loads(value))
                elif name == "data":
                    self.why_closed = value
        self.is_open = False


def stays_so(is_so: Callable[[], bool], seconds: float) -> bool:
    """Tell whether something goes on being so."""
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        if not is_so():
            return False
        time.sleep(0.05)
    return True
