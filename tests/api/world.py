"""The API over real stores; only the clock and the broker are fakes."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

import jsonschema
from flask.testing import FlaskClient
from sqlalchemy import func, select

from tests.api.lent_apps import LentApp
from tests.secret_keys import SECRET_KEYS
from wangtimer.api.http.codes import ErrorCode
from wangtimer.base.settings import Settings
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Chunk
from wangtimer.store.sql.tables import firings, timers
from wangtimer.testing.doubles.every_app import EveryApp
from wangtimer.wiring import Wiring

CODES = {code.number: code for code in ErrorCode}
URL = "http://target.example:8080/fire"
DEF, DEFS, RECORDS = "/api/timer/v1/def", "/api/timer/v1/defs", "/api/task/v1/records"
ENABLE, UNABLE = (f"/api/timer/v1/{verb}" for verb in ("enable", "unable"))


@dataclass
class StillClock:
    """Stands still until it is moved; ms since 1970."""

    now: int
    is_away: bool = False

    def latest_ms(self) -> float:
        return self.now_ms()

    def earliest_ms(self) -> float:
        return self.now_ms()

    def now_ms(self) -> float:
        if self.is_away:
            raise StoreAway("Redis", "no clock")
        return self.now

    def monotonic(self) -> float:
        return self.now / 1_000

    def sleep(self, seconds: float) -> None:
        self.now += int(seconds * 1_000)


@dataclass
class ChunkCollector:
    """In the broker's place: keeps what would be sent to executors, as if nobody took it."""

    chunks: list[Chunk] = field(default_factory=list)
    follows: int = 0

    def send_chunk(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)

    def send_follow(self) -> None:
        self.follows += 1

    def ping(self) -> None:
        """It is always there."""

    def waiting_chunks(self, _queue: int = 0) -> int:
        return len(self.chunks)

    @property
    def moments(self) -> list[int]:
        return [due.member.fire_at for chunk in self.chunks for due in chunk.members]


@dataclass
class Answered:
    status: int
    json: dict[str, Any]
    headers: dict[str, str]

    @property
    def code(self) -> int:
        return int(self.json["code"])

    @property
    def msg(self) -> str:
        return str(self.json["msg"])

    @property
    def data(self) -> Any:
        return self.json["data"]


@dataclass
class V1Answered:
    status: int
    json: Any
    headers: dict[str, str]

    @property
    def etag(self) -> str:
        return self.headers["ETag"]


