"""The load to come."""

from typing import Any

import pytest

from tests.api.world import DISABLE, World

LOAD = "/api/timer/v1/load"
MINUTE = 60_000


@pytest.fixture
def some(world: World) -> World:
    """Every minute one firing of one app, every second minute one of another; planned for two hours."""
    world.clock.now = world.clock.now // (2 * MINUTE) * 2 * MINUTE
    world.enabled(name="a", cron="* * * * *")
    world.enabled(app="bank", name="a", cron="*/2 * * * *")
    world.wiring.migrator.plan_due()
    return world


def minutes(answer: Any) -> list[tuple[int, dict[str, int]]]:
    assert answer.status == 200, answer.json
    assert all(row["total"] == sum(row["apps"].values()) for row in answer.data)
    assert answer.json["total"] == sum(row["total"] for row in answer.data)
    return [(row["minuteMs"], row["apps"]) for row in answer.data]


def test_each_minute_says_what_comes_in_it_by_app(some: World) -> None:
    now = some.clock.now
    answer = some.get(LOAD, minutes=4)
    assert minutes(answer) == [
        (now + MINUTE, {"shop": 1}),
        (now + 2 * MINUTE, {"bank": 1, "shop": 1}),
        (now + 3 * MINUTE, {"shop": 1}),
    ]
    assert answer.data[0]["minute"].endswith(":00.000Z")
    assert answer.json["plannedUntilMs"] == now + 4 * MINUTE - 1


def test_it_is_of_one_app_where_one_is_named(some: World) -> None:
    now = some.clock.now
    assert minutes(some.get(LOAD, app="bank", minutes=5)) == [
        (now + 2 * MINUTE, {"bank": 1}),
        (now + 4 * MINUTE, {"bank": 1}),
    ]
    assert minutes(some.get(LOAD, app="nobody")) == []


def test_it_looks_as_far_ahead_as_is_planned(some: World) -> None:
    whole = some.get(LOAD)
    assert len(minutes(whole)) == 119
    assert some.get(LOAD, minutes=120).data == whole.data
    refused = some.get(LOAD, minutes=121)
    assert (refused.status, refused.json["field"]) == (400, "minutes")
    assert "120 at most" in refused.msg


def test_it_says_up_to_when_nothing_is_missing(world: World) -> None:
    world.enabled(name="far", cron="* * * * *")
    near_end = world.wiring.settings.near_s * 1_000
    planned_until = world.get(LOAD).json["plannedUntilMs"]
    assert near_end - MINUTE <= planned_until - world.clock.now < near_end + MINUTE


def test_a_disabled_timers_firings_are_not_to_come(some: World) -> None:
    for timer in some.get("/api/timer/v1/defs", app="shop").data:
        some.post(DISABLE, app="shop", id=timer["id"])
    assert {app for _, apps in minutes(some.get(LOAD)) for app in apps} == {"bank"}


@pytest.mark.parametrize("query", [{"minutes": 0}, {"minutes": "x"}, {"app": ""}, {"hours": 1}])
def test_what_cannot_be_asked_is_refused(small_world: World, query: dict[str, Any]) -> None:
    assert small_world.get(LOAD, **query).status == 400
