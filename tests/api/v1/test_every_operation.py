"""What holds of every operation of v1, those yet to come included: they are read off the OpenAPI document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.test_our_words import DOCUMENT, PYDANTIC, every_breach, sample
from tests.api.v1.world import Answered, V1World
from wangtimer.api.v1.problems import pointer
from wangtimer.core.apps.scopes import OPERATOR_SCOPES

PATHS = {path: methods for path, methods in DOCUMENT["paths"].items() if path.startswith("/v1/")}
PLACES = {
    "{which}": "17",
    "{firing_id}": "17-1000",
    "{name}": "plant",
    "{app}": "shop",
    "{key_id}": "3kTMd8Qx9LbA",
    "{secret_id}": "1",
}
# A callback of a timer may read and stop, and nothing else.
ACTING = {
    "v1CreateTimer",
    "v1PutTimer",
    "v1PatchTimer",
    "v1EnableTimer",
    "v1BatchCreateTimers",
    "v1BatchEnableTimers",
    "v1FireTimer",
    "v1BackfillTimer",
    "v1PutCalendar",
    "v1ReplayFiring",
    "v1ReplayFirings",
    "v1ReplayDeadLetters",
    "v1DiscardDeadLetters",
    "v1EnableHost",
    "v1PutAlertRule",
    "v1TestAlertRule",
    "v1CreateApp",
    "v1PatchApp",
    "v1CreateAppKey",
    "v1CreateOperatorKey",
    "v1LimitHost",
    "v1Pause",
    "v1PutTarget",
    "v1PatchTarget",
}
# Of no app.
OPERATORS = {
    raw["operationId"]
    for methods in PATHS.values()
    for raw in methods.values()
    if raw["security"] and not OPERATOR_SCOPES.isdisjoint(raw["security"][0]["Key"])
}
# Of whoever has the token of a call: they need neither a key nor an app.
OF_A_CALL = {"v1AckFiring", "v1NackFiring", "v1HeartbeatFiring"}
BAD_BODIES = {
    "not JSON": (b"{'app': 1}", 400, 40001),
    "nothing": (b"", 400, 40001),
    "not UTF-8": (b'{"key":"\xe9"}', 400, 40001),
    "NaN": (b'{"key":NaN}', 400, 40001),
    "a list": (b"[]", 400, 40002),
    "a field twice": (b'{"key":1,"key":1}', 400, 40003),
    "more than any operation takes": (b" " * 9_000_000, 413, 41301),
}


@dataclass(frozen=True)
class Operation:
    """One operation; of its path's parameters, each has a value that stands for nothing."""

    label: str
    method: str
    rule: str
    takes_query: bool
    # Of its body; None: it takes none.
    schema: dict[str, Any] | None

    def send(self, world: V1World, body: Any = None, **options: Any) -> Answered:
        whole = body if body is not None or self.schema is None else sample(self.schema)
        return world.send(self.method, place(self.rule), whole, rule=self.rule, **options)


def place(rule: str) -> str:
    for name, value in PLACES.items():
        rule = rule.replace(name, value)
    return rule


OPERATIONS = [
    Operation(
        raw["operationId"],
        method.upper(),
        rule,
        any(one["in"] == "query" for one in raw.get("parameters", [])),
        raw["requestBody"]["content"]["application/json"]["schema"] if "requestBody" in raw else None,
    )
    for rule, methods in PATHS.items()
    for method, raw in methods.items()
]
OF_APPS = [one for one in OPERATIONS if one.label not in OPERATORS | OF_A_CALL]
OF_BODIES = [one for one in OPERATIONS if one.schema is not None]


