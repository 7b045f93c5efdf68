"""Where attacks are tried: a whole deployment under its accounts, two apps, and what listens around it."""

import json
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import Engine, create_engine, text
from sqlalchemy.pool import NullPool

from tests.api.sample_requests import SampleRequest
from tests.attack.answer import Answer, ask, statuses
from tests.attack.called import MisbehavingTarget
from tests.attack.things import Things
from tests.callback.test_egress import Counting
from tests.e2e.canaries import REDIS_WRITES_ALL, SQL_WRITES_ALL
from tests.servers.mariadb import MariaDBServer
from tests.stack.accounts import GuardedDeployment, GuardedRedis
from tests.stack.shipped_proxy import shipped_proxy
from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES, Scope
from wangtimer.core.apps.stored_key import new_key
from wangtimer.stack.ports import HOST
from wangtimer.store.sql.apps import ApiKeyStore
from wangtimer.store.sql.database import Database

# Who is attacked, and who attacks.
SHOP, BANK = "shop", "bank"
OUTCOME_S = 40.0
# Where clients of the attacks come from; the proxy is at HOST, and is believed.
ELSEWHERE = "127.0.0.2"
HEAD_S, BODY_S = 2, 3
# Of the Redis to which apps send messages.
QUEUES_PASSWORD = "of-the-queues-5be2"
# What an operator allowed; `inside` is a mistake, as it is our own store.
BROKERS = """
[[broker]]
name = "queues"
url = "{queues}"
[[broker.allow]]
app = "shop"
lists = ["shop:*"]
streams = ["shop:*"]
celery_queues = ["shop.*"]
[[broker.allow]]
app = "bank"
lists = ["bank:*"]
streams = ["bank:*"]
celery_queues = ["bank.*"]
celery_tasks = ["bank.*"]

[[broker]]
name = "shops"
url = "{queues}"
[[broker.allow]]
app = "shop"
lists = ["*"]

[[broker]]
name = "inside"
url = "{store}"
[[broker.allow]]
app = "bank"
lists = ["*"]
"""


