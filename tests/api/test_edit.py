"""PATCH: what is given changes, what is not stays, null takes away."""

from typing import Any

import pytest

from tests.api.world import DEF, UNABLE, URL, World
from wangtimer.core.time.moment_text import show_moment

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


def next_moments(answer: Any) -> list[int]:
    return [moment["atMs"] for moment in answer.data["nextMoments"]]


def read(world: World, timer_id: int) -> Any:
    return world.get(DEF, app="shop", id=timer_id).data


def test_only_what_is_given_changes(world: World) -> None:
    timer_id = world.made(cron="*/5 * * * *", timezone="Asia/Shanghai", tags=["a"], misfire="skip")
    before = read(world, timer_id)
    edited = world.patch(app="shop", id=timer_id, name="other")
    assert edited.status == 200
    assert read(world, timer_id) == before | {"name": "other", "version": 2}


def test_an_edit_while_enabled_shows_and_plans_the_new_moments_at_once(world: World) -> None:
    timer_id = world.enabled(cron="0 0 1 1 *")
    edited = world.patch(app="shop", id=timer_id, cron="* * * * * *")
    assert edited.data["statusName"] == "enabled"
    assert next_moments(edited) == [world.clock.now + i * SECOND for i in range(1, 6)]
    assert world.broker.moments == [world.clock.now + SECOND]


def test_a_schedule_can_become_any_other(world: World) -> None:
    timer_id = world.enabled(cron="* * * * *")
    every = world.patch(app="shop", id=timer_id, everyMs=90_000, jitterMs=0)
    assert (every.data["everyMs"], "cron" in every.data) == (90_000, False)
    assert next_moments(every)[0] == world.clock.now + 90_000
    once = world.patch(app="shop", id=timer_id, delayMs=HOUR)
    assert (once.data["atMs"], "everyMs" in once.data) == (world.clock.now + HOUR, False)
    cron = world.patch(app="shop", id=timer_id, cron="0 9 * * *", timezone="Asia/Shanghai")
    assert (cron.data["cron"], cron.data["timezone"], "at" in cron.data) == (
        "0 9 * * *",
        "Asia/Shanghai",
        False,
    )


def test_a_zone_alone_moves_the_schedule_there(world: World) -> None:
    timer_id = world.made(cron="0 9 * * *")
    there = world.patch(app="shop", id=timer_id, timezone="Asia/Shanghai")
    assert there.data["nextMoments"][0]["at"].endswith("T09:00:00.000+08:00")


def test_null_takes_a_bound_away_and_absence_leaves_it(world: World) -> None:
    end = world.clock.now + 240 * HOUR
    timer_id = world.made(
        cron="* * * * *", endAt=end, maxFirings=7, jitterMs=500, excludeCalendar="weekends", tags=["x"]
    )
    kept = world.patch(app="shop", id=timer_id, misfire="skip")
    assert (kept.data["endAt"], kept.data["maxFirings"], kept.data["tags"]) == (show_moment(end), 7, ["x"])
    gone = world.patch(
        app="shop", id=timer_id, endAt=None, maxFirings=None, jitterMs=None, excludeCalendar=None, tags=None
    )
    for name in ("endAt", "maxFirings", "jitterMs", "excludeCalendar", "tags"):
        assert name not in gone.data


def test_an_edit_at_another_version_is_refused(world: World) -> None:
    timer_id = world.made()
    assert world.patch(app="shop", id=timer_id, version=1, name="first").data["version"] == 2
    late = world.patch(app="shop", id=timer_id, version=1, name="second")
    assert (late.status, late.code, late.json["field"]) == (409, 40903, "version")
    assert read(world, timer_id)["name"] == "first"


def test_a_name_in_use_is_refused_and_its_own_is_not(world: World) -> None:
    other = world.made(name="taken")
    timer_id = world.made(name="mine")
    assert world.patch(app="shop", id=timer_id, name="mine").status == 200
    refused = world.patch(app="shop", id=timer_id, name="taken")
    assert (refused.status, refused.code) == (409, 40901)
    assert "already has a timer named 'taken'" in refused.msg
    assert refused.data == {"existingId": other}


