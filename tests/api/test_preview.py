"""What a schedule comes to, before it is saved."""

from typing import Any

import pytest

from tests.api.world import World

PREVIEW = "/api/timer/v1/preview"


def preview(world: World, **fields: Any) -> Any:
    answered = world.post(PREVIEW, **fields)
    assert answered.status == 200, answered.json
    return answered.data


def test_moments_come_in_the_timers_zone_and_in_utc_and_nothing_is_stored(world: World) -> None:
    data = preview(world, cron="0 9 * * *", timezone="Asia/Shanghai", count=3)
    assert len(data["nextMoments"]) == 3
    for moment in data["nextMoments"]:
        assert moment["at"].endswith("T09:00:00.000+08:00")
        assert moment["utc"].endswith("T01:00:00.000Z")
    assert world.stored() == (0, 0)


def test_the_schedule_comes_in_words_of_two_languages(world: World) -> None:
    words = preview(world, cron="0 9 * * 1-5", timezone="Asia/Shanghai")["words"]
    assert words == {
        "en": "at 09:00 from Monday to Friday (Asia/Shanghai)",
        "zh": "每周一至周五 09:00（Asia/Shanghai 时间）",
    }


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"cron": "30 2 * * *", "timezone": "America/New_York"}, "clockForward"),
        ({"cron": "30 1 * * *", "timezone": "America/New_York"}, "clockBack"),
        ({"cron": "0 0 9 * * *"}, "fieldOrder"),
        ({"cron": "0 0 30 2 *"}, "neverFires"),
        ({"cron": "0 9 * * 6", "excludeCalendar": "weekends"}, "neverFires"),
        ({"cron": "0 0 13 * 5"}, "eitherDay"),
        ({"cron": "0 9 * * *", "excludeCalendar": "cn-off-days"}, "calendarEnds"),
        ({"everyMs": 10_000, "jitterMs": 60_000}, "wideSpread"),
    ],
)
def test_what_may_surprise_is_said(world: World, given: dict[str, Any], code: str) -> None:
    data = preview(world, **given)
    assert code in {warning["code"] for warning in data["warnings"]}
    assert all(warning["text"] and warning["textZh"] for warning in data["warnings"])
    assert bool(data["nextMoments"]) is (code != "neverFires")


def test_a_single_moment_that_the_clocks_skip_is_warned_of(world: World) -> None:
    skipped = {"at": "2190-03-28T02:30:00", "timezone": "Europe/Berlin"}
    timer_id = world.made(cron="0 9 * * *")
    for data in (preview(world, **skipped), world.patch(app="shop", id=timer_id, **skipped).data):
        assert [warning["code"] for warning in data["warnings"]] == ["clockForward"]


def test_whatever_is_shown_is_warned_of(world: World) -> None:
    data = preview(world, cron="30 2 26 3 *", timezone="Europe/Berlin", count=10)
    assert [one["at"][:10] for one in data["nextMoments"] if "T03:00" in one["at"]] == [
        one["text"].split(" on ")[1][:10] for one in data["warnings"] if one["code"] == "clockForward"
    ]


def test_a_moment_long_past_is_refused_as_by_create(world: World) -> None:
    long_past = {"at": world.clock.now - 61_000}
    refused, created = world.post(PREVIEW, **long_past), world.create(cron=None, **long_past)
    assert (refused.status, refused.json) == (created.status, created.json)
    assert (refused.code, refused.json["field"]) == (40008, "at")
    assert preview(world, at=world.clock.now - 60_000)["nextMoments"]


def test_bounds_and_counts_show(world: World) -> None:
    assert len(preview(world, everyMs=60_000, maxFirings=3)["nextMoments"]) == 3
    start = world.clock.now + 86_400_000
    assert preview(world, everyMs=60_000, startAt=start)["nextMoments"][0]["atMs"] == start


def test_an_apps_own_calendar_is_found(world: World) -> None:
    world.put("/api/timer/v1/calendar", app="shop", name="plant", weekdays=[1])
    assert preview(world, app="shop", cron="0 9 * * *", excludeCalendar="plant")["words"]["en"]
    assert world.post(PREVIEW, app="bank", cron="0 9 * * *", excludeCalendar="plant").code == 40008


def test_a_single_moment_is_shown(world: World) -> None:
    data = preview(world, delayMs=5_000)
    assert [moment["atMs"] for moment in data["nextMoments"]] == [world.clock.now + 5_000]


@pytest.mark.parametrize(
    "given", [{"cron": "nonsense"}, {}, {"cron": "* * * * *", "count": 0}, {"everyMs": 1}]
)
def test_what_cannot_be_read_is_refused(world: World, given: dict[str, Any]) -> None:
    assert world.post(PREVIEW, **given).status == 400


def test_create_and_edit_answer_with_the_same(world: World) -> None:
    shown = preview(world, cron="30 2 * * *", timezone="America/New_York", count=5)
    created = world.create(cron="30 2 * * *", timezone="America/New_York")
    edited = world.patch(app="shop", id=created.json["id"], name="other")
    for answer in (created.data, edited.data):
        assert {name: answer[name] for name in ("nextMoments", "words", "warnings")} == shown
