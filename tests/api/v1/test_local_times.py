"""Moments and days by the wall clock of the schedule's zone."""

from datetime import datetime
from typing import Any

import pytest

from tests.api.v1.world import TIMERS, URL, V1World
from wangtimer.core.time.moment_text import show_moment

PREVIEW, ONE = "/v1/schedules:preview", "/v1/timers/{which}"
TARGET = {"url": URL}
BERLIN = "Europe/Berlin"


def asked(world: V1World, **schedule: Any) -> Any:
    return world.send("POST", TIMERS, {"schedule": schedule, "target": TARGET})


def moments(answer: Any) -> list[datetime]:
    return [datetime.fromisoformat(one["at"]) for one in answer["nextMoments"]]


def preview(world: V1World, count: int = 5, **schedule: Any) -> Any:
    answered = world.send("POST", PREVIEW, {"schedule": schedule, "count": count})
    assert answered.status == 200, answered.json
    return answered.json


@pytest.mark.parametrize(
    ("local", "zone", "moment"),
    [
        ("2030-12-24T09:00:00", BERLIN, "2030-12-24T08:00:00.000Z"),
        ("2030-07-24 09:00:00.5", BERLIN, "2030-07-24T07:00:00.500Z"),
        ("2030-12-24T09:00:00", "Asia/Kathmandu", "2030-12-24T03:15:00.000Z"),
        # 02:00 to 03:00 does not exist: the first moment after it, as a cron has it.
        ("2030-03-31T02:30:00", BERLIN, "2030-03-31T01:00:00.000Z"),
        ("2030-03-31T03:30:00", BERLIN, "2030-03-31T01:30:00.000Z"),
        # 02:00 to 03:00 comes twice: the first time.
        ("2030-10-27T02:30:00", BERLIN, "2030-10-27T00:30:00.000Z"),
        ("2030-10-27T03:00:00", BERLIN, "2030-10-27T02:00:00.000Z"),
        # What has an offset says its moment already.
        ("2030-12-24T09:00:00+08:00", BERLIN, "2030-12-24T01:00:00.000Z"),
    ],
)
def test_a_moment_without_an_offset_is_read_in_the_zone_that_is_named(
    small_world: V1World, local: str, zone: str, moment: str
) -> None:
    made = asked(small_world, at=local, timezone=zone)
    assert (made.status, made.json["schedule"]) == (201, {"at": moment})


@pytest.mark.parametrize(
    ("local", "warnings"),
    [
        (
            "2027-03-28T02:30:00",
            [("clockForward", "02:30 does not exist on 2027-03-28 (the clocks go forward), fires at 03:00")],
        ),
        (
            "2027-10-31 02:30:00.5",
            [("clockBack", "02:30 comes twice on 2027-10-31 (the clocks go back), fires once")],
        ),
        ("2027-03-28T03:00:00", []),
        ("2027-10-31T03:00:00", []),
        # An offset says which it is.
        ("2027-10-31T02:30:00+01:00", []),
        ("2027-10-31t02:30:00.25z", []),
    ],
)
def test_a_moment_that_the_clocks_skip_or_have_twice_is_warned_of(
    small_world: V1World, local: str, warnings: list[tuple[str, str]]
) -> None:
    schedule = {"at": local, "timezone": BERLIN}
    body = {"schedule": schedule, "target": TARGET}
    small_world.made(key="other")
    changed = small_world.send("PATCH", f"{TIMERS}/key:other", {"schedule": schedule}, rule=ONE)
    for answer in (
        small_world.send("POST", "/v1/schedules:preview", {"schedule": schedule}).json,
        small_world.send("POST", TIMERS, body).json["preview"],
        small_world.send("PUT", f"{TIMERS}/key:third", body, rule=ONE).json["preview"],
        changed.json["preview"],
    ):
        assert [(one["code"], one["text"]) for one in answer["warnings"]] == warnings