class AttackedDeployment(GuardedDeployment):
    """Its servers write all that they can, so that files can be searched for secrets."""

    redis_options = REDIS_WRITES_ALL

    def __init__(
        self, directory: Path, allowed: Sequence[int], queues_url: str, brokers: Path, **variables: str | int
    ) -> None:
        super().__init__(directory, brokers_file=str(brokers), **variables)
        self._allowed, self._queues_url, self._brokers = allowed, queues_url, brokers

    def environment(self, port: int) -> dict[str, str]:
        # Ports of our own servers are allowed too: still nobody may connect to them.
        own = (self.sql.port, self.store.port, self.broker.port, port)
        rules = ",".join(["public", *(f"{HOST}:{one}" for one in (*self._allowed, *own))])
        self._brokers.write_text(BROKERS.format(queues=self._queues_url, store=self.store.url()))
        return super().environment(port) | {"WANGTIMER_EGRESS": rules}

    def _sql_server(self, directory: Path) -> MariaDBServer:
        return MariaDBServer(directory, *SQL_WRITES_ALL)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is on record of a firing."""

    status: str
    http_status: int | None
    error: str
    output: str
    attempt: int

    @property
    def has_ended(self) -> bool:
        return self.status != "pending" or self.attempt > 1

    @property
    def is_unsent(self) -> bool:
        """Whether no byte was sent."""
        return self.status != "succeeded" and not self.http_status and self.error.startswith("not sent: ")


class Ground:
    """`with Ground(directory) as ground: ground.ask("GET", "/v1/timers", ground.bank)`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stack = ExitStack()

    def __enter__(self) -> "Ground":
        self.target = MisbehavingTarget()
        self._stack.callback(self.target.close)
        # It listens at every address of this machine, and no rule allows it.
        everywhere = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)
        self.inside = Counting(everywhere)
        self._stack.callback(self.inside.close)
        # No rule of the deployment allows it, but one app may call it.
        self.partner = MisbehavingTarget()
        self._stack.callback(self.partner.close)
        acl = self.directory / "queues.acl"
        acl.write_text(f"user sender on >{QUEUES_PASSWORD} ~* &* +@all\n")
        self.queues = self._stack.enter_context(GuardedRedis(self.directory / "queues", acl))
        self.deployment = self._stack.enter_context(
            AttackedDeployment(
                self.directory / "deployment",
                [self.target.port],
                self.queues.url_of("sender", QUEUES_PASSWORD),
                self.directory / "brokers.toml",
                auth="keys",
                http_head_timeout_s=HEAD_S,
                http_body_timeout_s=BODY_S,
                trusted_proxies=f"{HOST}/32",
                compat_trusted_networks="10.1.0.0/16",
            )
        )
        self.web = self.deployment.api_url.removeprefix("http://")
        tls = self.directory / "tls"
        tls.mkdir()
        proxy = self.directory / "proxy"
        proxy.mkdir()
        self.proxy = self._stack.enter_context(shipped_proxy(proxy, int(self.web.rpartition(":")[2]), tls))
        self.operator = self.deployment.operator["Authorization"].removeprefix("Bearer ")
        self.shop, self.bank = self.key(SHOP), self.made_app(BANK)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @cached_property
    def things(self) -> Things:
        """What the shop has."""
        return Things.made(self)

    # What an attacker does.

    def ask(
        self,
        method: str,
        path: str,
        key: str | None = None,
        body: Any = None,
        *,
        raw: bytes | None = None,
        at: str = "",
        source: str = "",
        **headers: str,
    ) -> Answer:
        """Send a request, through the proxy unless `at` says otherwise; `body` as JSON, `raw` as it is."""
        sent = {} if key is None else {"Authorization": f"Bearer {key}"}
        if body is not None or raw is not None:
            sent["Content-Type"] = "application/json"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        given = json.dumps(body).encode() if body is not None else raw
        return ask(at or self.proxy, method, path, given, sent, source)

    def ask_sample(self, sent: SampleRequest, key: str | None, **headers: str) -> Answer:
        """Send a request that an operation takes."""
        query = f"?{urlencode(sent.query)}" if sent.query else ""
        return self.ask(sent.method, f"{sent.path}{query}", key, sent.body, **sent.headers | headers)

    def done(self, method: str, path: str, key: str, body: Any = None, **headers: str) -> Any:
        """Send a request that must succeed; return what it answers."""
        answer = self.ask(method, path, key, body, **headers)
        assert answer.status < 300, f"{method} {path}: {answer} {answer.text}"
        return answer.json if answer.text else None

    def sent_raw(self, sent: bytes, at: str = "", timeout_s: float = 10, until_closed: bool = False) -> bytes:
        """Send bytes and return all that comes back until the connection closes, or is silent for half a second."""
        with self.connected(at, timeout_s) as client:
            with suppress(OSError):
                client.sendall(sent)
            return self.received(client, until_closed)

    def statuses_raw(self, sent: bytes, at: str = "") -> str:
        """Send bytes; return the statuses of all answers."""
        return statuses(self.sent_raw(sent, at))

    def told_raw(self, sent: bytes, at: str = "") -> str:
        """Send bytes; return the status and the code of the answer."""
        raw = self.sent_raw(sent, at, until_closed=True)
        head, _, body = raw.partition(b"\r\n\r\n")
        if not raw:
            return "closed"
        kind = "application/json" if b"json" in head.lower() and body.startswith(b"{") else ""
        return str(Answer(int(head.split(b" ")[1]), {"content-type": kind}, body.decode(errors="replace")))

    def connected(self, at: str = "", timeout_s: float = 10) -> socket.socket:
        host, _, port = (at or self.proxy).partition(":")
        return socket.create_connection((host, int(port)), timeout=timeout_s)

    @staticmethod
    def received(client: socket.socket, until_closed: bool = False) -> bytes:
        found = b""
        with suppress(OSError):
            while part := client.recv(65_536):
                found += part
                if not until_closed:
                    client.settimeout(0.5)
        return found

    def timer(self, key: str, url: str, app_key: str = "", **more: Any) -> int:
        """Make a timer that is due at once; return its id."""
        target = {"url": url} | more.pop("target", {})
        body = {"key": key, "schedule": {"delay": "0s"}, "target": target} | more
        return int(self.done("POST", "/v1/timers", app_key or self.bank, body)["id"])

    def outcomes(self, timers: Sequence[int], seconds: float = OUTCOME_S) -> dict[int, Outcome]:
        """Return what became of the first attempt of each timer's only firing, once all have ended."""
        query = text(
            "SELECT timer_id, status, http_status, error, output, attempt FROM firing WHERE timer_id IN :ids"
        ).bindparams(ids=tuple(timers))
        deadline = time.monotonic() + seconds
        while True:
            with self.sql.connect() as sql:
                found = {
                    row.timer_id: Outcome(
                        row.status, row.http_status, row.error or "", row.output or "", row.attempt
                    )
                    for row in sql.execute(query)
                }
            if {one for one in found if found[one].has_ended} >= set(timers):
                return found
            assert time.monotonic() < deadline, f"{len(found)} of {len(timers)} have ended"
            self.tend()

    def outcome(self, timer: int, seconds: float = OUTCOME_S) -> Outcome:
        return self.outcomes([timer], seconds)[timer]

    def status_of_a_firing(self, key: str) -> str:
        """Make a timer that is due at once, for a target that answers; return what became of its firing."""
        return self.outcome(self.timer(key, f"{self.target.url}plain")).status

    def moment_of(self, timer: int) -> int:
        """Return the moment of a timer's firing, once it is planned; ms UTC."""
        query = text("SELECT fire_at FROM firing WHERE timer_id = :timer")
        found: list[int] = []

        def is_planned() -> bool:
            with self.sql.connect() as sql:
                found.extend(sql.execute(query, {"timer": timer}).scalars())
            return bool(found)

        assert self.waited(is_planned, OUTCOME_S), f"timer {timer} has no firing"
        return found[0]

    # What the ground knows.

    def at_the_end(self, close: Callable[[], object]) -> None:
        """Have something closed with all the rest."""
        self._stack.callback(close)

    @cached_property
    def sql(self) -> Engine:
        """The database, as root."""
        return create_engine(self.deployment.database_url, poolclass=NullPool)

    def tend(self, seconds: float = 0.2) -> None:
        self.deployment.tend_for(seconds)

    def waited(self, condition: Callable[[], bool], seconds: float = 10) -> bool:
        """Tell whether it has come true in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.tend()
        return True

    def made_app(self, name: str, egress: dict[str, object] | None = None, **limits: int) -> str:
        """Make an app with these limits and this way out; return a key of it."""
        self.done("POST", "/v1/apps", self.operator, {"name": name, "limits": limits})
        if egress is not None:
            self.done("PATCH", f"/v1/apps/{name}", self.operator, {"egress": egress})
        return self.key(name)

    def key(
        self, app: str | None, scopes: frozenset[Scope] | None = None, expires_at: int | None = None
    ) -> str:
        """Make a key, with all scopes of its kind unless some are given."""
        whole = ALL_SCOPES if app is None else APP_SCOPES
        now = int(time.time() * 1_000)
        made, stored = new_key(app, "attack", whole if scopes is None else scopes, now, expires_at)
        with closing(Database(self.deployment.database_url, pool_size=1)) as database:
            ApiKeyStore(database).add(stored)
        return made.text

    def state_of(self, app: str) -> dict[str, list[tuple[Any, ...]]]:
        """Return all rows of an app."""
        queries = {
            "timer": "SELECT id, name, status, version, notify, tags FROM timer WHERE app = :app",
            "firing": "SELECT timer_id, fire_at, status, attempt FROM firing WHERE timer_id IN "
            "(SELECT id FROM timer WHERE app = :app)",
            "key": "SELECT id, revoked_at FROM api_key WHERE app = :app",
            "target": "SELECT name, content, version FROM target WHERE app = :app",
            "alert rule": "SELECT name, content, updated_at FROM alert_rule WHERE app = :app",
            "alert message": "SELECT id FROM alert_message WHERE app = :app",
            "certificate": "SELECT chain, version FROM client_certificate WHERE app = :app",
            "app": "SELECT name, disabled_at, limits, queue, egress FROM app WHERE name = :app",
            # Of no app: nobody but an operator may change them.
            "pause": "SELECT name, since FROM pause WHERE :app = :app",
            "limited host": "SELECT host, calls_per_second, calls_at_once FROM host_limit WHERE :app = :app",
        }
        with self.sql.connect() as sql:
            return {
                name: sorted(map(tuple, sql.execute(text(query), {"app": app})))
                for name, query in queries.items()
            }
