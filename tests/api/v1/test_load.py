"""The load to come, of an app and of all."""

from typing import Any

import pytest

from tests.api.v1.world import ONE, TIMERS, V1World
from wangtimer.core.time.moment_text import show_moment

LOAD, OF_ALL = "/v1/load", "/v1/load:allApps"
MINUTE = 60_000


@pytest.fixture
def some(world: V1World) -> V1World:
    """Every minute one firing of one app, every second minute one of another; planned for two hours."""
    world.clock.now = world.clock.now // (2 * MINUTE) * 2 * MINUTE
    world.made(key="a", schedule={"cron": "* * * * *"})
    other = {"schedule": {"cron": "*/2 * * * *"}, "target": {"url": "http://target.example/"}}
    world.send("POST", TIMERS, other, app="bank")
    world.wiring.migrator.plan_due()
    return world


def load(world: V1World, app: str = "shop", **query: Any) -> Any:
    answer = world.send("GET", LOAD, query=query, app=app)
    assert answer.status == 200, answer.json
    assert answer.json["firings"] == sum(one["firings"] for one in answer.json["items"])
    return answer.json


def of_all(world: V1World, **query: Any) -> Any:
    answer = world.send("GET", OF_ALL, query=query, app=None)
    assert answer.status == 200, answer.json
    assert all(one["firings"] == sum(one["apps"].values()) for one in answer.json["items"])
    assert answer.json["firings"] == sum(one["firings"] for one in answer.json["items"])
    return answer.json


def test_each_minute_says_what_comes_in_it_by_app(some: V1World) -> None:
    now = some.clock.now
    found = of_all(some, minutes=4)
    assert [(one["minute"], one["apps"]) for one in found["items"]] == [
        (show_moment(now + MINUTE), {"shop": 1}),
        (show_moment(now + 2 * MINUTE), {"bank": 1, "shop": 1}),
        (show_moment(now + 3 * MINUTE), {"shop": 1}),
    ]
    assert found["plannedUntil"] == load(some, minutes=4)["plannedUntil"] == show_moment(now + 4 * MINUTE - 1)


def test_an_app_sees_its_own(some: V1World) -> None:
    now = some.clock.now
    assert load(some, "bank", minutes=5)["items"] == [
        {"minute": show_moment(now + 2 * MINUTE), "firings": 1},
        {"minute": show_moment(now + 4 * MINUTE), "firings": 1},
    ]
    assert load(some, "nobody")["items"] == []


def test_it_looks_as_far_ahead_as_is_planned(some: V1World) -> None:
    whole = of_all(some)
    assert len(whole["items"]) == len(load(some)["items"]) == 119
    assert of_all(some, minutes=120)["items"] == whole["items"]
    for path, app in ((LOAD, "shop"), (OF_ALL, None)):
        refused = some.send("GET", path, query={"minutes": 121}, app=app)
        assert (refused.status, refused.json["parameter"]) == (400, "minutes")
        assert "120 at most" in refused.json["detail"]


def test_it_says_up_to_when_nothing_is_missing(world: V1World) -> None:
    world.made(schedule={"cron": "* * * * *"})
    near_end = world.clock.now + world.wiring.settings.near_s * 1_000
    planned_until = load(world)["plannedUntil"]
    assert show_moment(near_end - MINUTE) <= planned_until < show_moment(near_end + MINUTE)


def test_a_disabled_timers_firings_are_not_to_come(some: V1World) -> None:
    some.send("POST", f"{TIMERS}/key:a:disable", rule=f"{ONE}:disable")
    assert {app for one in of_all(some)["items"] for app in one["apps"]} == {"bank"}


@pytest.mark.parametrize("query", [{"minutes": 0}, {"minutes": "x"}, {"hours": 1}])
def test_what_cannot_be_asked_is_refused(small_world: V1World, query: dict[str, Any]) -> None:
    assert small_world.send("GET", LOAD, query=query).status == 400
