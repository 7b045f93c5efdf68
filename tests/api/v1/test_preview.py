"""What a schedule comes to, before it is saved."""

from typing import Any

import pytest

from tests.api.v1.world import ONE, TIMERS, URL, Answered, V1World
from wangtimer.core.time.moment_text import show_moment

DAY_MS = 86_400_000


def asked(world: V1World, schedule: dict[str, Any], count: int = 10, app: str = "shop") -> Answered:
    return world.send("POST", "/v1/schedules:preview", {"schedule": schedule, "count": count}, app=app)


def preview(world: V1World, *, count: int = 10, **schedule: Any) -> Any:
    answered = asked(world, schedule, count)
    assert answered.status == 200, answered.json
    return answered.json


def moments(data: Any) -> list[str]:
    return [one["utc"] for one in data["nextMoments"]]


def test_moments_come_in_the_timers_zone_and_in_utc_and_nothing_is_stored(world: V1World) -> None:
    data = preview(world, cron="0 9 * * *", timezone="Asia/Shanghai", count=3)
    assert len(data["nextMoments"]) == 3
    for moment in data["nextMoments"]:
        assert moment["at"].endswith("T09:00:00.000+08:00")
        assert moment["utc"].endswith("T01:00:00.000Z")
    assert world.stored() == (0, 0)


def test_the_schedule_comes_in_words_of_two_languages(world: V1World) -> None:
    words = preview(world, cron="0 9 * * 1-5", timezone="Asia/Shanghai")["words"]
    assert words == {
        "en": "at 09:00 from Monday to Friday (Asia/Shanghai)",
        "zh": "每周一至周五 09:00（Asia/Shanghai 时间）",
    }


@pytest.mark.parametrize(
    ("schedule", "code"),
    [
        ({"cron": "30 2 * * *", "timezone": "America/New_York"}, "clockForward"),
        ({"cron": "30 1 * * *", "timezone": "America/New_York"}, "clockBack"),
        ({"cron": "0 0 9 * * *"}, "fieldOrder"),
        ({"cron": "0 0 30 2 *"}, "neverFires"),
        ({"cron": "0 9 * * 6", "excludeCalendar": "weekends"}, "neverFires"),
        ({"cron": "0 0 13 * 5"}, "eitherDay"),
        ({"cron": "0 0 9 ? * 2"}, "quartzWeekday"),
        ({"cron": "*/90 * * * *"}, "longStep"),
        ({"cron": "*/45 * * * *", "excludeCalendar": "weekends", "jitter": "500ms"}, "unevenStep"),
        ({"cron": "0 9 * * *", "excludeCalendar": "cn-off-days"}, "calendarEnds"),
        ({"every": "10s", "jitter": "1m"}, "wideSpread"),
    ],
)
def test_what_may_surprise_is_said(world: V1World, schedule: dict[str, Any], code: str) -> None:
    data = preview(world, **schedule)
    assert code in {warning["code"] for warning in data["warnings"]}
    assert all(warning["text"] and warning["textZh"] for warning in data["warnings"])
    assert bool(data["nextMoments"]) is (code != "neverFires")


def test_a_single_moment_that_the_clocks_skip_is_warned_of(world: V1World) -> None:
    skipped = {"at": "2190-03-28T02:30:00", "timezone": "Europe/Berlin"}
    world.made(schedule={"cron": "0 9 * * *"})
    edited = world.send("PATCH", f"{TIMERS}/key:expire", {"schedule": skipped}, rule=ONE).json["preview"]
    for data in (preview(world, **skipped), edited):
        assert [warning["code"] for warning in data["warnings"]] == ["clockForward"]


def test_whatever_is_shown_is_warned_of(world: V1World) -> None:
    data = preview(world, cron="30 2 26 3 *", timezone="Europe/Berlin")
    assert [one["at"][:10] for one in data["nextMoments"] if "T03:00" in one["at"]] == [
        one["text"].split(" on ")[1][:10] for one in data["warnings"] if one["code"] == "clockForward"
    ]


def test_a_moment_long_past_is_refused_as_by_create(world: V1World) -> None:
    long_past = {"at": world.clock.now - 61_000}
    refused = asked(world, long_past)
    created = world.send("POST", TIMERS, {"schedule": long_past, "target": {"url": URL}})
    assert (refused.status, refused.json) == (created.status, created.json)
    assert (refused.json["code"], refused.json["pointer"]) == (40008, "/schedule/at")
    assert moments(preview(world, at=world.clock.now - 60_000))


def test_bounds_and_counts_show(world: V1World) -> None:
    assert len(moments(preview(world, every="1m", maxFirings=3))) == 3
    start = world.clock.now + DAY_MS
    assert moments(preview(world, every="1m", startAt=start))[0] == show_moment(start)


def test_an_apps_own_calendar_is_found(world: V1World) -> None:
    world.send("PUT", "/v1/calendars/plant", {"weekdays": ["monday"]}, rule="/v1/calendars/{name}")
    schedule = {"cron": "0 9 * * *", "excludeCalendar": "plant"}
    assert preview(world, **schedule)["words"]["en"]
    assert asked(world, schedule, app="bank").json["code"] == 40008


def test_a_single_moment_is_shown(world: V1World) -> None:
    assert moments(preview(world, delay="5s")) == [show_moment(world.clock.now + 5_000)]


@pytest.mark.parametrize(("schedule", "count"), [({"cron": "x"}, 9), ({}, 9), ({"every": "1ms"}, 9)])
def test_what_cannot_be_read_is_refused(world: V1World, schedule: dict[str, Any], count: int) -> None:
    assert asked(world, schedule, count).status == 400


@pytest.mark.parametrize("count", [0, 101])
def test_so_many_moments_are_not_shown(small_world: V1World, count: int) -> None:
    refused = asked(small_world, {"cron": "* * * * *"}, count)
    assert (refused.status, refused.json["pointer"]) == (400, "/count")


def test_create_and_edit_answer_with_the_same(world: V1World) -> None:
    schedule = {"cron": "30 2 * * *", "timezone": "America/New_York"}
    shown = preview(world, count=5, **schedule)
    created = world.made(schedule=schedule)
    edited = world.send("PATCH", f"{TIMERS}/key:expire", {"key": "other"}, rule=ONE)
    assert created.json["preview"] == edited.json["preview"] == shown
