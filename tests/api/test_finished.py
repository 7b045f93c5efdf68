"""A timer is finished or it is not: its row and the filter of lists say the same at any moment."""

from typing import Any

import pytest

from tests.api.world import DEF, DEFS, ENABLE, RECORDS, UNABLE, World
from tests.store.members import outcome_of
from wangtimer.core.flow.firing import Member

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
CANCEL = "/api/task/v1/cancel"

# Schedules by name; moments in ms from now.
KINDS: dict[str, dict[str, Any]] = {
    "endless": {"cron": "* * * * *"},
    "once soon": {"at": 30 * SECOND},
    "once later": {"at": HOUR + MINUTE},
    "counted": {"everyMs": MINUTE, "maxFirings": 3},
    "counted and spread": {"everyMs": DAY, "anchorAt": MINUTE, "startAt": MINUTE, "maxFirings": 1, "jitterMs": HOUR},
    "ends after its last": {"everyMs": DAY, "anchorAt": 30 * SECOND, "startAt": 30 * SECOND, "endAt": HOUR},
    "ends on days left out": {"cron": "0 * * * *", "endAt": 9 * DAY, "excludeCalendar": "weekends"},
    "ends and is spread": {"cron": "*/10 * * * *", "endAt": HOUR, "jitterMs": 500 * SECOND},
    "a year long": {"cron": "0 */10 * * * * 2026-2027"},
}  # fmt: skip


def terms(kind: str, now: int) -> dict[str, Any]:
    moments = {"at", "anchorAt", "startAt", "endAt"}
    given = {name: now + value if name in moments else value for name, value in KINDS[kind].items()}
    return given if "everyMs" not in given else given | {"without": "cron"}


def listed(world: World, status: str) -> set[str]:
    return {row["name"] for row in world.get(DEFS, app="shop", limit=500, status=status).data}


def assert_agreed(world: World) -> None:
    rows = world.get(DEFS, app="shop", limit=500).data
    for status in ("disabled", "enabled", "finished"):
        assert {row["name"] for row in rows if row["statusName"] == status} == listed(world, status)
    assert {row["name"] for row in rows if row["statusName"] != "enabled"} == {
        row["name"] for row in rows if row["nextFireAt"] is None
    }


def test_row_and_filter_agree_on_every_kind_of_timer_at_any_moment(world: World) -> None:
    start = world.clock.now
    for kind in KINDS:
        world.enabled(name=kind, **terms(kind, start))
        world.made(name=f"{kind}, disabled", **terms(kind, start))
        again = world.enabled(name=f"{kind}, again", **terms(kind, start))
        assert [world.post(path, app="shop", id=again).code for path in (UNABLE, ENABLE)] == [0, 0]
    steps = [0, SECOND, 29 * SECOND, MINUTE, 2 * MINUTE, 30 * MINUTE, HOUR - 1, HOUR, HOUR + MINUTE, 3 * HOUR]
    for step in [*steps, 8 * DAY, 9 * DAY]:
        world.clock.now = start + step
        world.wiring.migrator.plan_due()
        assert_agreed(world)
    assert listed(world, "enabled") == {"endless", "endless, again", "a year long", "a year long, again"}


@pytest.mark.parametrize("is_planned", [True, False])
def test_one_whose_last_moment_was_cancelled_is_finished_after_the_one_before(
    world: World, is_planned: bool
) -> None:
    now, interval = world.clock.now, 20 * SECOND if is_planned else 40 * SECOND
    first = now + 10 * SECOND
    terms = {"everyMs": interval, "anchorAt": first, "startAt": first, "maxFirings": 2, "without": "cron"}
    timer_id = world.enabled(name="a", **terms)
    assert world.post(CANCEL, app="shop", id=timer_id, fireAt=first + interval).code == 0
    assert (world.get(DEF, app="shop", id=timer_id).data["statusName"], listed(world, "enabled")) == (
        "enabled",
        {"a"},
    )
    world.clock.now = first
    assert_agreed(world)
    assert listed(world, "finished") == {"a"}


