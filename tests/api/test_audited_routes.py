"""Each route that changes something leaves an entry of the audit, with who asked; operators read them."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, get_args

import pytest
import trustme

from tests.api.keyed_world import KeyedWorld
from tests.api.world import URL, definition, present
from tests.certificates import pair_of
from tests.store.members import outcome_of, row_at
from wangtimer.api.access.rights import RIGHTS
from wangtimer.api.v1.apps.audit_routes import AuditedKindWord
from wangtimer.core.apps.audited_change import AuditedKind
from wangtimer.core.apps.scopes import CHANGING_SCOPES, Scope
from wangtimer.core.flow.disabled_hosts import DisabledHost
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.store.sql.audit import AuditFilter
from wangtimer.store.sql.firings import insert_missing

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
BEFORE = 2 * HOUR_MS
SCHEDULE = {"cron": "* * * * *"}
TARGET = {"url": f"{URL}?token=hush", "headers": {"Authorization": "hush"}, "body": "hush"}
DAYS = {"days": ["2027-01-01"]}
RULE = {"events": ["failed_for_good"], "destination": {"kind": "webhook", "url": f"{URL}?token=hush"}}


class Day:
    """An app's timers, `off` and `on`, a calendar, a failed and a coming firing, and keys, all made by nobody."""

    def __init__(self, world: KeyedWorld) -> None:
        self.world = world
        self.shop, self.operator = world.app_of("shop"), world.key(None)
        self.off, self.on = (self._made(key, key == "on") for key in ("off", "on"))
        self.failed = self._failed_at(self._minute - 30 * MINUTE_MS)
        self.coming = self._minute + 5 * MINUTE_MS
        self.ask("PUT", "/v1/calendars/plant", DAYS)
        self.ask("PUT", "/v1/targets/orders", TARGET)
        self.ask("PUT", "/v1/alert-rules/on-call", RULE)
        world.app_of("bank")
        self.key_id = self._key_made("/v1/apps/bank/keys")
        self.operator_key_id = self._key_made("/v1/operator-keys")
        self.ask("PUT", "/v1/client-certificate", certificate("before"))
        self.former_secret_id = self._rotated()
        self.ask("PUT", "/v1/pauses/app:bank", {}, self.operator)
        self.ask("PUT", "/v1/host-limits/*", {"callsAtOnce": 9}, self.operator)
        self._rotated()
        world.wiring.disabled_hosts.disable(
            [DisabledHost("shop", "http://away.test:80", 1, 2, 2, "HTTP 503")], 1
        )
        world.wiring.database.write(lambda sql: sql.exec_driver_sql("DELETE FROM audit"))

    @property
    def _minute(self) -> int:
        return self.world.clock.now // MINUTE_MS * MINUTE_MS

    @property
    def old(self) -> dict[str, Any]:
        """The range of a backfill."""
        return {"since": self._minute - BEFORE, "until": self._minute - BEFORE + 2 * MINUTE_MS}

    def ask(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """Send a request, with the app's key unless another one is given; return what it answers."""
        answer = self.world.ask(method, path, key or self.shop, json=body)
        assert answer.status_code < 300, answer.text
        return json.loads(answer.text or "null")

    def _made(self, key: str, enabled: bool) -> int:
        body = {"key": key, "schedule": SCHEDULE, "target": TARGET, "enabled": enabled}
        return int(self.ask("POST", "/v1/timers", body)["id"])

    def _failed_at(self, moment: int) -> int:
        row = row_at(moment, self.on)
        self.world.wiring.database.write(lambda sql: insert_missing(sql, [row]))
        self.world.wiring.firings.settle([outcome_of(row.member, FiringStatus.FAILED)])
        return moment

    def _rotated(self) -> int:
        secrets = self.ask("POST", "/v1/signing-secrets", {})["secrets"]
        return int(secrets[-1]["id"])

    def _key_made(self, path: str) -> str:
        return str(self.ask("POST", path, {"name": "till"}, self.operator)["id"])


@cache
def certificate(name: str) -> dict[str, str]:
    chain, key = pair_of(trustme.CA(), name)
    return {"certificate": chain, "privateKey": key}


Request = tuple[str, Any]
# What each route is sent, and what it leaves: kind and action of its entries.
ROUTES: dict[str, tuple[Callable[[Day], Request], list[tuple[str, str]]]] = {
    "POST /v1/timers": (
        lambda day: ("/v1/timers", {"key": "new", "schedule": SCHEDULE, "target": TARGET}),
        [("timer", "create")],
    ),
    "PUT /v1/timers/{which}": (
        lambda day: ("/v1/timers/key:off", {"schedule": SCHEDULE, "target": TARGET, "tags": ["a"]}),
        [("timer", "edit")],
    ),
    "PATCH /v1/timers/{which}": (lambda day: (f"/v1/timers/{day.on}", {"tags": ["a"]}), [("timer", "edit")]),
    "DELETE /v1/timers/{which}": (lambda day: (f"/v1/timers/{day.on}", None), [("timer", "delete")]),
    "POST /v1/timers/{which}:enable": (
        lambda day: (f"/v1/timers/{day.off}:enable", None),
        [("timer", "enable")],
    ),
    "POST /v1/timers/{which}:disable": (
        lambda day: (f"/v1/timers/{day.on}:disable", None),
        [("timer", "disable")],
    ),
    "POST /v1/timers:batchCreate": (
        lambda day: (
            "/v1/timers:batchCreate",
            {"timers": [{"key": key, "schedule": SCHEDULE, "target": TARGET} for key in "ab"]},
        ),
        [("timer", "create")] * 2,
    ),
    "POST /v1/timers:batchEnable": (
        lambda day: ("/v1/timers:batchEnable", {"keys": ["off", "on"]}),
        [("timer", "enable")],
    ),
    "POST /v1/timers:batchDisable": (
        lambda day: ("/v1/timers:batchDisable", {"keys": ["off", "on"]}),
        [("timer", "disable")],
    ),
    "POST /v1/timers:batchDelete": (
        lambda day: ("/v1/timers:batchDelete", {"keys": ["off", "on"]}),
        [("timer", "delete")] * 2,
    ),
    "POST /v1/timers/{which}:fire": (lambda day: (f"/v1/timers/{day.off}:fire", None), [("firing", "fire")]),
    "POST /v1/timers/{which}:backfill": (
        lambda day: (f"/v1/timers/{day.on}:backfill", day.old),
        [("firing", "backfill")] * 2,
    ),
    "POST /v1/firings/{firing_id}:cancel": (
        lambda day: (f"/v1/firings/{day.on}-{day.coming}:cancel", None),
        [("firing", "cancel")],
    ),
    "POST /v1/firings/{firing_id}:replay": (
        lambda day: (f"/v1/firings/{day.on}-{day.failed}:replay", None),
        [("firing", "replay")],
    ),
    "POST /v1/firings:replay": (
        lambda day: ("/v1/firings:replay", {"since": day.failed}),
        [("firing", "replay")],
    ),
    "POST /v1/dead-letters:replay": (
        lambda day: ("/v1/dead-letters:replay", {"ids": [f"{day.on}-{day.failed}"]}),
        [("firing", "replay")],
    ),
    "POST /v1/dead-letters:discard": (
        lambda day: ("/v1/dead-letters:discard", {"since": day.failed}),
        [("firing", "discard")],
    ),
    "PUT /v1/calendars/{name}": (
        lambda day: ("/v1/calendars/plant", {"days": ["2027-01-02"]}),
        [("calendar", "edit")],
    ),
    "DELETE /v1/calendars/{name}": (lambda day: ("/v1/calendars/plant", None), [("calendar", "delete")]),
    "PUT /v1/targets/{name}": (
        lambda day: ("/v1/targets/bills", TARGET),
        [("target", "create")],
    ),
    "PATCH /v1/targets/{name}": (
        lambda day: ("/v1/targets/orders", {"method": "PUT"}),
        [("target", "edit")],
    ),
    "DELETE /v1/targets/{name}": (lambda day: ("/v1/targets/orders", None), [("target", "delete")]),
    "PUT /v1/alert-rules/{name}": (
        lambda day: ("/v1/alert-rules/on-call", RULE | {"lateBy": "5s"}),
        [("alert_rule", "edit")],
    ),
    "DELETE /v1/alert-rules/{name}": (
        lambda day: ("/v1/alert-rules/on-call", None),
        [("alert_rule", "delete")],
    ),
    "POST /v1/signing-secrets": (
        lambda day: ("/v1/signing-secrets", {"overlap": "0s"}),
        [("signing", "create")],
    ),
    "PATCH /v1/signing-secrets": (
        lambda day: ("/v1/signing-secrets", {"enabled": False}),
        [("signing", "disable")],
    ),
    "DELETE /v1/signing-secrets/{secret_id}": (
        lambda day: (f"/v1/signing-secrets/{day.former_secret_id}", None),
        [("signing", "revoke")],
    ),
    "PUT /v1/client-certificate": (
        lambda day: ("/v1/client-certificate", certificate("new")),
        [("certificate", "edit")],
    ),
    "DELETE /v1/client-certificate": (
        lambda day: ("/v1/client-certificate", None),
        [("certificate", "delete")],
    ),
    "POST /v1/failing-hosts:enable": (
        lambda day: ("/v1/failing-hosts:enable", {"host": "http://away.test:80"}),
        [("host", "enable")],
    ),
    "PUT /v1/host-limits/{host}": (
        lambda day: ("/v1/host-limits/shop.test:443", {"callsAtOnce": 5}),
        [("host", "create")],
    ),
    "DELETE /v1/host-limits/{host}": (lambda day: ("/v1/host-limits/*", None), [("host", "delete")]),
    "PUT /v1/pauses/{what}": (lambda day: ("/v1/pauses/app:shop", {}), [("app", "pause")]),
    "DELETE /v1/pauses/{what}": (lambda day: ("/v1/pauses/app:bank", None), [("app", "resume")]),
    "POST /v1/apps": (lambda day: ("/v1/apps", {"name": "ads"}), [("app", "create")]),
    "PATCH /v1/apps/{name}": (
        lambda day: ("/v1/apps/shop", {"disabled": True}),
        [("app", "disable"), ("timer", "disable")],
    ),
    "POST /v1/apps/{app}/keys": (lambda day: ("/v1/apps/bank/keys", {"name": "new"}), [("key", "create")]),
    "DELETE /v1/apps/{app}/keys/{key_id}": (
        lambda day: (f"/v1/apps/bank/keys/{day.key_id}", None),
        [("key", "revoke")],
    ),
    "POST /v1/operator-keys": (lambda day: ("/v1/operator-keys", {"name": "new"}), [("key", "create")]),
    "DELETE /v1/operator-keys/{key_id}": (
        lambda day: (f"/v1/operator-keys/{day.operator_key_id}", None),
        [("key", "revoke")],
    ),
    "POST /api/timer/v1/def": (
        lambda day: ("/api/timer/v1/def", definition(name="new")),
        [("timer", "create")],
    ),
    "PATCH /api/timer/v1/def": (
        lambda day: ("/api/timer/v1/def", {"id": day.on, "tags": ["a"]}),
        [("timer", "edit")],
    ),
    "DELETE /api/timer/v1/def": (
        lambda day: ("/api/timer/v1/def", {"id": day.on}),
        [("timer", "delete")],
    ),
    "POST /api/timer/v1/enable": (
        lambda day: ("/api/timer/v1/enable", {"id": day.off}),
        [("timer", "enable")],
    ),
    "POST /api/timer/v1/unable": (
        lambda day: ("/api/timer/v1/unable", {"id": day.on}),
        [("timer", "disable")],
    ),
}


@pytest.fixture
def day(sqlite_url: str, redis_url: str) -> Iterator[Day]:
    world = KeyedWorld(sqlite_url, redis_url, present())
    yield Day(world)
    world.close()


def audit(day: Day, **query: Any) -> list[dict[str, Any]]:
    """Return the entries, the first one first."""
    answer = day.world.ask("GET", "/v1/audit", day.operator, query_string=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = json.loads(answer.text)["items"]
    return found[::-1]


def key_of(day: Day, route: str) -> str:
    return day.operator if RIGHTS[route] is Scope.APPS_ADMIN else day.shop


def test_each_kind_of_what_is_changed_can_be_asked_for() -> None:
    assert get_args(AuditedKindWord) == tuple(AuditedKind)


def test_every_route_that_changes_something_is_tried_here() -> None:
    changing = {
        route
        for route, right in RIGHTS.items()
        if right in CHANGING_SCOPES or (right is Scope.APPS_ADMIN and not route.startswith("GET "))
    }
    # A test message changes nothing.
    assert set(ROUTES) == changing - {"POST /v1/alert-rules/{name}:test"}


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_that_changes_something_leaves_its_entries_with_its_key(day: Day, route: str) -> None:
    request, entries = ROUTES[route]
    key = key_of(day, route)
    day.ask(route.split()[0], *request(day), key)
    found = audit(day)
    assert [(one["kind"], one["action"]) for one in found] == entries
    assert {one["key"]["id"] for one in found} == {key.split("_")[1]}
    assert {one["address"] for one in found} == {"127.0.0.1"}
    assert "hush" not in json.dumps(found)


def test_what_a_key_repeats_leaves_no_second_entry(day: Day) -> None:
    body = {"key": "new", "schedule": SCHEDULE, "target": TARGET}
    for _ in range(2):
        headers = {"Idempotency-Key": "once"}
        assert day.world.ask("POST", "/v1/timers", day.shop, headers, json=body).status_code == 201
    assert [one["name"] for one in audit(day)] == ["new"]


def test_a_refused_request_leaves_no_entry(day: Day) -> None:
    body = {"key": "on", "schedule": SCHEDULE, "target": TARGET}
    assert day.world.ask("POST", "/v1/timers", day.shop, json=body).status_code == 409
    assert audit(day) == []


def test_what_the_service_does_after_a_request_is_nobodys(day: Day) -> None:
    day.ask("POST", f"/v1/timers/{day.off}:enable")
    day.world.wiring.timers.disable("shop", day.off, day.world.clock.now)
    assert [one["action"] for one in audit(day)] == ["enable"]


def test_an_operator_finds_entries_by_app_key_subject_kind_and_time(day: Day) -> None:
    day.ask("PATCH", f"/v1/timers/{day.on}", {"tags": ["a"]})
    day.ask("POST", f"/v1/firings/{day.on}-{day.failed}:replay")
    day.world.clock.now += MINUTE_MS
    day.ask("PATCH", "/v1/apps/bank", {"limits": {"callsAtOnce": 5}}, day.operator)
    found = {
        "app": audit(day, app="bank"),
        "key": audit(day, key=day.shop.split("_")[1]),
        "timer": audit(day, subject=day.on),
        "firing": audit(day, subject=f"{day.on}-{day.failed}"),
        "kind": audit(day, subject=day.on, kind="timer"),
        "since": audit(day, since=day.world.clock.now),
        "until": audit(day, until=day.world.clock.now - 1),
    }
    edit, replay, limit = (["edit"], ["replay"], ["edit"])
    assert {name: [one["action"] for one in of_it] for name, of_it in found.items()} == {
        "app": limit,
        "key": edit + replay,
        "timer": edit + replay,
        "firing": replay,
        "kind": edit,
        "since": limit,
        "until": edit + replay,
    }
    assert found["app"][0]["fields"] == ["limits.callsAtOnce"]
    assert found["firing"][0]["subject"] == f"{day.on}-{day.failed}"
    assert (found["firing"][0]["oldStatus"], found["firing"][0]["newStatus"]) == ("failed", "pending")


def test_pages_of_entries_go_on_by_their_cursor(day: Day) -> None:
    timers = [{"key": f"t{number}", "schedule": SCHEDULE, "target": TARGET} for number in range(5)]
    day.ask("POST", "/v1/timers:batchCreate", {"timers": timers})
    seen, cursor = [], {}
    while cursor is not None:
        page = day.ask("GET", "/v1/audit?" + "&".join(["limit=2", *cursor]), None, day.operator)
        seen += [one["name"] for one in page["items"]]
        cursor = None if page["nextCursor"] is None else [f"cursor={page['nextCursor']}"]
    assert seen == ["t4", "t3", "t2", "t1", "t0"]


def test_what_cannot_be_read_is_refused(day: Day) -> None:
    for query, code in (
        ({"app": "shpo"}, 404),
        ({"kind": "nonsense"}, 400),
        ({"since": "yesterday"}, 400),
        ({"from": 1}, 400),
    ):
        answer = day.world.ask("GET", "/v1/audit", day.operator, query_string=query)
        assert answer.status_code == code, answer.text


def test_an_app_reads_no_audit(day: Day) -> None:
    assert day.world.ask("GET", "/v1/audit", day.shop).status_code == 403


FORWARDED = [
    # The setting, the header, and what the entry has; the connection is from 127.0.0.1.
    ("", "10.9.9.9", "127.0.0.1"),
    ("127.0.0.0/8", "10.9.9.9", "10.9.9.9"),
    ("127.0.0.0/8", "1.1.1.1, 10.9.9.9", "10.9.9.9"),
    ("127.0.0.0/8,10.9.0.0/16", "1.1.1.1, 2001:db8::1, 10.9.9.9", "2001:db8::1"),
    ("127.0.0.0/8,10.9.0.0/16", "nonsense, 10.9.9.9", "10.9.9.9"),
    ("192.0.2.0/24", "10.9.9.9", "127.0.0.1"),
    ("127.0.0.0/8", None, "127.0.0.1"),
]


@pytest.mark.parametrize(("proxies", "header", "address"), FORWARDED)
def test_only_trusted_proxies_say_where_a_request_comes_from(
    sqlite_url: str, redis_url: str, proxies: str, header: str | None, address: str
) -> None:
    world = KeyedWorld(sqlite_url, redis_url, present(), trusted_proxies=proxies)
    body = {"key": "new", "schedule": SCHEDULE, "target": TARGET}
    headers = {} if header is None else {"X-Forwarded-For": header}
    assert world.ask("POST", "/v1/timers", world.app_of("shop"), headers, json=body).status_code == 201
    (entry,) = world.wiring.audit.page(AuditFilter(), 9)
    assert entry.address == address
    world.close()