def test_another_apps_timer_is_unknown(world: World) -> None:
    timer_id = world.made()
    assert world.patch(app="bank", id=timer_id, name="mine").code == 40401


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"cron": "* * * * *", "everyMs": 5_000}, "cron"),
        ({"cron": "nonsense"}, "cron"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"anchorAt": 1_795_198_611_123}, "anchorAt"),
        ({"endAt": 1_700_000_000_000}, "endAt"),
        ({"maxFirings": 0}, "maxFirings"),
        ({"jitterMs": -1}, "jitterMs"),
        ({"excludeCalendar": "nowhere"}, "excludeCalendar"),
        ({"at": "2020-01-01T00:00:00Z", "endAt": "2030-01-01T00:00:00Z"}, "endAt"),
        ({"tags": [""]}, "tags.0"),
        ({"tags": "one"}, "tags"),
        ({"notifyHTTPParam": {"url": URL, "uri": URL}}, "notifyHTTPParam.uri"),
    ],
)
def test_a_bad_edit_names_the_field_and_changes_nothing(
    world: World, given: dict[str, Any], field: str
) -> None:
    timer_id = world.enabled(cron="* * * * *")
    before = read(world, timer_id)
    refused = world.patch(app="shop", id=timer_id, **given)
    assert (refused.status, refused.json["field"]) == (400, field)
    assert read(world, timer_id) == before


CALL = {
    "url": URL,
    "method": "PUT",
    "header": {"X-Tag": ["a", "b"], "X-Region": ["Bearer t"]},
    "body": "{}",
}


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"url": URL + "2"}, {"url": URL + "2"}),
        ({"method": "get"}, {"method": "GET"}),
        ({"body": "x"}, {"body": "x"}),
        ({"method": None, "body": None, "header": None}, {"method": "POST", "body": "", "header": {}}),
        ({}, {}),
        ({"header": {}}, {}),
        ({"header": {"X-Other": "1"}}, {"header": {**CALL["header"], "X-Other": ["1"]}}),
        ({"header": {"X-Tag": "c"}}, {"header": {"X-Tag": ["c"], "X-Region": ["Bearer t"]}}),
        ({"header": {"x-tag": ["c"]}}, {"header": {"x-tag": ["c"], "X-Region": ["Bearer t"]}}),
        ({"header": {"X-REGION": None}}, {"header": {"X-Tag": ["a", "b"]}}),
        ({"header": {"X-Tag": []}}, {"header": {"X-Region": ["Bearer t"]}}),
        ({"header": {"X-None": None}}, {}),
    ],
)
def test_a_part_of_the_call_that_is_not_given_stays(world: World, change: Any, differs: Any) -> None:
    timer_id = world.made(notifyHTTPParam=CALL)
    edited = world.patch(app="shop", id=timer_id, notifyHTTPParam=change)
    assert edited.data["notifyHTTPParam"] == CALL | differs
    assert edited.data["version"] == (2 if differs else 1)
    again = world.patch(app="shop", id=timer_id, notifyHTTPParam=change)
    assert again.data["version"] == edited.data["version"]


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"url": None}, "notifyHTTPParam.url", "it is null, but every call has a URL"),
        ({"method": "BREW"}, "notifyHTTPParam.method", "cannot be called"),
        ({"header": {"Host": None}}, "notifyHTTPParam.header.Host", "reserved"),
        ({"header": {"X": 1}}, "notifyHTTPParam.header.X", "wrong type"),
        (
            {"header": {"X": "1", "x": None}},
            "notifyHTTPParam.header.x",
            "one spelling of it is null, another has a value",
        ),
        ({"header": {f"X-{n}": "" for n in range(49)}}, "notifyHTTPParam.header", "over 50 headers"),
        ({"header": {"X-Long": "x" * 8_192}}, "notifyHTTPParam.header", "bytes in all"),
    ],
)
def test_a_change_that_makes_no_call_is_refused_and_changes_nothing(
    world: World, change: Any, field: str, words: str
) -> None:
    timer_id = world.made(notifyHTTPParam=CALL)
    refused = world.patch(app="shop", id=timer_id, notifyHTTPParam=change)
    assert (refused.status, refused.json["field"]) == (400, field)
    assert words in refused.msg
    assert read(world, timer_id)["notifyHTTPParam"] == CALL


