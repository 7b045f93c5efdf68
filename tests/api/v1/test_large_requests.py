"""Few requests about many timers or firings run at once, so that one app's leave threads to all others."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.api.keyed_world import KeyedWorld
from tests.api.v1.test_batch_create import BATCH, item
from tests.api.v1.world import TIMERS, Answered, V1World
from tests.api.world import present
from wangtimer.api.http import request_context
from wangtimer.api.http.reading import MOST_BODY_BYTES
from wangtimer.api.http.request_context import MOST_OF_SMALL
from wangtimer.core.at_once import AtOnce

MINUTE = 60_000
MANY = [item(f"many-{number}", tags=["many"]) for number in range(MOST_OF_SMALL + 1)]
OF_ONE_APP = 2
ON_DEMAND = ("/v1/firings:replay", "/v1/dead-letters:replay", "/v1/dead-letters:discard")


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> AtOnce:
    fresh = AtOnce(2 * OF_ONE_APP)
    monkeypatch.setattr(request_context, "LARGE_REQUESTS", fresh)
    return fresh


@pytest.fixture
def keyed_world(sqlite_url: str, redis_url: str) -> Iterator[KeyedWorld]:
    world = KeyedWorld(sqlite_url, redis_url, present())
    yield world
    world.close()


def large_ones(world: V1World) -> list[tuple[str, dict[str, Any] | bytes]]:
    since, until = world.clock.now - MINUTE, world.clock.now - 1
    firings = [f"1-{number}" for number in range(MOST_OF_SMALL + 1)]
    listed = world.send("GET", TIMERS, query={"limit": 500}).json["items"]
    all_of_them: list[dict[str, Any]] = [{"ids": [one["id"] for one in listed]}, {"filter": {"tag": "many"}}]
    named: list[dict[str, Any]] = [{"since": since}, {"ids": firings}]
    return [
        (BATCH, {"timers": MANY}),
        (BATCH, b'{"timers": [' + b" " * MOST_BODY_BYTES),
        *((f"{TIMERS}:batch{verb}", which) for verb in ("Disable", "Delete") for which in all_of_them),
        (f"{TIMERS}:batchEnable", all_of_them[0]),
        (f"{TIMERS}/key:many-1:backfill", {"since": since, "until": until}),
        *((path, which) for path in ON_DEMAND for which in named),
    ]


def sent(world: V1World, path: str, body: dict[str, Any] | bytes, app: str = "shop") -> Answered:
    rule = f"{TIMERS}/{{which}}:backfill" if path.endswith(":backfill") else path
    return world.send("POST", path, body, app=app, rule=rule)


def test_an_app_has_a_few_large_requests_at_once_and_its_small_ones_and_other_apps_go_on(
    small_world: V1World, places: AtOnce
) -> None:
    """16 connections that sent batches of 1,000 small timers let another app's GET wait for 8.6 s."""
    for some in (MANY[:1], MANY[1:]):
        assert sent(small_world, BATCH, {"timers": some}).json["failed"] == 0
    ends = [places.begin("shop") for _ in range(OF_ONE_APP)]
    large = large_ones(small_world)
    for path, body in large:
        refused = sent(small_world, path, body)
        assert (refused.status, refused.json["code"]) == (503, 50303), path
        assert refused.headers["Retry-After"] == "5"
    listed = small_world.send("GET", TIMERS, query={"limit": 500}).json["items"]
    assert len(listed) == len(MANY), "nothing is done"
    assert sent(small_world, BATCH, {"timers": [item("one more")]}).json["created"] == 1
    assert sent(small_world, f"{TIMERS}:batchDisable", {"keys": ["many-1"]}).json["done"] == 1
    assert sent(small_world, BATCH, {"timers": MANY}, app="bank").json["failed"] == 0
    ends.pop()()
    for path, body in large:
        assert sent(small_world, path, body).json.get("code") != 50303, (
            f"{path}, or the one before has not ended"
        )


def test_the_app_is_the_one_of_the_key(keyed_world: KeyedWorld, places: AtOnce) -> None:
    key, of_bank = keyed_world.app_of("shop"), keyed_world.app_of("bank")
    for _ in range(OF_ONE_APP):
        places.begin("shop")
    body = json.dumps({"timers": MANY})
    asked = partial(keyed_world.ask, "POST", BATCH, data=body, content_type="application/json")
    operators = keyed_world.key(None)
    named = asked(operators, {"WangTimer-App": "shop"})
    assert [asked(key).status_code, named.status_code, asked(of_bank).status_code] == [503, 503, 200]
