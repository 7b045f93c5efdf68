"""Lists of timers by the native paths."""

from typing import Any

import pytest

from tests.api.test_our_words import DOCUMENT
from tests.api.v1.world import TIMERS, URL, V1World


def keys(world: V1World, **query: Any) -> list[str]:
    return [one["key"] for one in world.send("GET", TIMERS, query=query).json["items"]]


@pytest.fixture
def many(world: V1World) -> V1World:
    """Three timers, the last one disabled."""
    for key, tags, enabled in (("b-1", ["x"], True), ("a-1", ["x", "y"], True), ("a-2", [], False)):
        world.made(key=key, tags=tags, enabled=enabled, schedule={"every": "1h"})
    return world


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["b-1", "a-1", "a-2"]),
        ({"sort": "key"}, ["a-1", "a-2", "b-1"]),
        ({"sort": "-id"}, ["a-2", "a-1", "b-1"]),
        ({"key": "a-1"}, ["a-1"]),
        ({"keyPrefix": "a-"}, ["a-1", "a-2"]),
        ({"keyContains": "-1"}, ["b-1", "a-1"]),
        ({"tag": "x"}, ["b-1", "a-1"]),
        ({"status": "disabled"}, ["a-2"]),
        ({"tag": "x", "keyPrefix": "a"}, ["a-1"]),
    ],
)
def test_timers_are_found_by_conditions_and_in_order(many: V1World, query: Any, found: list[str]) -> None:
    assert keys(many, **query) == found


def test_timers_are_found_by_the_host_that_they_call(world: V1World) -> None:
    """Through a named target too, and where the URL has secrets."""
    url = "http://Shop.example/fire?token=abc"
    for name, of_target in (("shop", url), ("elsewhere", URL)):
        world.send("PUT", f"/v1/targets/{name}", {"url": of_target}, rule="/v1/targets/{name}")
    targets = {"direct": {"url": url}, "other": {"url": URL}}
    targets |= {f"through {name}": {"name": name} for name in ("shop", "elsewhere")}
    for key, target in targets.items():
        world.made(key=key, target=target)
    assert (
        keys(world, host="shop.EXAMPLE") == keys(world, host="shop.example:80") == ["direct", "through shop"]
    )
    assert keys(world, host="target.example") == ["other", "through elsewhere"]
    assert keys(world, host="target.example:80") == keys(world, host="named-target.example") == []
    assert keys(world, host="shop.example", keyPrefix="through", sort="-key") == ["through shop"]
    body = {"filter": {"host": "shop.example"}}
    assert world.send("POST", f"{TIMERS}:batchDisable", body).json["matched"] == 2
    assert keys(world, status="disabled") == ["direct", "through shop"]


@pytest.mark.parametrize(
    "host", ["", "a b", "http://shop.example", "shop.example/x", "u@shop.example", "a:b"]
)
def test_what_is_no_host_is_refused(small_world: V1World, host: str) -> None:
    refused = small_world.send("GET", TIMERS, query={"host": host})
    assert (refused.status, refused.json["parameter"]) == (400, "host")
    refused = small_world.send("POST", f"{TIMERS}:batchDisable", {"filter": {"host": host}})
    assert (refused.status, refused.json["pointer"]) == (400, "/filter/host")


def test_a_host_is_not_looked_for_in_all_apps_at_once(small_world: V1World) -> None:
    refused = small_world.send("GET", TIMERS, query={"host": "shop.example"}, app=None)
    assert (refused.status, refused.json["parameter"]) == (400, "host")


def test_a_list_comes_page_by_page(many: V1World) -> None:
    first = many.send("GET", TIMERS, query={"limit": 2, "sort": "key"}).json
    second = many.send("GET", TIMERS, query={"limit": 2, "sort": "key", "cursor": first["nextCursor"]}).json
    assert [one["key"] for one in first["items"] + second["items"]] == ["a-1", "a-2", "b-1"]
    assert second["nextCursor"] is None


def test_a_cursor_of_another_list_or_app_is_refused(many: V1World) -> None:
    cursor = many.send("GET", TIMERS, query={"limit": 1}).json["nextCursor"]
    for app, query in (("shop", {"tag": "x"}), ("bank", {})):
        refused = many.send("GET", TIMERS, query={"limit": 1, "cursor": cursor} | query, app=app)
        assert (refused.status, refused.json["code"], refused.json["parameter"]) == (400, 40010, "cursor")


def test_an_unknown_parameter_is_asked_about(small_world: V1World) -> None:
    refused = small_world.send("GET", TIMERS, query={"tags": "x"})
    assert (refused.status, refused.json["parameter"], refused.json["didYouMean"]) == (400, "tags", "tag")


def test_every_list_of_v1_has_the_same_pages() -> None:
    lists = {
        path: methods["get"]
        for path, methods in DOCUMENT["paths"].items()
        if path.startswith("/v1/")
        and "{" not in path
        and methods.get("get", {}).get("operationId", "").startswith("v1List")
    }
    of_operators = {"/v1/apps", "/v1/operator-keys", "/v1/audit", "/v1/pauses", "/v1/host-limits"}
    of_apps = {
        "/v1/timers",
        "/v1/firings",
        "/v1/dead-letters",
        "/v1/calendars",
        "/v1/targets",
        "/v1/alert-rules",
    }
    assert lists.keys() == of_apps | of_operators
    for operation in lists.values():
        assert {"limit", "cursor"} <= {one["name"] for one in operation["parameters"]}
        name = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[
            2
        ]
        assert {"items", "nextCursor"} <= set(DOCUMENT["components"]["schemas"][name]["required"])