def wrong(expected: Mapping[str, tuple[Any, ...]], seen: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    """Return what was seen of each operation that answered otherwise than it should."""
    assert expected.keys() == seen.keys()
    assert expected
    return {label: seen[label] for label in expected if seen[label] != expected[label]}


def named(refused: Answered, place: str) -> tuple[Any, ...]:
    """Return its status, its code and what it says to be at fault."""
    return (refused.status, refused.json["code"], refused.json.get(place))


def test_each_operation_but_the_operators_takes_an_app() -> None:
    taking = {
        raw["operationId"]
        for methods in PATHS.values()
        for raw in methods.values()
        if "WangTimer-App" in {one["name"] for one in raw.get("parameters", [])}
    }
    assert taking == {one.label for one in OF_APPS}


# Lists and counts of all apps are an operator's, as whom all tests call.
OVER_ALL_APPS = {
    "v1ListTimers",
    "v1ListFirings",
    "v1CountFirings",
    "v1ExportFirings",
    "v1ListDeadLetters",
    "v1CountDeadLetters",
}


def test_without_an_app_each_is_refused(small_world: V1World) -> None:
    seen = {
        one.label: named(one.send(small_world, app=None), "parameter")
        for one in OF_APPS
        if one.label not in OVER_ALL_APPS
    }
    assert not wrong(dict.fromkeys(seen, (400, 40005, "WangTimer-App")), seen)


@pytest.mark.parametrize("app", ["x" * 65, "a\tb"])
def test_a_bad_app_is_refused(small_world: V1World, app: str) -> None:
    seen = {one.label: named(one.send(small_world, app=app), "parameter") for one in OF_APPS}
    assert not wrong(dict.fromkeys(seen, (400, 40007, "WangTimer-App")), seen)


@pytest.mark.parametrize("fault", BAD_BODIES)
def test_a_bad_body_is_refused(small_world: V1World, fault: str) -> None:
    body, status, code = BAD_BODIES[fault]
    seen = {one.label: named(one.send(small_world, body), "parameter")[:2] for one in OF_BODIES}
    assert not wrong(dict.fromkeys(seen, (status, code)), seen)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_content_type_is_refused(small_world: V1World, content_type: str) -> None:
    seen = {
        one.label: named(one.send(small_world, b"{}", Content_Type=content_type), "parameter")[:2]
        for one in OF_BODIES
    }
    assert not wrong(dict.fromkeys(seen, (415, 41501)), seen)


def test_an_unknown_field_is_refused(small_world: V1World) -> None:
    seen = {
        one.label: named(one.send(small_world, sample(one.schema or {}) | {"nonsense": 1}), "pointer")
        for one in OF_BODIES
    }
    assert not wrong(dict.fromkeys(seen, (400, 40004, "/nonsense")), seen)


def test_an_unknown_parameter_is_refused(small_world: V1World) -> None:
    seen = {
        one.label: named(one.send(small_world, query={"nonsense": 1}), "parameter")
        for one in OPERATIONS
        if one.takes_query
    }
    assert not wrong(dict.fromkeys(seen, (400, 40004, "nonsense")), seen)


def test_a_callback_of_ours_may_not_act(small_world: V1World) -> None:
    answers = {
        one.label: one.send(small_world, webhook_id="1-2", X_WangTimer_Timer="1") for one in OPERATIONS
    }
    refused = {
        label
        for label, answered in answers.items()
        if answered.status == 400 and answered.json["code"] == 40013
    }
    assert refused == ACTING


def test_under_another_host_each_is_refused(small_world: V1World) -> None:
    """A web page may have led its own name here."""
    seen = {one.label: named(one.send(small_world, Host="evil.example"), "parameter") for one in OPERATIONS}
    assert not wrong(dict.fromkeys(seen, (400, 40011, "Host")), seen)


def test_every_breach_of_a_schema_is_refused_in_our_own_words(small_world: V1World) -> None:
    seen = 0
    for breach in every_breach(PATHS):
        headers = {name.replace("-", "_"): value for name, value in breach.fields.items()}
        of_header = headers if breach.part == "headers" else {}
        body = breach.fields if breach.part == "json" else None
        if of_header and "requestBody" in PATHS[breach.path][breach.method]:
            body = {"schedule": {"every": "1h"}, "target": {"url": "http://target.example/"}}
        answered = small_world.send(
            breach.method.upper(),
            place(breach.path),
            body,
            rule=breach.path,
            query=breach.fields if breach.part == "query" else None,
            app=of_header.pop("WangTimer_App", "shop"),
            **of_header,
        )
        # Of many new timers each is refused by itself.
        problem = answered.json["items"][0]["problem"] if answered.status == 200 else answered.json
        said = (breach.method, breach.path, breach.field, problem)
        assert problem["status"] == 400, said
        assert not PYDANTIC.search(problem["detail"]), said
        in_body = breach.part == "json"
        named = pointer(breach.field.removeprefix("timers.0.")) if in_body else breach.field
        assert problem["pointer" if in_body else "parameter"].startswith(named), said
        seen += 1
    assert seen > 100
