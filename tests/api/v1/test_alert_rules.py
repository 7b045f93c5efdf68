"""Rules of alerts over v1: what they say, what is refused, and what of them is shown."""

from contextlib import closing
from typing import Any, get_args

import pytest

from tests.api.v1.world import Answered, V1World
from tests.api.world import present
from wangtimer.api.v1.alert_routes import KindWord
from wangtimer.core.alerts.alert_rule import MOST_RULES, DestinationKind

RULE = "/v1/alert-rules/{name}"
HOOK = {"kind": "webhook", "url": "https://shop.example/alerts?token=hush"}
ROBOT = {
    "kind": "dingtalk",
    "url": "https://oapi.dingtalk.com/robot/send?access_token=hush",
    "secret": "SEChush",
}


def put(world: V1World, name: str = "ops", app: str = "shop", **fields: Any) -> Answered:
    body = {"events": ["failed_for_good"], "destination": HOOK} | fields
    return world.send("PUT", f"/v1/alert-rules/{name}", body, rule=RULE, app=app)


def listed(world: V1World, app: str = "shop") -> list[Any]:
    found: list[Any] = world.send("GET", "/v1/alert-rules", app=app).json["items"]
    return found


def stored(world: V1World, name: str = "ops") -> Any:
    found = world.wiring.alert_rules.get("shop", name)
    assert found is not None
    return found


def test_a_rule_is_made_replaced_listed_and_deleted(small_world: V1World) -> None:
    world = small_world
    made = put(world, failuresInARow=3, lateBy="30s", keyPrefix="bill-", repeatAfter="1h")
    assert made.status == 201
    assert (made.json["failuresInARow"], made.json["lateBy"], made.json["repeatAfter"]) == (3, "30s", "1h")
    assert (made.json["keyPrefix"], made.json["events"]) == ("bill-", ["failed_for_good"])
    assert made.json["per"] == "host"
    assert (made.json["lastToldAt"], made.json["lastError"]) == (None, "")
    again = put(world, events=["missed", "recovered"], per="timer")
    assert again.json["per"] == "timer"
    assert (again.status, again.json["failuresInARow"], again.json["lateBy"]) == (200, None, None)
    assert listed(world) == [again.json]
    assert listed(world, "bank") == []
    assert world.send("DELETE", "/v1/alert-rules/ops", rule=RULE, app="bank").json["code"] == 40410
    assert world.send("DELETE", "/v1/alert-rules/ops", rule=RULE).status == 204
    assert world.send("DELETE", "/v1/alert-rules/ops", rule=RULE).status == 404


def test_neither_the_key_in_a_url_nor_a_secret_is_shown_and_both_stay_as_shown(small_world: V1World) -> None:
    made = put(small_world, destination=ROBOT)
    assert made.json["destination"] == {
        "kind": "dingtalk",
        "url": "https://oapi.dingtalk.com/***",
        "secret": "***",
        "to": [],
    }
    shown = {name: made.json["destination"][name] for name in ROBOT}
    for url in (shown["url"], "https://oapi.dingtalk.com:443/***"):
        assert put(small_world, destination=shown | {"url": url}).status == 200
    to = stored(small_world).destination
    assert (to.url, to.secret) == (ROBOT["url"], ROBOT["secret"])


@pytest.mark.parametrize(
    ("destination", "pointer"),
    [
        ({"secret": "***", "url": "https://evil.example/"}, "/destination/secret"),
        ({"url": "https://evil.example:443/***"}, "/destination/url"),
        ({"url": "https://oapi.dingtalk.com:8443/***"}, "/destination/url"),
        ({"url": "http://oapi.dingtalk.com/***"}, "/destination/url"),
        ({"url": "https://oapi.dingtalk.com/***/more"}, "/destination/url"),
        ({"kind": "feishu", "secret": "***"}, "/destination/secret"),
    ],
)
def test_what_is_kept_goes_nowhere_else(
    small_world: V1World, destination: dict[str, str], pointer: str
) -> None:
    put(small_world, destination=ROBOT)
    refused = put(small_world, destination=ROBOT | destination)
    assert (refused.status, refused.json["pointer"]) == (400, pointer)


