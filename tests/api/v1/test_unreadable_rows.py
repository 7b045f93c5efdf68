"""A row that cannot be read, or not be shown, fails no list, and ends none."""

from typing import Any

import pytest
from sqlalchemy import Table, update

from tests.api.v1.test_targets import put
from tests.api.v1.world import URL, V1World
from wangtimer.core.apps.scopes import Scope
from wangtimer.store.sql.tables import alert_rules, api_keys, apps, audit, calendars, targets

# No year has such a moment (ms UTC).
NO_MOMENT = 10**18


@pytest.fixture
def world(small_world: V1World) -> V1World:
    return small_world


def spoil(world: V1World, table: Table, key: str, name: str, **values: Any) -> None:
    with world.wiring.database.engine.begin() as sql:
        assert sql.execute(update(table).where(table.c[key] == name).values(values)).rowcount == 1


def listed(world: V1World, path: str, key: str, **options: Any) -> list[str]:
    """Return what all pages have, two items a page."""
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        answered = world.send("GET", path, query=query, **options)
        assert answered.status == 200, answered.json
        found += [one[key] for one in answered.json["items"]]
        if answered.json["nextCursor"] is None:
            return found
        query["cursor"] = answered.json["nextCursor"]


NAMES = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("values", [{"content": "{"}, {"created_at": NO_MOMENT}, {"content": "[]"}])
def test_of_targets(world: V1World, values: dict[str, Any]) -> None:
    for name in NAMES:
        put(world, {"url": URL}, name)
    spoil(world, targets, "name", "b", **values)
    assert listed(world, "/v1/targets", "name") == ["a", "c", "d", "e"]


def test_a_batch_that_names_an_unreadable_target_is_answered_for_each(world: V1World) -> None:
    for name in ("a", "b"):
        put(world, {"url": URL}, name)
    spoil(world, targets, "name", "b", content="{")
    timers = [{"key": name, "schedule": {"delay": "1m"}, "target": {"name": name}} for name in ("a", "b")]
    answered = world.send("POST", "/v1/timers:batchCreate", {"timers": timers})
    assert (answered.status, [made["key"] for made in answered.json["items"]]) == (200, ["a", "b"])


@pytest.mark.parametrize("values", [{"content": "{"}, {"created_at": NO_MOMENT}])
def test_of_rules_of_alerts(world: V1World, values: dict[str, Any]) -> None:
    for name in NAMES:
        body = {"events": ["failed_for_good"], "destination": {"kind": "webhook", "url": URL}}
        made = world.send("PUT", f"/v1/alert-rules/{name}", body, rule="/v1/alert-rules/{name}")
        assert made.status == 201, made.json
    spoil(world, alert_rules, "name", "b", **values)
    assert listed(world, "/v1/alert-rules", "name") == ["a", "c", "d", "e"]


@pytest.mark.parametrize("values", [{"limits": "{"}, {"created_at": NO_MOMENT}])
def test_of_apps(world: V1World, values: dict[str, Any]) -> None:
    for name in NAMES:
        assert world.send("POST", "/v1/apps", {"name": name}).status == 201
    spoil(world, apps, "name", "b", **values)
    assert [one for one in listed(world, "/v1/apps", "name") if one in NAMES] == ["a", "c", "d", "e"]


def test_of_keys(world: V1World) -> None:
    path, rule = "/v1/apps/shop/keys", "/v1/apps/{app}/keys"
    world.send("POST", "/v1/apps", {"name": "shop"})
    for name in NAMES:
        scopes = [Scope.TIMERS_READ.value]
        made = world.send("POST", path, {"name": name, "scopes": scopes}, rule=rule)
        assert made.status == 201, made.json
    spoil(world, api_keys, "name", "b", created_at=NO_MOMENT)
    assert sorted(listed(world, path, "name", rule=rule)) == ["a", "c", "d", "e"]


def test_of_calendars(world: V1World) -> None:
    for name in NAMES:
        body = {"weekdays": ["sunday"]}
        made = world.send("PUT", f"/v1/calendars/{name}", body, rule="/v1/calendars/{name}")
        assert made.status == 200, made.json
    spoil(world, calendars, "name", "b", content="{")
    own = [one for one in listed(world, "/v1/calendars", "name") if one in NAMES]
    assert own == ["a", "c", "d", "e"]


@pytest.mark.parametrize("values", [{"fields": "{"}, {"at": NO_MOMENT}])
def test_of_the_audit(world: V1World, values: dict[str, Any]) -> None:
    for name in NAMES:
        put(world, {"url": URL}, name)
    spoil(world, audit, "subject", "b", **values)
    found = [one for one in listed(world, "/v1/audit", "subject") if one in NAMES]
    assert sorted(found) == ["a", "c", "d", "e"]
