"""Calendars of days on which nothing fires: uploaded, listed, named by timers."""

from typing import Any

import pytest

from tests.api.v1.world import ONE, Answered, V1World
from wangtimer.store.sql import calendars

CALENDARS, CALENDAR = "/v1/calendars", "/v1/calendars/{name}"


def ask(world: V1World, method: str, name: str, body: Any = None, app: str = "shop") -> Answered:
    return world.send(method, f"{CALENDARS}/{name}", body, rule=CALENDAR, app=app)


def put(world: V1World, name: str = "plant", app: str = "shop", **body: Any) -> Answered:
    return ask(world, "PUT", name, body, app)


def names(world: V1World) -> list[str]:
    return [one["name"] for one in world.send("GET", CALENDARS).json["items"]]


def test_an_uploaded_calendar_is_read_back_listed_and_named(world: V1World) -> None:
    given = {
        "weekdays": ["saturday", "sunday"],
        "days": ["2027-01-01", "2027-05-01"],
        "working": ["2027-05-08"],
    }
    made = put(world, **given)
    nobody = {"followers": 0, "left": 0, "refused": 0, "refusedIds": []}
    shown = given | {"name": "plant", "firstYear": None, "lastYear": None, "isBuiltIn": False}
    assert (made.status, made.json) == (200, shown | {"following": nobody})
    assert ask(world, "GET", "plant").json == made.json
    assert ask(world, "GET", "weekends").json["following"] is None
    listed = {one["name"]: one for one in world.send("GET", CALENDARS).json["items"]}
    assert list(listed) == ["cn-off-days", "weekends", "plant"]
    assert (listed["cn-off-days"]["firstYear"], listed["cn-off-days"]["isBuiltIn"]) == (2004, True)
    assert listed["cn-off-days"]["lastYear"] >= 2026
    world.made(schedule={"cron": "0 9 * * *", "excludeCalendar": "plant"})
    assert ask(world, "GET", "plant", app="bank").json["code"] == 40403


def test_weekdays_are_shown_in_their_order(small_world: V1World) -> None:
    assert put(small_world, weekdays=["sunday", "saturday"]).json["weekdays"] == ["saturday", "sunday"]


def test_a_calendar_uploaded_anew_is_followed(world: V1World) -> None:
    put(world)
    place = world.made(schedule={"cron": "0 9 * * *", "excludeCalendar": "plant"}).headers["Location"]
    world.made(key="other", schedule={"cron": "0 9 * * *"}, enabled=False)
    first = world.send("GET", place, rule=ONE).json["nextFireAt"]
    again = put(world, days=[first[:10]])
    assert again.json["following"] == {"followers": 1, "left": 1, "refused": 0, "refusedIds": []}
    assert world.broker.follows == 1
    assert world.wiring.calendar_follower.follow_all() == 1
    following = ask(world, "GET", "plant").json["following"]
    assert following == {"followers": 1, "left": 0, "refused": 0, "refusedIds": []}
    after = world.send("GET", place, rule=ONE).json
    assert after["nextFireAt"] > first
    assert after["version"] == 2


def test_an_app_has_so_many_calendars_and_those_may_be_replaced(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendars, "MOST_CALENDARS", 2)
    for name in ("one", "two"):
        assert put(world, name).status == 200
    refused = put(world, "three")
    assert (refused.status, refused.json["code"]) == (409, 40902)
    assert "delete one that no timer names" in refused.json["detail"]
    assert ask(world, "GET", "three").json["code"] == 40403
    assert put(world, "two", weekdays=["sunday"]).status == 200
    assert put(world, "three", app="bank").status == 200
    monkeypatch.setattr(calendars, "MOST_CALENDARS", 1)
    assert len(names(world)) == 2 + 2


def test_a_calendar_in_use_is_not_deleted(world: V1World) -> None:
    put(world)
    place = world.made(schedule={"every": "1h", "excludeCalendar": "plant"}).headers["Location"]
    refused = ask(world, "DELETE", "plant")
    assert (refused.status, refused.json["code"]) == (409, 40902)
    world.send("PATCH", place, {"schedule": {"excludeCalendar": None}}, rule=ONE)
    assert ask(world, "DELETE", "plant").status == 204
    assert ask(world, "DELETE", "plant").json["code"] == ask(world, "GET", "plant").json["code"] == 40403


def test_calendars_are_listed_page_by_page(small_world: V1World) -> None:
    for name in ("plant", "Abroad", "office"):
        put(small_world, name, days=["2027-01-01"])
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while query:
        page = small_world.send("GET", CALENDARS, query=query).json
        assert len(page["items"]) <= 2
        found += [one["name"] for one in page["items"]]
        query = {"limit": 2, "cursor": page["nextCursor"]} if page["nextCursor"] else {}
    assert found == ["cn-off-days", "weekends", "Abroad", "office", "plant"]
    stray = small_world.send("GET", CALENDARS, query={"cursor": "abc"})
    assert (stray.status, stray.json["code"]) == (400, 40010)


def test_calendars_that_are_always_there_are_not_replaced(small_world: V1World) -> None:
    refused = put(small_world, "weekends")
    assert (refused.status, refused.json["parameter"]) == (400, "name")
    assert names(small_world) == ["cn-off-days", "weekends"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"weekdays": ["Sonntag"]}, "/weekdays/0"),
        ({"weekdays": [1]}, "/weekdays/0"),
        (
            {"weekdays": ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]},
            "/weekdays",
        ),
        ({"days": ["2027-01-01", "2027-02-30"]}, "/days/1"),
        ({"working": ["tomorrow"]}, "/working/0"),
        ({"days": [20270101]}, "/days/0"),
        ({"day": []}, "/day"),
    ],
)
def test_what_is_wrong_with_a_calendar_is_pointed_at(world: V1World, body: Any, pointer: str) -> None:
    refused = put(world, **body)
    assert (refused.status, refused.json["pointer"]) == (400, pointer)
    assert len(names(world)) == 2
