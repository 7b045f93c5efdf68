"""Two versions of the service on one database and one Redis, as they are while a new version comes in."""

import json
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import requests

from tests.made_apps import make_apps
from tests.servers.mariadb import MariaDBServer
from tests.servers.nginx import NginxTarget
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK
from wangtimer.stack.ports import free_port
from wangtimer.stack.procfile import Command, read_commands
from wangtimer.stack.service import Service
from wangtimer.stack.supervisor import StopRequest, Supervisor
from wangtimer.store.sql.database import Database

HERE = Path(__file__).parent
APP = "shop"
START_SECONDS = 90.0
# One worker for all queues of a version: five processes in all, on any machine.
WORKER = (
    "celery -A wangtimer worker -Q schedule,migrate,trigger,callback -n worker@%h -P threads -c 64 --without-gossip "
    "--without-mingle --heartbeat-interval 10 --loglevel WARNING"
)


@dataclass(frozen=True, slots=True)
class Version:
    """One version's API, and the session to ask it by."""

    name: str
    api_url: str

    def ask(self, method: str, path: str, **fields: Any) -> dict[str, Any]:
        """Send a request; raises unless it is answered with success."""
        given: Any = {"params": fields} if method == "GET" else {"json": fields}
        response = requests.request(method, f"{self.api_url}/api/{path}", timeout=20, **given)
        assert response.ok, f"{self.name}: {path}: {response.status_code} {response.text}"
        answer: dict[str, Any] = response.json()
        return answer

    def ask_v1(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The same by the paths of /v1, which the old version does not have."""
        of_app = {"WangTimer-App": APP}
        response = requests.request(
            method, f"{self.api_url}/v1/{path}", json=body, headers=of_app, timeout=20
        )
        assert response.ok, f"{self.name}: {path}: {response.status_code} {response.text}"
        answer: dict[str, Any] = response.json()
        return answer

    def timer(self, url: str, name: str, **schedule: Any) -> int:
        """Create and enable a timer; return its id."""
        notify = {"url": url, "method": "POST", "body": json.dumps({"name": name})}
        made = self.ask("POST", "timer/v1/def", app=APP, name=name, notifyHTTPParam=notify, **schedule)
        self.ask("POST", "timer/v1/enable", app=APP, id=int(made["id"]))
        return int(made["id"])

    def calendar(self, name: str, days: list[str]) -> None:
        """Upload a calendar; the old version knows it by the old paths alone."""
        if self.name == "old":
            self.ask("PUT", "timer/v1/calendar", app=APP, name=name, days=days)
        else:
            self.ask_v1("PUT", f"calendars/{name}", {"days": days})

    def records(self, timer_id: int) -> list[dict[str, Any]]:
        """Return a timer's firings, latest first."""
        found: list[dict[str, Any]] = self.ask("GET", "task/v1/records", app=APP, id=timer_id, limit=100)[
            "data"
        ]
        return found


class Beside:
    """`with Beside(directory) as it: it.old, it.new, it.target`; beat is of the new version."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._stack = ExitStack()
        self.supervisor = Supervisor()

    def __enter__(self) -> "Beside":
        enter = self._stack.enter_context
        self._sql = enter(MariaDBServer(self._made("sql")))
        self._redis = enter(RedisServer(redis_program(), self._made("redis")))
        self.target = enter(NginxTarget(self._made("target")))
        self.database = Database(self._sql.create_database("wangtimer"), pool_size=2)
        self._stack.callback(self.database.close)
        make_apps(self.database.engine.url.render_as_string(hide_password=False), APP)
        self._stack.callback(self.supervisor.stop)
        old_code = self._made("old-code")
        with tarfile.open(next(HERE.glob("*.tar.xz"))) as archive:
            # Debian 12's Python has no `filter` yet; the archive is ours.
            archive.extractall(old_code)
        old, old_service = self._started("old", {"PYTHONPATH": str(old_code)}, with_beat=False)
        new, new_service = self._started("new", {}, with_beat=True)
        self.old, self.new = old, new
        for version, service in ((old, old_service), (new, new_service)):
            service.await_ready(version.api_url, StopRequest(), START_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def run_until(self, moment_ms: float, or_once: Callable[[], bool] = lambda: False) -> None:
        """Let both versions work until a moment (ms UTC), or once something is so."""
        self.supervisor.tend_until(lambda: time.time() * 1_000 >= moment_ms or or_once())

    def logs(self, name: str) -> str:
        """Return what the processes of a version logged."""
        return "\n".join(path.read_text() for path in (self._directory / name / "log").iterdir())

    def _started(self, name: str, variables: dict[str, str], with_beat: bool) -> tuple[Version, Service]:
        port = free_port()
        environment = {
            "WANGTIMER_DATABASE_URL": str(self.database.engine.url.render_as_string(hide_password=False)),
            "WANGTIMER_STORE_URL": self._redis.url(0),
            "WANGTIMER_BROKER_URL": self._redis.url(1),
            "WANGTIMER_HTTP_BIND": f"127.0.0.1:{port}",
            "WANGTIMER_EGRESS": PUBLIC_AND_LOOPBACK,
            "WANGTIMER_HTTP_WORKERS": "1",
            "WANGTIMER_AUTH": "off",
        }
        service = Service(self.supervisor, self._made(name), environment | variables)
        service.start(_commands(name, with_beat))
        return Version(name, f"http://127.0.0.1:{port}"), service

    def _made(self, name: str) -> Path:
        directory = self._directory / name
        directory.mkdir(parents=True, exist_ok=True)
        return directory


def _commands(version: str, with_beat: bool) -> Iterator[Command]:
    kept = read_commands()
    if with_beat:
        yield kept["beat"]
    yield Command(f"web-{version}", kept["web"].argv)
    yield Command(f"worker-{version}", tuple(WORKER.replace("worker@", f"worker-{version}@").split()))