@pytest.mark.parametrize(
    ("fields", "code", "pointer"),
    [
        ({"events": []}, 40005, "/events"),
        ({"events": ["recovered"]}, 40005, "/events"),
        ({"events": ["succeeded"]}, 40007, "/events/0"),
        ({"per": "app"}, 40007, "/per"),
        ({"failuresInARow": 1}, 40007, "/failuresInARow"),
        ({"lateBy": "5 minutes"}, 40007, "/lateBy"),
        ({"lateBy": "1ms"}, 40007, "/lateBy"),
        ({"repeatAfter": "1s"}, 40007, "/repeatAfter"),
        ({"destination": {"kind": "webhook"}}, 40005, "/destination/url"),
        ({"destination": {"kind": "mail", "url": "https://a.example/"}}, 40005, "/destination/to"),
        ({"destination": HOOK | {"to": ["a@b.example"]}}, 40007, "/destination/to"),
        ({"destination": HOOK | {"secret": "s"}}, 40007, "/destination/secret"),
        ({"destination": HOOK | {"url": "ftp://a.example/"}}, 40009, "/destination/url"),
        ({"destination": {"kind": "pigeon", "url": "https://a.example/"}}, 40007, "/destination/kind"),
        ({"destination": {"kind": "mail", "to": ["a@b.example"]}}, 40007, "/destination/kind"),
    ],
)
def test_what_is_wrong_with_a_rule_is_pointed_at(
    small_world: V1World, fields: dict[str, Any], code: int, pointer: str
) -> None:
    refused = put(small_world, **fields)
    assert (refused.status, refused.json["code"], refused.json["pointer"]) == (400, code, pointer)
    assert listed(small_world) == []


@pytest.mark.parametrize(("event", "field"), [("late", "lateBy"), ("failures_in_a_row", "failuresInARow")])
def test_an_event_with_a_field_of_its_own_is_refused_by_the_fields_name(
    small_world: V1World, event: str, field: str
) -> None:
    refused = put(small_world, events=[event])
    assert (refused.status, refused.json["code"]) == (400, 40007)
    assert refused.json["pointer"].startswith("/events")
    assert field in refused.json["detail"]


def test_an_app_has_so_many_rules_and_no_more(small_world: V1World) -> None:
    for number in range(MOST_RULES):
        assert put(small_world, f"r{number}").status == 201
    assert put(small_world, "more").status == 409
    assert put(small_world, "r3").status == 200


def test_callback_processes_are_told_of_a_rule_at_once(small_world: V1World) -> None:
    put(small_world, lateBy="5s")
    told = small_world.wiring.alerted_replica.read()
    assert told is not None
    assert told.late_ms == {"shop": 5_000}
    small_world.send("DELETE", "/v1/alert-rules/ops", rule=RULE)
    told = small_world.wiring.alerted_replica.read()
    assert told is not None
    assert told.late_ms == {}


def test_a_test_that_nobody_sends_says_so(small_world: V1World) -> None:
    put(small_world)
    found = small_world.send("POST", "/v1/alert-rules/ops:test", rule=f"{RULE}:test")
    assert (found.status, found.json["isTaken"]) == (200, None)
    assert "callback process" in found.json["error"]
    unknown = small_world.send("POST", "/v1/alert-rules/nobody:test", rule=f"{RULE}:test")
    assert (unknown.status, unknown.json["code"]) == (404, 40410)


@pytest.mark.parametrize("kind", ["webhook", "wecom", "slack"])
@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[::1]", "127.0.0.1:6379"])
def test_where_calls_may_not_go_no_rule_leads(sqlite_url: str, redis_url: str, kind: str, host: str) -> None:
    with closing(V1World(sqlite_url, redis_url, present(), egress="public")) as world:
        world.wiring.database.create_tables()
        refused = put(world, destination={"kind": kind, "url": f"http://{host}/"})
        assert (refused.status, refused.json["code"]) == (400, 40009)
        assert refused.json["pointer"] == "/destination/url"


def test_mail_is_taken_where_the_operator_has_a_sender(sqlite_url: str, redis_url: str) -> None:
    with closing(V1World(sqlite_url, redis_url, present(), smtp_sender="alerts@wangtimer.example")) as world:
        world.wiring.database.create_tables()
        made = put(world, destination={"kind": "mail", "to": ["ops@shop.example"]})
        assert made.json["destination"] == {
            "kind": "mail",
            "url": None,
            "secret": None,
            "to": ["ops@shop.example"],
        }
        bad = put(world, destination={"kind": "mail", "to": ["a@b.example", "Ops <ops@shop.example>"]})
        assert (bad.status, bad.json["pointer"]) == (400, "/destination/to/1")


def test_kinds_are_those_of_the_api() -> None:
    assert set(get_args(KindWord)) == {one.value for one in DestinationKind}
