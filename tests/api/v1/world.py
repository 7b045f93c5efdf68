"""v1 over real stores; only the clock and the broker are fakes."""

import json
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest

from tests.api.world import World
from wangtimer.api.http.codes import ErrorCode
from wangtimer.core.errors import StoreAway

URL = "http://target.example:8080/fire"
TIMERS = "/v1/timers"
CODES = {code.number: code for code in ErrorCode}


@dataclass
class Answered:
    status: int
    # The text as it is where it is no JSON.
    json: Any
    headers: dict[str, str]

    @property
    def etag(self) -> str:
        return self.headers["ETag"]


class V1World(World):
    """`api.send("POST", TIMERS, {...})`; every answer is held against the OpenAPI document on its way."""

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
    ) -> Answered:
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
        answered = Answered(
            response.status_code,
            response.text if is_text else json.loads(response.data) if response.data else None,
            dict(response.headers),
        )
        if answered.status >= 400:
            _check_problem(answered)
        self._check_documented_v1(method, rule or path, answered)
        return answered

    def made(self, **fields: Any) -> Answered:
        """Make a timer: every second unless another schedule is given."""
        body = {"key": "expire", "schedule": {"cron": "* * * * * *"}, "target": {"url": URL}} | fields
        answered = self.send("POST", TIMERS, body)
        assert answered.status == 201, answered.json
        return answered

    def cancelled(self, timer_id: int, moment: int, app: str = "shop") -> Answered:
        """Cancel a coming firing; `moment` in ms UTC."""
        rule = "/v1/firings/{firing_id}:cancel"
        return self.send("POST", f"/v1/firings/{timer_id}-{moment}:cancel", rule=rule, app=app)

    def _check_documented_v1(self, method: str, rule: str, answered: Answered) -> None:
        document = self.app.api_doc
        operation = document["paths"][rule][method.lower()]
        assert str(answered.status) in operation["responses"], f"{answered.status} is not documented"
        content = operation["responses"][str(answered.status)].get("content")
        if content is None:
            assert not answered.json
            return
        schema = content[answered.headers["Content-Type"]]["schema"]
        jsonschema.validate(answered.json, {**schema, "components": document["components"]})
        if "$ref" not in schema:
            return
        properties = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
        assert answered.json.keys() <= properties.keys()


def _check_problem(answered: Answered) -> None:
    """See that every error is a problem of a known code that says what to do."""
    assert answered.headers["Content-Type"] == "application/problem+json"
    problem = answered.json
    code = CODES[problem["code"]]
    assert (problem["status"], answered.status) == (code.status, code.status)
    assert problem["type"] == f"/docs/errors#{code.number}"
    assert "; " in problem["detail"], f"no mend: {problem['detail']}"
    assert "/api/" not in problem["detail"], f"a path of the seed: {problem['detail']}"


def lose_sql_after_one_transaction(world: V1World, patched: pytest.MonkeyPatch) -> None:
    """Let one transaction of a batch of new timers through; for all later ones SQL is away."""
    batches = type(world.wiring.batches.timers)
    store, calls = batches.create, list[int]()

    def then_be_away(self: Any, *given: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise StoreAway("SQL", "switched off by the test")
        return store(self, *given)

    patched.setattr(batches, "create", then_be_away)
