"""Who may do what: every operation with every kind of key."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from structlog.testing import capture_logs

from tests.api.keyed_world import KeyedWorld
from tests.api.sample_requests import sample_request
from tests.api.test_our_words import DOCUMENT
from tests.api.world import World, present
from tests.store.members import outcome_of
from wangtimer.api.access.gate import warn_of_no_key
from wangtimer.api.access.rights import RIGHTS, Open, refuse_undeclared, routes_of
from wangtimer.client.values import moment_ms
from wangtimer.core.apps.described_limits import AppLimit
from wangtimer.core.apps.key_text import KeyText
from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES, OPERATOR_SCOPES, Scope
from wangtimer.core.errors import BadSetting
from wangtimer.core.flow.firing import FiringStatus, Member

NO_LIMITS = dict.fromkeys(AppLimit)
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
    sent = sample_request(route, app)
    answer = world.ask(
        sent.method, sent.path, key, headers=sent.headers, query_string=sent.query, json=sent.body
    )
    is_json = answer.mimetype in ("application/json", "application/problem+json")
    told = json.loads(answer.text) if is_json and answer.text else {}
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


def test_only_pages_health_and_who_has_the_token_of_a_call_need_no_key() -> None:
    assert {route for route, right in RIGHTS.items() if isinstance(right, Open)} == {
        "GET /",
        "GET /docs",
        "GET /docs/errors",
        "GET /docs/assets/{name}",
        "GET /openapi.json",
        "GET /healthz",
        "GET /readyz",
        *(f"POST /v1/firings/{{firing_id}}:{verb}" for verb in ("ack", "nack", "heartbeat")),
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
        found = [asked(keyed, route, key, app) for app in ("shop", None)]
        for status, _ in found:
            assert status not in (401, 403), route
        # What is asked of a batch is not named in either.
        assert (found[0][1] == 40005) == (found[1][1] == 40005), route


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
        changes = scope in (
            Scope.TIMERS_WRITE,
            Scope.FIRINGS_ACT,
            Scope.CALENDARS_WRITE,
            Scope.SIGNING_WRITE,
            Scope.TARGETS_WRITE,
        )
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
        with capture_logs() as lines:
            warn_of_no_key(world.wiring)
            assert [line["event"] for line in lines] == ["no_api_key"]
            world.key(None)
            warn_of_no_key(world.wiring)
            assert len(lines) == 1
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
        answer = json.loads(told[0])
        # A replay tells of each firing that it did not replay.
        assert answer.get("code") == 40401 or answer.get("replayed") == 0, (method, path, told[0])
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
        assert ask("/v1/load:allApps") == 401
        # A key that is sent counts, also where none is needed.
        assert ask("/api/timer/v1/defs?app=shop", "wtk_bad") == 401
    finally:
        world.close()


@pytest.mark.parametrize(
    ("sent", "said"),
    [("sk_live_1", "those begin with wtk_"), ('"wtk_1"', "begin with wtk_"), ("wtk_1", "has a slip")],
)
def test_what_is_no_key_of_this_service_is_told_from_one_with_a_slip(
    keyed: KeyedWorld, sent: str, said: str
) -> None:
    keyed.key(None)
    refused = keyed.ask("GET", "/v1/timers", sent)
    assert (refused.status_code, refused.json["code"], said in refused.json["detail"]) == (401, 40102, True)


@pytest.mark.parametrize(
    ("forwarded", "status"),
    [
        (None, 200),
        ("10.1.2.3", 200),
        ("8.8.8.8", 401),
        # The client wrote the first one itself.
        ("10.1.2.3, 8.8.8.8", 401),
        ("8.8.8.8, 10.1.2.3", 200),
    ],
)
def test_behind_a_trusted_proxy_the_sender_must_be_in_a_trusted_network_too(
    sqlite_url: str, redis_url: str, forwarded: str | None, status: int
) -> None:
    world = KeyedWorld(
        sqlite_url,
        redis_url,
        present(),
        compat_trusted_networks="172.20.0.0/16,10.1.0.0/16",
        trusted_proxies="172.20.0.0/16",
    )
    try:
        world.app_of("shop")
        headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
        at = {"REMOTE_ADDR": "172.20.0.5"}
        answer = world.ask("GET", "/api/timer/v1/defs?app=shop", None, headers, environ_overrides=at)
        assert answer.status_code == status
    finally:
        world.close()


def test_who_may_write_timers_may_not_take_over_their_signatures(keyed: KeyedWorld) -> None:
    timers, signing = (
        keyed.key("shop", frozenset({one})) for one in (Scope.TIMERS_WRITE, Scope.SIGNING_WRITE)
    )
    for method, path, body in (
        ("POST", "/v1/signing-secrets", {"overlap": "0s"}),
        ("PATCH", "/v1/signing-secrets", {"enabled": False}),
        ("DELETE", "/v1/signing-secrets/1", None),
    ):
        refused = keyed.ask(method, path, timers, json=body)
        assert (refused.status_code, "signing:write" in refused.text) == (403, True)
        assert keyed.ask(method, path, signing, json=body).status_code in (200, 201, 404, 409)
    assert keyed.ask("POST", "/v1/timers", signing, json={}).status_code == 403


def test_who_may_write_timers_may_not_say_where_targets_are(keyed: KeyedWorld) -> None:
    timers, targets = (
        keyed.key("shop", frozenset({one})) for one in (Scope.TIMERS_WRITE, Scope.TARGETS_WRITE)
    )
    body = {"url": "http://shop.example/"}
    for method, given in (("PUT", body), ("PATCH", body), ("DELETE", None)):
        refused = keyed.ask(method, "/v1/targets/orders", timers, json=given)
        assert (refused.status_code, "targets:write" in refused.text) == (403, True)
        assert keyed.ask(method, "/v1/targets/orders", targets, json=given).status_code in (200, 201, 204)
    assert keyed.ask("GET", "/v1/targets", targets).status_code == 403


def test_scopes_are_either_an_apps_or_an_operators() -> None:
    assert APP_SCOPES | OPERATOR_SCOPES == ALL_SCOPES
    assert not APP_SCOPES & OPERATOR_SCOPES


def test_an_operator_sees_all_apps_at_once_and_an_app_its_own(keyed: KeyedWorld) -> None:
    keys = {app: keyed.key(app) for app in ("shop", "billing")}
    for app, key in keys.items():
        body = {"key": app, "schedule": {"every": "5m"}, "target": {"url": "http://t.example/"}}
        made = json.loads(keyed.ask("POST", "/v1/timers", key, json=body).text)
        assert keyed.ask("POST", f"/v1/timers/{made['id']}:fire", key, json={}).status_code < 300
        listed = json.loads(keyed.ask("GET", f"/v1/firings?until={keyed.clock.now + 10_000}", key).text)
        keyed.wiring.firings.settle(
            [
                outcome_of(Member(one["timerId"], moment_ms(one["fireAt"]), 1), FiringStatus.FAILED)
                for one in listed["items"]
            ]
        )
    operators = keyed.key(None)

    def apps_in(path: str, key: str) -> list[str]:
        answer = keyed.ask("GET", path, key)
        assert answer.status_code == 200, answer.text
        return sorted(one["app"] for one in json.loads(answer.text)["items"])

    until = f"until={keyed.clock.now + 10_000}"
    for path in ("/v1/timers", f"/v1/firings?{until}", "/v1/dead-letters"):
        assert set(apps_in(path, operators)) == {"billing", "shop"}
        assert set(apps_in(path, keys["shop"])) == {"shop"}
    counts = [
        sum(json.loads(keyed.ask("GET", f"/v1/firings:count?{until}", key).text).values())
        for key in (operators, *keys.values())
    ]
    assert counts[0] == counts[1] + counts[2]
    first = json.loads(keyed.ask("GET", "/v1/timers?limit=1", operators).text)
    assert apps_in(f"/v1/timers?limit=1&cursor={first['nextCursor']}", operators)
    letters = [
        json.loads(keyed.ask("GET", "/v1/dead-letters:count", key).text)["total"]
        for key in (operators, *keys.values())
    ]
    assert letters[0] == letters[1] + letters[2] > letters[1] > 0
    first = json.loads(keyed.ask("GET", "/v1/dead-letters?limit=1", operators).text)
    assert apps_in(f"/v1/dead-letters?limit=1&cursor={first['nextCursor']}", operators)
    for path in (
        *("/v1/timers?tag=a", "/v1/timers?sort=key", "/v1/timers?host=a", "/v1/firings?tag=a"),
        *("/v1/firings?timer=key:a", "/v1/dead-letters?timer=key:a"),
    ):
        assert keyed.ask("GET", path, operators).status_code == 400, path


def test_operators_make_limit_and_disable_apps(keyed: KeyedWorld) -> None:
    operators = keyed.key(None)

    def ask(method: str, path: str, body: Any = None, status: int = 200) -> Any:
        answer = keyed.ask(method, path, operators, json=body)
        assert answer.status_code == status, answer.text
        return json.loads(answer.text)

    made = ask("POST", "/v1/apps", {"name": "ads", "limits": {"callsPerSecond": 9}}, 201)
    assert made["limits"] == NO_LIMITS | {"callsPerSecond": 9}
    assert ask("POST", "/v1/apps", {"name": "ads"}, 409)["code"] == 40902
    for limits in ({"callsPerSecond": 0}, {"callsPerMinute": 1}):
        ask("PATCH", "/v1/apps/ads", {"limits": limits}, 400)
    changed = ask("PATCH", "/v1/apps/ads", {"limits": {"callsPerSecond": None, "callsAtOnce": 3}})
    assert (changed["limits"], changed["enabledTimers"]) == (NO_LIMITS | {"callsAtOnce": 3}, None)
    key = ask("POST", "/v1/apps/ads/keys", {"name": "ads"}, 201)["key"]
    body = {"key": "a", "schedule": {"every": "5m"}, "target": {"url": "http://t.example/"}}
    assert keyed.ask("POST", "/v1/timers", key, json=body).status_code == 201
    disabled = ask("PATCH", "/v1/apps/ads", {"disabled": True})
    assert (disabled["enabledTimers"], disabled["disabledAt"] is None) == (0, False)
    (timer,) = json.loads(keyed.ask("GET", "/v1/timers", operators, headers={"WangTimer-App": "ads"}).text)[
        "items"
    ]
    assert timer["status"] == "disabled"
    assert ask("PATCH", "/v1/apps/ads", {"disabled": False})["disabledAt"] is None
    assert [one["name"] for one in ask("GET", "/v1/apps?limit=1")["items"]] == ["ads"]
    assert ask("GET", "/v1/apps/adds", status=404)["didYouMean"] == "ads"


def test_a_key_is_shown_once_and_revoked_for_good(keyed: KeyedWorld) -> None:
    operators = keyed.key(None)
    for path, app in (("/v1/apps/shop/keys", "shop"), ("/v1/operator-keys", None)):
        made = json.loads(keyed.ask("POST", path, operators, json={"name": "a"}).text)
        assert (made["app"], made["key"].startswith(f"wtk_{made['id']}_")) == (app, True)
        listed = keyed.ask("GET", path, operators).text
        assert made["id"] in listed
        assert made["key"] not in listed
        assert keyed.ask("GET", "/v1/timers", made["key"]).status_code == 200
        assert keyed.ask("DELETE", f"{path}/{made['id']}", operators).status_code == 200
        assert keyed.ask("DELETE", f"{path}/{made['id'][:-1]}-", operators).status_code == 404
        found = keyed.wiring.api_keys.find(made["id"])
        assert found is not None
        assert found.key.revoked_at is not None


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": "a", "scopes": ["timers:reed"]}, "/scopes/0"),
        ({"name": "a", "scopes": ["timers:read", "apps:admin"]}, "/scopes/1"),
        ({"name": "a", "scopes": []}, "/scopes"),
        ({"name": "a", "expiresAt": "2020-01-01T00:00:00Z"}, "/expiresAt"),
        ({"name": " a"}, "/name"),
        ({}, "/name"),
    ],
)
def test_a_key_that_cannot_be_is_refused(keyed: KeyedWorld, body: dict[str, Any], pointer: str) -> None:
    refused = keyed.ask("POST", "/v1/apps/shop/keys", keyed.key(None), json=body)
    told = json.loads(refused.text)
    assert (refused.status_code, told.get("pointer")) == (400, pointer), told