def test_of_many_changed_headers_none_is_lost(world: World) -> None:
    held = {f"Old-{n:02}": "1" for n in range(30)}
    timer_id = world.made(notifyHTTPParam={"url": URL, "header": held})
    new = {f"New-{n:02}": ["2"] for n in range(30)}
    edited = world.patch(app="shop", id=timer_id, notifyHTTPParam={"header": dict.fromkeys(held) | new})
    assert edited.data["notifyHTTPParam"]["header"] == new


def test_a_disabled_timer_stays_disabled(world: World) -> None:
    timer_id = world.enabled(cron="* * * * *")
    world.post(UNABLE, app="shop", id=timer_id)
    assert world.patch(app="shop", id=timer_id, cron="* * * * * *").data["statusName"] == "disabled"
    assert world.broker.moments == []


RULES = ("cron", "everyMs", "at", "delayMs")


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ({"cron": "* * * * *"}, {"cron": " *  * * * *"}),
        ({"cron": "* * * * *"}, dict.fromkeys(RULES)),
        ({"cron": "* * * * *"}, {"timezone": None, "anchorAt": None, "jitterMs": 0, "endAt": None}),
        ({"cron": "* * * * *", "jitterMs": 9_000, "maxFirings": 5}, {"jitterMs": 9_000, "timezone": "UTC"}),
        ({"cron": "* * * * *", "excludeCalendar": "weekends"}, {"excludeCalendar": "weekends"}),
        ({"everyMs": 90_000, "cron": None}, {"everyMs": 90_000, "timezone": "UTC"}),
        ({"at": "2190-01-01T00:00:00Z"}, {"at": "2190-01-01T00:00:00Z", "timezone": "Asia/Shanghai"}),
    ],
)
def test_what_it_is_already_changes_nothing(
    world: World, made: dict[str, Any], given: dict[str, Any]
) -> None:
    timer_id = world.enabled(**made)
    before, rows = world.wiring.timers.get("shop", timer_id), world.stored()
    world.clock.now += 5 * SECOND
    assert world.patch(app="shop", id=timer_id, **given).data["version"] == 2
    assert (world.wiring.timers.get("shop", timer_id), world.stored()) == (before, rows)


@pytest.mark.parametrize("given", [{"cron": "* * * * * *", "maxFirings": 2}, dict.fromkeys(RULES)])
def test_a_finished_timer_that_is_told_what_it_is_stays_finished(world: World, given: dict[str, Any]) -> None:
    timer_id = world.enabled(cron="* * * * * *", maxFirings=2)
    world.clock.now += 5 * SECOND
    told = world.patch(app="shop", id=timer_id, **given)
    assert (told.status, told.data["statusName"], told.data["version"]) == (200, "finished", 2)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"jitterMs": 500}, 3),
        ({"endAt": "2190-01-01T00:00:00Z"}, 3),
        ({"maxFirings": 4}, 4),
        ({"cron": "*/2 * * * * *"}, 5),
        ({"timezone": "Asia/Shanghai"}, 5),
    ],
)
def test_firings_are_counted_anew_only_where_the_rule_or_their_number_changes(
    world: World, given: dict[str, Any], left: int
) -> None:
    timer_id = world.enabled(cron="* * * * * *", maxFirings=5)
    world.clock.now += 2 * SECOND
    assert len(next_moments(world.patch(app="shop", id=timer_id, **given))) == left


def test_an_edit_that_changes_nothing_leaves_the_version(world: World) -> None:
    timer_id = world.enabled(cron="* * * * *", name="mine")
    assert world.patch(app="shop", id=timer_id, cron="* * * * *", name="mine", version=2).data["version"] == 2
    assert world.patch(app="shop", id=timer_id, cron="* * * * *", misfire="skip").data["version"] == 3
