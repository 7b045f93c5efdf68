"""Schedules over HTTP: intervals, bounds, excluded days, spread."""

from typing import Any

import pytest

from tests.api.world import DEF, ENABLE, World
from wangtimer.core.time.moment_text import show_moment

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


def next_moments(answer: Any) -> list[int]:
    return [moment["atMs"] for moment in answer.data["nextMoments"]]


def test_an_interval_counts_from_now_from_its_start_or_from_its_anchor(world: World) -> None:
    now = world.clock.now
    assert next_moments(world.create(cron=None, everyMs=90_000))[:2] == [now + 90_000, now + 180_000]
    started = world.create(name="b", cron=None, everyMs=90_000, startAt=now + HOUR)
    assert next_moments(started)[0] == now + HOUR
    anchored = world.create(name="c", cron=None, everyMs=90_000, anchorAt=now - 30_000)
    assert next_moments(anchored)[0] == now + 60_000
    assert (anchored.data["anchorAt"], "cron" in anchored.data) == (show_moment(now - 30_000), False)


def test_bounds_are_read_back_as_given(world: World) -> None:
    start, end = world.clock.now + HOUR, world.clock.now + 30 * DAY
    timer_id = world.made(
        cron="0 * * * *", startAt=start, endAt=end, maxFirings=100, jitterMs=5_000, excludeCalendar="weekends"
    )
    data = world.get(DEF, app="shop", id=timer_id).data
    assert (data["startAt"], data["endAt"]) == (show_moment(start), show_moment(end))
    assert (data["maxFirings"], data["jitterMs"], data["excludeCalendar"]) == (100, 5_000, "weekends")


def test_a_timer_is_finished_once_no_moment_is_left(world: World) -> None:
    timer_id = world.made(cron="* * * * *", maxFirings=2)
    enabled = world.post(ENABLE, app="shop", id=timer_id)
    assert (enabled.data["status"], enabled.data["statusName"]) == (2, "enabled")
    assert world.stored()[1] <= 2
    world.clock.now += 3 * MINUTE
    world.wiring.migrator.plan_due()
    data = world.get(DEF, app="shop", id=timer_id).data
    assert (data["status"], data["statusName"], data["nextFireAt"]) == (3, "finished", None)