class World:
    """`world.post(DEF, name="a")`, `world.send("GET", "/v1/timers")`: xTimer's paths and v1's.

    Every answer is held against the OpenAPI document on its way.
    """

    def __init__(self, database_url: str, store_url: str, now: int, **variables: Any) -> None:
        self.clock = StillClock(now)
        self.broker = ChunkCollector()
        settings = Settings(
            **{
                "auth": "off",
                "database_url": database_url,
                "store_url": store_url,
                "broker_url": store_url,
                "secret_keys": SECRET_KEYS,
                # What else runs on the core counts too; tests of the budget give the one that ships.
                "http_cpu_ms": 60_000,
                **variables,
            }
        )
        self.wiring = Wiring(settings, None)  # type: ignore[arg-type]
        vars(self.wiring).update(clock=self.clock, broker=self.broker)
        if settings.auth == "off":
            vars(self.wiring).update(
                app_directory=EveryApp(self.wiring.apps, self.clock, settings.app_limits)
            )
        self._lent = LentApp(self.wiring)
        self.app = self._lent.app
        self.client: FlaskClient = self.app.test_client()

    def close(self) -> None:
        self.wiring.database.close()
        self.wiring.redis.close()
        self._lent.give_back()

    def call(self, method: str, path: str, **options: Any) -> Answered:
        response = self.client.open(path, method=method, **options)
        assert response.mimetype == "application/json", response.get_data(as_text=True)
        answered = Answered(response.status_code, json.loads(response.data), dict(response.headers))
        self._check_documented(method, path, answered)
        _check_error(answered)
        return answered

    def post(self, path: str, **fields: Any) -> Answered:
        return self._send("POST", path, fields)

    def get(self, path: str, **parameters: Any) -> Answered:
        return self.call("GET", path, query_string=parameters)

    def patch(self, **fields: Any) -> Answered:
        return self._send("PATCH", DEF, fields)

    def delete(self, **fields: Any) -> Answered:
        return self._send("DELETE", DEF, fields)

    def create(self, **fields: Any) -> Answered:
        return self.post(DEF, **definition(**fields))

    def made(self, **fields: Any) -> int:
        """Create a timer and return its id."""
        answered = self.create(**fields)
        assert (answered.status, answered.code) == (200, 0), answered.json
        return int(answered.json["id"])

    def enabled(self, **fields: Any) -> int:
        """Create and enable a timer; return its id."""
        timer_id = self.made(**fields)
        assert self.post(ENABLE, app=fields.get("app", "shop"), id=timer_id).code == 0
        return timer_id

    def send(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | bytes | None = None,
        *,
        app: str | None = "shop",
        rule: str = "",
        query: dict[str, Any] | None = None,
        **headers: str,
    ) -> V1Answered:
        """Send a request of an app; `rule` is its path in the document, where that has parameters.

        A body in bytes is sent as it is; `Content_Type` may say that it is no JSON.
        """
        content_type = headers.pop("Content_Type", None if body is None else "application/json")
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if app is not None:
            # As bytes of UTF-8 come through WSGI.
            sent["WangTimer-App"] = app.encode().decode("latin-1")
        response = self.client.open(
            path,
            method=method,
            headers=sent,
            query_string=query,
            data=json.dumps(body).encode() if isinstance(body, dict) else body,
            content_type=content_type,
        )
        is_text = response.mimetype in ("text/csv", "application/x-ndjson")
        answered = V1Answered(
            response.status_code,
            response.text if is_text else json.loads(response.data) if response.data else None,
            dict(response.headers),
        )
        if answered.status >= 400:
            _check_problem(answered)
        self._check_documented_v1(method, rule or path, answered)
        return answered

    def v1(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return what /v1 answers to a request of the shop."""
        response = self.client.open(path, method=method, headers={"WangTimer-App": "shop"}, json=body)
        return json.loads(response.data)

    def cancel(self, timer_id: int, moment: int) -> Any:
        """Cancel a coming firing of the shop; `moment` in ms UTC."""
        return self.v1("POST", f"/v1/firings/{timer_id}-{moment}:cancel")

    def stored(self) -> tuple[int, int]:
        """Return how many timers and firings SQL holds."""
        counts = [select(func.count()).select_from(table) for table in (timers, firings)]
        found = self.wiring.database.read(lambda sql: [sql.execute(count).scalar_one() for count in counts])
        return found[0], found[1]

    def _send(self, method: str, path: str, fields: dict[str, Any]) -> Answered:
        body = json.dumps(fields, ensure_ascii=False).encode()
        return self.call(method, path, data=body, content_type="application/json")

    def _check_documented(self, method: str, path: str, answered: Answered) -> None:
        document = self.app.api_doc
        operation = document["paths"].get(path.partition("?")[0], {}).get(method.lower())
        if operation is None:
            return
        assert str(answered.status) in operation["responses"], f"{answered.status} is not documented"
        schema = operation["responses"][str(answered.status)]["content"]["application/json"]["schema"]
        jsonschema.validate(answered.json, {**schema, "components": document["components"]})
        properties = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
        assert answered.json.keys() <= properties.keys()

    def _check_documented_v1(self, method: str, rule: str, answered: V1Answered) -> None:
        document = self.app.api_doc
        operation = document["paths"][rule][method.lower()]
        assert str(answered.status) in operation["responses"], f"{answered.status} is not documented"
        content = operation["responses"][str(answered.status)].get("content")
        if content is None:
            assert answered.json is None
            return
        schema = content[answered.headers["Content-Type"]]["schema"]
        jsonschema.validate(answered.json, {**schema, "components": document["components"]})
        if "$ref" in schema:
            properties = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
            assert answered.json.keys() <= properties.keys()


def _check_error(answered: Answered) -> None:
    """Hold every error of every test against the table, and see that it names its field and its mend."""
    if answered.status < 400:
        assert answered.code == 0
        return
    assert answered.code in CODES
    assert answered.code // 100 == answered.status
    assert answered.msg.startswith(f"{answered.json.get('field') or 'request'}: "), answered.msg
    assert "; " in answered.msg, f"no mend: {answered.msg}"


def _check_problem(answered: V1Answered) -> None:
    """See that every error is a problem of a known code that says what to do."""
    assert answered.headers["Content-Type"] == "application/problem+json"
    problem = answered.json
    code = CODES[problem["code"]]
    assert (problem["status"], answered.status) == (code.status, code.status)
    assert problem["type"] == f"/docs/errors#{code.number}"
    assert "; " in problem["detail"], f"no mend: {problem['detail']}"
    assert "/api/" not in problem["detail"], f"a path of the seed: {problem['detail']}"


def definition(**fields: Any) -> dict[str, Any]:
    """Return a create's JSON: every second unless another schedule is given; `without` leaves a field out."""
    without = fields.pop("without", None)
    wanted: dict[str, Any] = {"app": "shop", "name": "expire", "notifyHTTPParam": {"url": URL}} | fields
    if not wanted.keys() & {"cron", "at", "delayMs"}:
        wanted["cron"] = "* * * * * *"
    wanted.pop(without, None)
    return wanted


def present() -> int:
    """Return 20 s into this minute, ms since 1970: no full minute, of any zone, is about to come."""
    return (int(time.time()) // 60 * 60 + 20) * 1_000
