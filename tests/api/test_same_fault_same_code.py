"""The same bad input gets the same code from every operation that takes it, those yet to come included.

The operations and their fields are read off the OpenAPI document.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.test_refused import assert_refused
from tests.api.world import Answered, World, present
from tests.fuzz.sensible import PICKS, RULES
from tests.fuzz.standing import Standing
from tests.servers.redis_server import RedisServer
from wangtimer.api import create_app

DOCUMENT = create_app().api_doc
NO_TIMER = 10**12


@dataclass(frozen=True)
class Operation:
    """One operation, with the schema of what it takes."""

    label: str
    method: str
    path: str
    takes_body: bool
    schema: dict[str, Any]

    @property
    def fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = self.schema["properties"]
        return fields

    @property
    def required(self) -> set[str]:
        return set(self.schema.get("required", ()))

    def call(self, world: World, given: dict[str, Any]) -> Answered:
        if self.takes_body:
            return self.send(world, json.dumps(given).encode())
        return world.call(self.method, self.path, query_string=given)

    def send(self, world: World, body: bytes, content_type: str = "application/json") -> Answered:
        return world.call(self.method, self.path, data=body, content_type=content_type)


def _operations() -> Iterator[Operation]:
    # v1 tells its errors in another form; tests/api/v1 has what these tests have.
    compatible = {path: one for path, one in DOCUMENT["paths"].items() if not path.startswith("/v1/")}
    for path, methods in compatible.items():
        for method, raw in methods.items():
            queries = [one for one in raw.get("parameters", ()) if one["in"] == "query"]
            if "requestBody" in raw:
                schema = raw["requestBody"]["content"]["application/json"]["schema"]
                yield Operation(raw["operationId"], method.upper(), path, True, _resolved(schema))
            elif queries:
                properties = {one["name"]: one["schema"] for one in queries}
                required = [one["name"] for one in queries if one["required"]]
                schema = {"properties": properties, "required": required}
                yield Operation(raw["operationId"], method.upper(), path, False, schema)


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


OPERATIONS = list(_operations())
OF_BODIES = [one for one in OPERATIONS if one.takes_body]
MOMENTS = [
    (one, name)
    for one in OPERATIONS
    for name, field in one.fields.items()
    if field.get("title") == "GivenMoment"
]


class StandingWorld(World):
    """One with one timer."""

    def __init__(self, database_url: str, store_url: str, now: int) -> None:
        super().__init__(database_url, store_url, now)
        self.wiring.database.create_tables()
        self.timer_id = self.made()


@pytest.fixture(scope="module")
def standing_world(
    redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StandingWorld]:
    """One for all tests: what is refused changes nothing."""
    folder = tmp_path_factory.mktemp("same-fault")
    world = StandingWorld(f"sqlite:///{folder / 'wangtimer.db'}", redis_server.url(), present())
    yield world
    assert world.stored() == (1, 0)
    world.close()


def with_field(name: str) -> list[Operation]:
    return [one for one in OPERATIONS if name in one.fields]


def named(operations: list[Operation]) -> Any:
    return pytest.mark.parametrize("operation", [pytest.param(one, id=one.label) for one in operations])


def smallest(world: StandingWorld, operation: Operation) -> dict[str, Any]:
    """Return a request with nothing but what must be given, about a timer there is."""
    timer_id = world.timer_id
    firings = [(timer_id, world.clock.now)]
    standing = Standing(
        lambda *_: {},
        ids=[timer_id],
        names=["expire"],
        firings=firings,
        coming=firings,
        now=world.clock.now,
    )
    made = _smallest(operation.schema, standing)
    if {"id", "timerID"} <= operation.fields.keys():
        made["id"] = timer_id
    # An operator, as whom all tests call, names an app.
    return made | ({"app": "shop"} if "app" in operation.fields else {})


def _smallest(schema: dict[str, Any], standing: Standing) -> Any:
    schema = _resolved(schema)
    if schema.get("title") == "GivenMoment":
        return standing.now
    match schema.get("type"):
        case "object":
            pass
        case "array":
            return [_smallest(schema["items"], standing)] if schema.get("minItems") else []
        case "string":
            return (schema.get("enum") or schema.get("examples") or ["x"])[0]
        case "integer":
            return int(schema.get("minimum", 1))
        case "boolean":
            return False
    fields = schema["properties"]
    made = {
        name: PICKS[name](random.Random(1), standing) if name in PICKS else _smallest(fields[name], standing)
        for name in schema.get("required", ())
    }
    return made | ({"cron": "* * * * *"} if "cron" in fields and "id" not in fields else {})


BAD_BODIES = {
    "not JSON": (b"{'app': 1}", 400, 40001),
    "nothing": (b"", 400, 40001),
    "not UTF-8": (b'{"app":"\xe9"}', 400, 40001),
    "NaN": (b'{"app":NaN}', 400, 40001),
    "a list": (b"[]", 400, 40002),
    "text": (b'"app"', 400, 40002),
    "more than any operation takes": (b" " * 9_000_000, 413, 41301),
}


@named(OF_BODIES)
@pytest.mark.parametrize("fault", BAD_BODIES)
def test_a_bad_body(standing_world: StandingWorld, operation: Operation, fault: str) -> None:
    body, status, code = BAD_BODIES[fault]
    assert_refused(operation.send(standing_world, body), status, code, "")


@named(OF_BODIES)
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_wrong_content_type(standing_world: StandingWorld, operation: Operation, content_type: str) -> None:
    assert_refused(operation.send(standing_world, b"{}", content_type), 415, 41501, "")


@named(OPERATIONS)
def test_an_unknown_field(standing_world: StandingWorld, operation: Operation) -> None:
    given = smallest(standing_world, operation) | {"nonsense": 1}
    assert_refused(operation.call(standing_world, given), 400, 40004, "nonsense")


@named(OPERATIONS)
def test_a_field_given_twice(standing_world: StandingWorld, operation: Operation) -> None:
    name = next(iter(operation.fields))
    if operation.takes_body:
        answered = operation.send(standing_world, f'{{"{name}":1,"{name}":1}}'.encode())
    else:
        answered = standing_world.call(operation.method, f"{operation.path}?{name}=1&{name}=1")
    assert_refused(answered, 400, 40003, name)


@named(OPERATIONS)
def test_a_required_field_left_out(standing_world: StandingWorld, operation: Operation) -> None:
    whole = smallest(standing_world, operation)
    for name in operation.required:
        without = {other: value for other, value in whole.items() if other != name}
        assert_refused(operation.call(standing_world, without), 400, 40005, name)


@named(with_field("app"))
@pytest.mark.parametrize("app", ["", "x" * 65, "shop ", "a\nb", "\u200b"])
def test_a_bad_app(standing_world: StandingWorld, operation: Operation, app: str) -> None:
    given = smallest(standing_world, operation) | {"app": app}
    assert_refused(operation.call(standing_world, given), 400, 40007, "app")


@named([one for one in OF_BODIES if "app" in one.fields])
def test_an_app_that_is_no_text(standing_world: StandingWorld, operation: Operation) -> None:
    given = smallest(standing_world, operation) | {"app": 7}
    assert_refused(operation.call(standing_world, given), 400, 40006, "app")


@named(with_field("id"))
@pytest.mark.parametrize(("bad", "code"), [(0, 40007), (2**63, 40007), ("one", 40006), (1.5, 40006)])
def test_a_bad_id(standing_world: StandingWorld, operation: Operation, bad: Any, code: int) -> None:
    given = smallest(standing_world, operation) | {"id": bad}
    assert_refused(operation.call(standing_world, given), 400, code, "id")


@named([one for one in with_field("id") if "id" in one.required])
def test_the_id_of_no_timer_and_of_another_apps(standing_world: StandingWorld, operation: Operation) -> None:
    given = smallest(standing_world, operation)
    for strange in (given | {"id": NO_TIMER}, given | {"app": "bank"}):
        answered = operation.call(standing_world, strange)
        assert answered.status == 404
        assert_refused(answered, 404, 40401, "id")


@pytest.mark.parametrize(
    ("operation", "name"), [pytest.param(*one, id=f"{one[0].label}-{one[1]}") for one in MOMENTS]
)
@pytest.mark.parametrize("bad", ["soon", "2190-01-02T03:04:05", "9999-12-31T23:59:59-23:59", 1_795_198_611])
def test_a_bad_moment(standing_world: StandingWorld, operation: Operation, name: str, bad: Any) -> None:
    given = smallest(standing_world, operation)
    if name in RULES:
        given.pop("cron", None)
    assert_refused(operation.call(standing_world, given | {name: bad}), 400, 40008, name)