def test_it_fires_when_a_cron_of_that_time_of_day_does(small_world: V1World) -> None:
    for day in ("2030-03-31", "2030-10-27"):
        cron = preview(small_world, 1, cron="30 2 * * *", timezone=BERLIN, startAt=f"{day}T00:00:00")
        once = preview(small_world, 1, at=f"{day}T02:30:00", timezone=BERLIN)
        assert moments(cron) == moments(once)


def test_so_are_bounds_and_anchors_also_in_a_patch(small_world: V1World) -> None:
    bounds = {"startAt": "2030-12-01T00:00:00", "endAt": "2030-12-31T23:59:59"}
    small_world.made(schedule={"cron": "@daily", "timezone": BERLIN, **bounds})
    patch = {"schedule": {"every": "5m", "anchorAt": "2030-12-01T09:00:00", "timezone": BERLIN}}
    answered = small_world.send("PATCH", f"{TIMERS}/key:expire", patch, rule=ONE)
    schedule = answered.json["schedule"]
    assert (schedule["startAt"], schedule["endAt"]) == (
        "2030-11-30T23:00:00.000Z",
        "2030-12-31T22:59:59.000Z",
    )
    assert schedule["anchorAt"] == "2030-12-01T08:00:00.000Z"


@pytest.mark.parametrize(
    ("schedule", "detail"),
    [
        # The zone of the timer so far does not count: the request alone says what a text means.
        ({"at": "2030-12-24T09:00:00"}, "has no offset; give timezone beside it, or add its offset from UTC"),
        ({"at": "2030-12-24T09:00", "timezone": BERLIN}, "has no seconds; write 2030-12-24T09:00:00"),
        (
            {"at": "2030-02-30T09:00:00", "timezone": BERLIN},
            "has a day, a time or an offset that there is not",
        ),
        ({"at": "2030-12-24T09:00:00", "timezone": "Berlin"}, "'Berlin' is not an IANA time zone"),
    ],
)
def test_a_local_moment_that_cannot_be_read_is_refused(
    small_world: V1World, schedule: dict[str, Any], detail: str
) -> None:
    small_world.made(schedule={"cron": "@daily", "timezone": BERLIN})
    assert detail in asked(small_world, **schedule).json["detail"]
    answered = small_world.send("PATCH", f"{TIMERS}/key:expire", {"schedule": schedule}, rule=ONE)
    assert (answered.status, detail in answered.json["detail"]) == (400, True)


EVERY_OTHER_MONDAY = {"everyDays": 14, "anchorAt": "2030-03-18T09:00:00", "timezone": BERLIN}
ANCHORED = {"everyDays": 14, "anchorAt": "2030-03-18T08:00:00.000Z", "timezone": BERLIN}


def test_every_other_week_at_nine_stays_at_nine_when_the_clocks_change(world: V1World) -> None:
    answer = preview(world, 3, **EVERY_OTHER_MONDAY)
    assert [f"{at:%a %d.%m. %H:%M}" for at in moments(answer)] == [
        "Mon 18.03. 09:00",
        "Mon 01.04. 09:00",
        "Mon 15.04. 09:00",
    ]
    assert answer["words"] == {
        "en": f"every 14 days at the time of day of 2030-03-18 09:00, from then on ({BERLIN})",
        "zh": f"从 2030-03-18 09:00 起每 14 天同一钟点一次（{BERLIN} 时间）",
    }
    world.made(schedule=EVERY_OTHER_MONDAY)
    read = world.send("GET", f"{TIMERS}/key:expire", rule=ONE)
    assert (read.json["schedule"], read.json["nextFireAt"]) == (ANCHORED, ANCHORED["anchorAt"])
    # What is shown makes the same timer.
    put = world.send("PUT", f"{TIMERS}/key:expire", {"schedule": ANCHORED, "target": TARGET}, rule=ONE)
    assert (put.status, put.json["version"]) == (200, read.json["version"])


