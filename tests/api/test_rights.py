"""Who may do what: every operation with every kind of key."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from tests.api.keyed_world import KeyedWorld
from tests.api.test_our_words import DOCUMENT, sample
from tests.api.world import World, present
from wangtimer.api.gate.rights import RIGHTS, Open, refuse_undeclared, routes_of
from wangtimer.core.apps.key_text import KeyText
from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES, OPERATOR_SCOPES, Scope
from wangtimer.core.errors import BadSetting

PLACES = {
    "which": "17",
    "firing_id": "17-1000",
    "name": "plant",
    "app": "plant",
    "key_id": "3kTMd8Qx9LbA",
}
OPERATIONS = [(route, right) for route, right in RIGHTS.items() if isinstance(right, Scope)]
OF_APPS = [(route, right) for route, right in OPERATIONS if right not in OPERATOR_SCOPES]
OF_OPERATORS = [(route, right) for route, right in OPERATIONS if right in OPERATOR_SCOPES]


def each(operations: list[tuple[str, Scope]]) -> Any:
    return pytest.mark.parametrize(("route", "scope"), [pytest.param(*one, id=one[0]) for one in operations])


@pytest.fixture
def keyed(sqlite_url: str, redis_url: str) -> Iterator[KeyedWorld]:
    world = KeyedWorld(sqlite_url, redis_url, present())
    world.app_of("shop")
    world.app_of("billing")
    yield world
    world.close()


def asked(world: KeyedWorld, route: str, key: str | None, app: str | None = None) -> tuple[int, int]:
    """Send a request that its models take, with an app if one is given; return its status and its code."""
    method, path = route.split(" ")
    operation = DOCUMENT["paths"].get(path, {}).get(method.lower(), {})
    for name, value in PLACES.items():
        path = path.replace(f"{{{name}}}", value)
    body = None
    if "requestBody" in operation:
        body = sample(operation["requestBody"]["content"]["application/json"]["schema"])
    query = {
        one["name"]: sample(one["schema"], one["name"])
        for one in operation.get("parameters", ())
        if one["in"] == "query" and one["required"]
    }
    of_header = path.startswith("/v1/")
    named = {} if app is None else {"app": app}
    if body is not None and "app" in body and not of_header:
        body = {name: value for name, value in body.items() if name != "app"} | named
    elif not of_header:
        query |= named
    headers = {"WangTimer-App": app} if of_header and app is not None else {}
    answer = world.ask(method, path, key, headers=headers, query_string=query, json=body)
    told = json.loads(answer.text) if answer.mimetype.endswith("json") else {}
    if answer.status_code == 401:
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    return answer.status_code, told.get("code", 0)


def test_every_route_declares_its_scope(small_world: World) -> None:
    assert routes_of(small_world.app.url_map) == set(RIGHTS)


def test_a_route_without_a_scope_stops_the_start() -> None:
    app = Flask("test", static_folder=None)
    app.add_url_rule("/healthz", endpoint="alive", view_func=str)
    refuse_undeclared(app.url_map)
    app.add_url_rule("/secrets/<string:name>", endpoint="secrets", view_func=str, methods=["GET", "POST"])
    with pytest.raises(BadSetting, match=r"GET /secrets/\{name\}, POST /secrets/\{name\}"):
        refuse_undeclared(app.url_map)


def test_only_pages_and_health_need_no_key() -> None:
    assert {route for route, right in RIGHTS.items() if isinstance(right, Open)} == {
        "GET /",
        "GET /docs",
        "GET /docs/errors",
        "GET /docs/assets/{name}",
        "GET /openapi.json",
        "GET /healthz",
        "GET /readyz",
    }


def test_every_operation_tells_its_scope_in_the_document() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            right = RIGHTS[f"{method.upper()} {path}"]
            wanted = [{"Key": [right.value]}] if isinstance(right, Scope) else operation["security"]
            assert operation["security"] == wanted, operation["operationId"]


@pytest.mark.parametrize("kind", ["none", "no bearer", "slip", "unknown", "revoked", "expired"])
def test_without_a_key_that_counts_nothing_is_done(keyed: KeyedWorld, kind: str) -> None:
    key: str | None = None
    match kind:
        case "no bearer":
            key = "x"
        case "slip":
            key = keyed.key("shop")[:-1] + "-"
        case "unknown":
            key = KeyText.new().text
        case "revoked":
            key = keyed.key(None)
            keyed.wiring.api_keys.revoke(None, key.split("_")[1], 1)
        case "expired":
            key = keyed.key(None, expires_at=keyed.clock.now)
    codes = {"none": 40101, "revoked": 40103, "expired": 40103}
    for route, _ in OPERATIONS:
        assert asked(keyed, route, key, "shop") == (401, codes.get(kind, 40102)), route


def test_a_key_needs_the_scope_of_the_operation(keyed: KeyedWorld) -> None:
    keys = {scope: keyed.key(None, ALL_SCOPES - {scope}) for scope in Scope}
    for route, scope in OPERATIONS:
        assert asked(keyed, route, keys[scope], "shop") == (403, 40301), route


def test_a_key_with_one_scope_has_its_operations(keyed: KeyedWorld) -> None:
    keys = {scope: keyed.key(None, frozenset({scope})) for scope in Scope}
    for route, scope in OPERATIONS:
        assert asked(keyed, route, keys[scope], "shop")[0] not in (401, 403), route


def test_an_apps_key_is_for_its_own_app_alone(keyed: KeyedWorld) -> None:
    key = keyed.key("billing")
    for route, _ in OF_APPS:
        if route.startswith("POST /v1/schedules"):
            continue
        assert asked(keyed, route, key, "shop") == (403, 40302), route
        assert asked(keyed, route, key, "nowhere") == (403, 40302), route


def test_an_apps_key_says_the_app(keyed: KeyedWorld) -> None:
    key = keyed.key("shop")
    for route, _ in OF_APPS:
        with_app, without = (asked(keyed, route, key, app) for app in ("shop", None))
        assert with_app[0] not in (401, 403), route
        assert without[0] == with_app[0], route


def test_an_apps_key_is_never_an_operators_whatever_its_row_says(keyed: KeyedWorld) -> None:
    key = keyed.key("shop", ALL_SCOPES)
    for route, _ in OF_OPERATORS:
        assert asked(keyed, route, key) == (403, 40301), route


def test_an_operator_may_do_everything_for_every_app(keyed: KeyedWorld) -> None:
    key = keyed.key(None)
    for route, _ in OPERATIONS:
        assert asked(keyed, route, key, "shop")[0] not in (401, 403), route


def test_a_misspelt_app_is_unknown_not_new(keyed: KeyedWorld) -> None:
    key = keyed.key(None)
    for route, _ in OF_APPS:
        if route.startswith("POST /v1/schedules"):
            continue
        assert asked(keyed, route, key, "shpo") == (404, 40405), route
    refused = keyed.ask("GET", "/v1/timers", key, headers={"WangTimer-App": "shpo"})
    assert json.loads(refused.text)["didYouMean"] == "shop"
    assert keyed.wiring.apps.names() == ["billing", "shop"]


def test_a_disabled_apps_keys_are_refused_and_operators_change_nothing_of_it(keyed: KeyedWorld) -> None:
    own, operators = keyed.key("shop"), keyed.key(None)
    keyed.wiring.apps.change("shop", keyed.clock.now, {}, is_disabled=True)
    for route, scope in OF_APPS:
        assert asked(keyed, route, own) == (403, 40303), route
        if route.startswith("POST /v1/schedules"):
            continue
        changes = scope in (Scope.TIMERS_WRITE, Scope.FIRINGS_ACT, Scope.CALENDARS_WRITE)
        assert (asked(keyed, route, operators, "shop") == (403, 40303)) == changes, route


def test_health_says_nothing_of_addresses_to_those_without_scope(keyed: KeyedWorld) -> None:
    def away() -> None:
        raise OSError("db.internal:3306 is gone")

    vars(keyed.wiring)["check_sql"] = away
    seen = {
        who: json.loads(keyed.ask("GET", "/readyz", key).text)["data"]["sql"]
        for who, key in {
            "nobody": None,
            "app": keyed.key("shop"),
            "operator": keyed.key(None, frozenset({Scope.METRICS_READ})),
        }.items()
    }
    assert seen["nobody"] == seen["app"] == {"ok": False, "error": ""}
    assert seen["operator"]["error"]
    assert keyed.ask("GET", "/healthz", None).status_code == 200
    assert keyed.ask("GET", "/metrics", None).status_code == 401


def test_without_any_key_each_answer_says_how_the_first_is_made(sqlite_url: str, redis_url: str) -> None:
    world = KeyedWorld(sqlite_url, redis_url, present())
    try:
        refused = world.ask("GET", "/v1/timers", None)
        assert "wangtimer keys create --database --operator" in json.loads(refused.text)["detail"]
        world.key(None)
        assert "Bearer" in json.loads(world.ask("GET", "/v1/timers", None).text)["detail"]
    finally:
        world.close()


def test_a_foreign_timer_and_an_unknown_one_are_the_same(keyed: KeyedWorld) -> None:
    shop, billing = keyed.key("shop"), keyed.key("billing")
    body = {"key": "order-42", "schedule": {"every": "5m"}, "target": {"url": "http://t.example/"}}
    made = json.loads(keyed.ask("POST", "/v1/timers", shop, json=body).text)
    fired = keyed.ask("POST", f"/v1/timers/{made['id']}:fire", shop, json={})
    assert fired.status_code in (200, 201, 202), fired.text
    foreign, unknown = str(made["id"]), str(made["id"] + 1)
    whole = {"schedule": {"every": "5m"}, "target": {"url": "http://t.example/"}}
    span = {"since": "2026-01-01T00:00:00Z", "until": "2026-01-01T01:00:00Z"}
    for method, path, sent in (
        ("GET", "/v1/timers/{}", None),
        ("PUT", "/v1/timers/{}", whole),
        ("PATCH", "/v1/timers/{}", {"tags": ["a"]}),
        ("DELETE", "/v1/timers/{}", None),
        ("POST", "/v1/timers/{}:enable", None),
        ("POST", "/v1/timers/{}:disable", None),
        ("POST", "/v1/timers/{}:fire", {}),
        ("POST", "/v1/timers/{}:backfill", span),
        ("GET", "/v1/firings/{}-1000", None),
        ("POST", "/v1/firings/{}-1000:cancel", None),
        ("POST", "/v1/firings/{}-1000:replay", None),
        ("GET", "/api/timer/v1/def?id={}", None),
        ("GET", "/api/task/v1/records?id={}", None),
    ):
        told = [
            keyed.ask(method, path.format(one), billing, json=sent).text.replace(one, "ID")
            for one in (foreign, unknown)
        ]
        assert told[0] == told[1], (method, path)
        assert json.loads(told[0])["code"] in (40401, 40007), (method, path, told[0])
    assert json.loads(keyed.ask("GET", f"/v1/timers/{foreign}", shop).text)["key"] == "order-42"


@pytest.mark.parametrize(
    ("networks", "sender", "status"),
    [
        ("", "10.1.2.3", 401),
        ("10.1.0.0/16", "10.1.2.3", 200),
        ("fd00::/8, 10.1.0.0/16", "10.1.2.3", 200),
        ("10.1.0.0/16", "10.2.2.3", 401),
    ],
)
def test_a_trusted_network_needs_no_key_on_the_compatible_paths(
    sqlite_url: str, redis_url: str, networks: str, sender: str, status: int
) -> None:
    world = KeyedWorld(sqlite_url, redis_url, present(), compat_trusted_networks=networks)
    try:
        world.app_of("shop")
        at = {"REMOTE_ADDR": sender}

        def ask(path: str, key: str | None = None) -> int:
            return world.ask("GET", path, key, environ_overrides=at).status_code

        assert ask("/api/timer/v1/defs?app=shop") == status
        assert ask("/api/timer/v1/defs?app=nowhere") == (404 if status == 200 else 401)
        assert ask("/v1/timers") == 401
        assert ask("/metrics") == 401
        assert ask("/api/timer/v1/load") == (403 if status == 200 else 401)
        # A key that is sent counts, also where none is needed.
        assert ask("/api/timer/v1/defs?app=shop", "wtk_bad") == 401
    finally:
        world.close()


def test_scopes_are_either_an_apps_or_an_operators() -> None:
    assert APP_SCOPES | OPERATOR_SCOPES == ALL_SCOPES
    assert not APP_SCOPES & OPERATOR_SCOPES