@pytest.mark.test_all
@pytest.mark.parametrize("rule", [{"cron": "*/5 * * * * *"}, {"cron": None, "everyMs": SECOND}])
def test_a_dense_timer_is_taken_on_a_closed_day_and_goes_on_after_each(
    world: World, rule: dict[str, Any]
) -> None:
    saturday = (world.clock.now // DAY + (2 - world.clock.now // DAY) % 7) * DAY
    monday, next_monday = saturday + 2 * DAY, saturday + 9 * DAY
    world.clock.now = saturday + HOUR
    timer_id = world.made(**rule, excludeCalendar="weekends")
    enabled = world.post(ENABLE, app="shop", id=timer_id)
    assert enabled.data["nextFireAt"] == show_moment(monday)
    for now, following in ((monday + HOUR, None), (saturday + 7 * DAY - SECOND, next_monday)):
        world.clock.now = now
        world.wiring.migrator.plan_due()
        data = world.get(DEF, app="shop", id=timer_id).data
        assert data["statusName"] == "enabled"
        assert following is None or data["nextFireAt"] == show_moment(following)


def test_a_jitter_puts_moments_off_by_the_same_each_time(world: World) -> None:
    timer_id = world.made(cron="0 0 * * *", jitterMs=HOUR)
    enabled = world.post(ENABLE, app="shop", id=timer_id)
    other = world.post(ENABLE, app="shop", id=world.made(name="b", cron="0 0 * * *", jitterMs=HOUR))
    assert enabled.data["nextFireAt"] != other.data["nextFireAt"]
    assert world.get(DEF, app="shop", id=timer_id).data["nextFireAt"] == enabled.data["nextFireAt"]


def test_an_interval_with_a_jitter_begins_an_interval_from_now(world: World) -> None:
    for number, fields in enumerate(({}, {"anchorAt": world.clock.now - 1}, {"startAt": world.clock.now})):
        made = world.create(name=str(number), cron=None, everyMs=HOUR, jitterMs=MINUTE, **fields)
        first = next_moments(made)[0] - world.clock.now
        assert HOUR - 1 <= first < HOUR + MINUTE, fields
    schedule = {"schedule": {"every": "1h", "jitter": "1m"}}
    shown = world.send("POST", "/v1/schedules:preview", schedule).json["nextMoments"]
    assert shown[0]["utc"] >= show_moment(world.clock.now + HOUR)
    edited = world.patch(app="shop", id=world.made(name="x", cron="0 0 * * *", jitterMs=MINUTE), everyMs=HOUR)
    assert next_moments(edited)[0] >= world.clock.now + HOUR


def test_an_anchor_to_come_is_a_moment_itself(world: World) -> None:
    anchor = world.clock.now + MINUTE
    made = world.create(cron=None, everyMs=HOUR, jitterMs=MINUTE, anchorAt=anchor)
    assert anchor <= next_moments(made)[0] < anchor + MINUTE


def test_no_more_moments_are_shown_than_it_will_have(small_world: World) -> None:
    made = small_world.create(cron="* * * * *", maxFirings=2)
    assert len(next_moments(made)) == 2
    assert len(next_moments(small_world.patch(app="shop", id=made.json["id"], maxFirings=3))) == 3
    assert len(next_moments(small_world.patch(app="shop", id=made.json["id"], maxFirings=9))) == 5


@pytest.mark.parametrize("bound", ["startAt", "endAt", "maxFirings", "jitterMs", "excludeCalendar"])
def test_a_single_moment_takes_no_bound(world: World, bound: str) -> None:
    value = (
        "weekends" if bound == "excludeCalendar" else world.clock.now + HOUR if bound.endswith("At") else 5
    )
    refused = world.create(cron=None, delayMs=5_000, **{bound: value})
    assert (refused.code, refused.json["field"]) == (40008, bound)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"everyMs": 999}, "everyMs"),
        ({"everyMs": 60_000, "cron": "* * * * *"}, "cron"),
        ({"everyMs": 60_000, "timezone": "Mars/Olympus"}, "timezone"),
        ({"everyMs": 60_000, "anchorAt": "soon"}, "anchorAt"),
        ({"everyMs": 60_000, "startAt": True}, "startAt"),
        ({"everyMs": 60_000, "endAt": 1_795_198_611}, "endAt"),
        ({"everyMs": 60_000, "startAt": 1_900_000_000_000, "endAt": 1_899_999_999_999}, "endAt"),
        ({"everyMs": 60_000, "maxFirings": 100_001}, "maxFirings"),
        ({"cron": "0 9 * * 6", "excludeCalendar": "weekends"}, "excludeCalendar"),
        ({"cron": "0 9 * * 6", "anchorAt": 1_900_000_000_000}, "anchorAt"),
    ],
)
def test_what_cannot_be_names_its_field(world: World, given: dict[str, Any], field: str) -> None:
    refused = world.create(**{"cron": None} | given)
    assert (refused.status, refused.json["field"]) == (400, field)
    assert world.stored() == (0, 0)


def test_a_dialect_is_kept_by_edits_and_goes_round(world: World) -> None:
    made = world.create(cron="0 0 9 ? * 2", cronDialect="quartz")
    assert (made.data["cron"], made.data["cronDialect"]) == ("0 0 9 ? * 2", "quartz")
    assert made.data["words"]["en"] == "at 09:00 on Mondays (UTC)"
    timer_id = made.json["id"]
    enabled = world.post(ENABLE, app="shop", id=timer_id)
    assert enabled.data["nextFireAt"] == made.data["nextMoments"][0]["utc"]
    edited = world.patch(app="shop", id=timer_id, cron="0 0 9 ? * 6L")
    assert (edited.data["cronDialect"], edited.data["words"]["en"]) == (
        "quartz",
        "at 09:00 on the last Friday of every month (UTC)",
    )
    assert (
        world.patch(app="shop", id=timer_id, cron="0 9 * * 2", cronDialect="unix").data["cronDialect"]
        == "unix"
    )


def test_a_dialect_without_a_cron_is_refused(world: World) -> None:
    refused = world.create(cron=None, everyMs=HOUR, cronDialect="quartz")
    assert refused.json["field"] == "cronDialect"