def test_a_zone_alone_keeps_the_time_of_day_of_days_and_the_moments_of_an_interval(
    small_world: V1World,
) -> None:
    zone = {"schedule": {"timezone": "America/New_York"}}
    small_world.made(schedule=EVERY_OTHER_MONDAY)
    there = small_world.send("PATCH", f"{TIMERS}/key:expire", zone, rule=ONE)
    assert [one["at"][:16] for one in there.json["preview"]["nextMoments"][:2]] == [
        "2030-03-18T09:00",
        "2030-04-01T09:00",
    ]
    again = small_world.send("PATCH", f"{TIMERS}/key:expire", zone, rule=ONE)
    assert again.json["version"] == there.json["version"]
    every = small_world.made(key="hourly", schedule={"every": "1h"}).json["schedule"]
    moved = small_world.send("PATCH", f"{TIMERS}/key:hourly", zone, rule=ONE)
    assert moved.json["schedule"] == every | zone["schedule"]


def test_a_zone_alone_is_refused_for_a_single_moment(small_world: V1World) -> None:
    small_world.made(schedule={"at": "2030-12-24T09:00:00", "timezone": BERLIN})
    zone = {"schedule": {"timezone": "Asia/Tokyo"}}
    refused = small_world.send("PATCH", f"{TIMERS}/key:expire", zone, rule=ONE)
    assert (refused.status, refused.json["type"][-5:]) == (400, "40008")
    assert "give at anew, with timezone" in refused.json["detail"]
    # The zone in which its moment is kept changes nothing.
    same = small_world.send("PATCH", f"{TIMERS}/key:expire", {"schedule": {"timezone": "UTC"}}, rule=ONE)
    assert (same.status, same.json["version"]) == (200, 1)


def test_days_count_from_now_and_go_on_through_a_patch_and_a_put(small_world: V1World) -> None:
    made = small_world.made(schedule={"everyDays": 2}).json["schedule"]
    assert made["anchorAt"] == show_moment(small_world.clock.now)
    small_world.clock.now += 5_000
    put = small_world.send(
        "PUT", f"{TIMERS}/key:expire", {"schedule": {"everyDays": 2}, "target": TARGET}, rule=ONE
    )
    assert put.json["schedule"] == made
    patch = small_world.send("PATCH", f"{TIMERS}/key:expire", {"schedule": {"everyDays": 3}}, rule=ONE)
    assert patch.json["schedule"] == made | {"everyDays": 3}
    patch = small_world.send("PATCH", f"{TIMERS}/key:expire", {"schedule": {"every": "1h"}}, rule=ONE)
    assert patch.json["schedule"].keys() == {"every", "anchorAt", "timezone"}


@pytest.mark.parametrize(
    ("schedule", "detail"),
    [
        ({"everyDays": 0}, "1"),
        ({"everyDays": 367}, "366"),
        ({"everyDays": "2w"}, "number"),
        ({"everyDays": 1, "every": "1d"}, "2 of cron, every, everyDays, at and delay are given"),
        ({"cron": "@daily", "anchorAt": "2030-03-18T08:00:00Z"}, "it belongs to every and everyDays"),
    ],
)
def test_days_that_cannot_be_are_refused(small_world: V1World, schedule: dict[str, Any], detail: str) -> None:
    answered = asked(small_world, **schedule)
    assert (answered.status, detail in answered.json["detail"]) == (400, True), answered.json


def test_an_interval_of_days_that_drifts_is_told(small_world: V1World) -> None:
    drifting: dict[str, Any] = {"every": "2w", "anchorAt": "2030-03-18T09:00:00", "timezone": BERLIN}
    (warning,) = preview(small_world, **drifting)["warnings"]
    assert (warning["code"], "everyDays keeps the time of day" in warning["text"]) == ("clockDrift", True)
    made = small_world.made(schedule=drifting)
    assert [one["code"] for one in made.json["preview"]["warnings"]] == ["clockDrift"]