def test_deleting_what_is_finished_leaves_a_moment_that_is_put_off(world: World) -> None:
    kind = "counted and spread"
    timer_id = world.enabled(name=kind, **terms(kind, world.clock.now))
    world.clock.now += 61 * SECOND
    world.wiring.migrator.plan_due()
    finished = {"filter": {"status": "finished"}}
    assert world.send("POST", "/v1/timers:batchDelete", finished).json["matched"] == 0
    assert world.get(DEF, app="shop", id=timer_id).data["statusName"] == "enabled"


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, {}),
        ({"retentionDays": 7}, {"retentionDays": 7}),
        ({"deleteAfterFinish": True}, {"deleteAfterFinish": True}),
        ({"deleteAfterFinish": False, "retentionDays": 3_650}, {"retentionDays": 3_650}),
    ],
)
def test_a_timer_says_how_long_it_is_kept_once_it_is_finished(
    world: World, fields: dict[str, Any], shown: dict[str, Any]
) -> None:
    timer_id = world.made(**fields)
    assert kept(world, timer_id) == shown


KEEPING: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"retentionDays": 7}, {"tags": ["a"]}, {"retentionDays": 7}),
    ({"retentionDays": 7}, {"retentionDays": 8}, {"retentionDays": 8}),
    ({"retentionDays": 7}, {"retentionDays": None}, {}),
    ({"retentionDays": 7}, {"deleteAfterFinish": True}, {"deleteAfterFinish": True}),
    ({"retentionDays": 7}, {"deleteAfterFinish": False}, {"retentionDays": 7}),
    ({"deleteAfterFinish": True}, {"tags": ["a"]}, {"deleteAfterFinish": True}),
    ({"deleteAfterFinish": True}, {"deleteAfterFinish": False}, {}),
    ({"deleteAfterFinish": True}, {"deleteAfterFinish": None}, {}),
    ({"deleteAfterFinish": True}, {"retentionDays": 7}, {"retentionDays": 7}),
    ({"deleteAfterFinish": True}, {"retentionDays": None}, {"deleteAfterFinish": True}),
]


@pytest.mark.parametrize(("was", "edit", "shown"), KEEPING, ids=str)
def test_an_edit_changes_how_long_it_is_kept(
    small_world: World, was: dict[str, Any], edit: dict[str, Any], shown: dict[str, Any]
) -> None:
    timer_id = small_world.made(**was)
    small_world.patch(app="shop", id=timer_id, **edit)
    assert kept(small_world, timer_id) == shown


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"retentionDays": 0}, "retentionDays"),
        ({"retentionDays": 3_651}, "retentionDays"),
        ({"retentionDays": "7"}, "retentionDays"),
        ({"deleteAfterFinish": 1}, "deleteAfterFinish"),
        ({"retentionDays": 7, "deleteAfterFinish": True}, "retentionDays"),
    ],
)
def test_what_it_cannot_be_kept_for_is_refused(
    small_world: World, fields: dict[str, Any], field: str
) -> None:
    refused = small_world.create(**fields)
    assert (refused.status, refused.json["field"]) == (400, field)


def test_a_finished_timers_name_is_free_again_and_its_records_are_read(world: World) -> None:
    at = world.clock.now + 5_000
    timer_id = world.enabled(cron=None, at=at, deleteAfterFinish=True)
    world.clock.now = at + 1_000
    assert world.wiring.finished_purger.purge() == 0
    assert world.create(cron=None, at=at + 60_000).code == 40901
    world.wiring.firings.settle([outcome_of(Member(timer_id, at, 1))])
    assert world.wiring.finished_purger.purge() == 1
    assert world.create(cron=None, at=at + 60_000).status == 200
    assert [one["fireAtMs"] for one in world.get(RECORDS, app="shop", id=timer_id).data] == [at]
    assert world.get(DEF, app="shop", id=timer_id).status == 404


def kept(world: World, timer_id: int) -> dict[str, Any]:
    timer = world.get(DEF, app="shop", id=timer_id).data
    return {name: timer[name] for name in ("retentionDays", "deleteAfterFinish") if name in timer}
