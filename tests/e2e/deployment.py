"""A whole deployment as operators run it: the Procfile's commands on a MariaDB, two Redis servers and a target."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import MySQLdb
import requests
from celery import Celery

from tests.made_apps import make_apps
from tests.servers.mariadb import MariaDBServer
from tests.servers.nginx import NginxTarget
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK
from wangtimer.stack.ports import free_port
from wangtimer.stack.procfile import Command, read_commands
from wangtimer.stack.service import Service
from wangtimer.stack.supervisor import StopRequest, Supervisor

SCHEMA = Path(__file__).parents[2] / "schema.sql"
# Those that the tests of whole deployments name.
APPS = ("e2e", "idle", "chaos", "shop")
PROCESSES = ("web", "beat", "scheduler", "migrate", "trigger", "callback")


class Deployment:
    """`with Deployment(directory, {"callback": 2}) as it: it.api(...)`; `copies` names processes run more than once.

    Of `stream`, which few tests need, none runs unless it is named there.
    """

    def __init__(
        self, directory: Path, copies: Mapping[str, int] | None = None, **variables: str | int
    ) -> None:
        self._directory = directory
        self._copies = dict(copies or {})
        self._variables = {f"WANGTIMER_{name.upper()}": str(value) for name, value in variables.items()}
        self._stack = ExitStack()
        self._session = requests.Session()
        self.supervisor = Supervisor()

    def __enter__(self) -> "Deployment":
        self.sql = self._stack.enter_context(self._sql_server(_made(self._directory / "sql")))
        self.store = self._stack.enter_context(self._store_server(_made(self._directory / "store")))
        self.broker = self._stack.enter_context(self._broker_server(_made(self._directory / "broker")))
        self.target = self._stack.enter_context(NginxTarget(_made(self._directory / "target")))
        self._stack.callback(self.supervisor.stop)
        self.database_url = self.sql.create_database("wangtimer")
        self._load_schema()
        key = make_apps(self.database_url, *APPS)
        self._session.headers["Authorization"] = f"Bearer {key}"
        self.operator = {"Authorization": f"Bearer {key}"}
        port = free_port()
        self.api_url = f"http://127.0.0.1:{port}"
        self.stream_url = f"http://127.0.0.1:{free_port()}"
        service = self._service(_made(self._directory / "service"), self.environment(port))
        service.start(self._commands())
        service.await_ready(self.api_url, StopRequest())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()
        self._stack.close()

    def _sql_server(self, directory: Path) -> MariaDBServer:
        return MariaDBServer(directory)

    def _store_server(self, directory: Path) -> RedisServer:
        return RedisServer(redis_program(), directory)

    def _broker_server(self, directory: Path) -> RedisServer:
        return RedisServer(redis_program(), directory)

    def _service(self, directory: Path, environment: dict[str, str]) -> Service:
        return Service(self.supervisor, directory, environment)

    def environment(self, port: int) -> dict[str, str]:
        """Return what every process is told."""
        return {
            "WANGTIMER_DATABASE_URL": self.database_url,
            "WANGTIMER_STORE_URL": self.store.url(0),
            "WANGTIMER_BROKER_URL": self.broker.url(1),
            "WANGTIMER_HTTP_BIND": f"127.0.0.1:{port}",
            "WANGTIMER_STREAM_BIND": self.stream_url.removeprefix("http://"),
            "WANGTIMER_EGRESS": PUBLIC_AND_LOOPBACK,
            "WANGTIMER_AUTH": "off",
        } | self._variables

    def post(self, path: str, **fields: Any) -> dict[str, Any]:
        """Ask the API for a change; raises unless it answers with success."""
        response = self._session.post(f"{self.api_url}{path}", json=fields, timeout=20)
        assert response.ok, f"{path}: {response.status_code} {response.text}"
        answer: dict[str, Any] = response.json()
        return answer

    def make_timer(self, name: str, **schedule: Any) -> int:
        """Create and enable a timer that calls the target, or `url`; return its id."""
        url = schedule.pop("url", self.target.url)
        notify = {"url": url, "method": "POST", "body": json.dumps({"name": name})}
        created = self.post("/api/timer/v1/def", app="e2e", name=name, notifyHTTPParam=notify, **schedule)
        timer_id = int(created["id"])
        self.post("/api/timer/v1/enable", app="e2e", id=timer_id)
        return timer_id

    def records(self, timer_id: int) -> list[dict[str, Any]]:
        """Return what the API tells of a timer's firings, latest first."""
        query = {"app": "e2e", "id": str(timer_id), "limit": "100"}
        response = self._session.get(f"{self.api_url}/api/task/v1/records", params=query, timeout=20)
        assert response.ok, response.text
        records: list[dict[str, Any]] = response.json()["data"]
        return records

    def tend_for(self, seconds: float) -> None:
        """Let it run."""
        ends_at = time.monotonic() + seconds
        self.supervisor.tend_until(lambda: time.monotonic() > ends_at)

    def tend_until(self, has_come: Callable[[], bool], seconds: float) -> None:
        """Let it run until `has_come` says so, for so long at most."""
        ends_at = time.monotonic() + seconds
        self.supervisor.tend_until(lambda: has_come() or time.monotonic() > ends_at)

    def tasks_done(self) -> dict[str, dict[str, int]]:
        """Return how many tasks of each name each worker has run, by worker name without its host."""
        app = Celery(broker=self.broker.url(1))
        stats = app.control.inspect(timeout=5).stats() or {}
        return {worker.partition("@")[0]: stat["total"] for worker, stat in stats.items()}

    def _commands(self) -> Iterator[Command]:
        commands = read_commands()
        for name in (*PROCESSES, *(name for name in self._copies if name not in PROCESSES)):
            yield commands[name]
            for number in range(2, self._copies.get(name, 1) + 1):
                yield commands[name].numbered(number)

    def _load_schema(self) -> None:
        connection = MySQLdb.connect(host="127.0.0.1", port=self.sql.port, user="root", database="wangtimer")
        for statement in SCHEMA.read_text().split(";\n"):
            if statement.strip():
                connection.cursor().execute(statement)
        connection.close()


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory
