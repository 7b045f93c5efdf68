"""A timer is finished or it is not: its row and the filter of lists say the same at any moment."""

from typing import Any

import pytest

from tests.api.world import DEF, DEFS, DISABLE, ENABLE, World

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
CANCEL, BULK = "/api/task/v1/cancel", "/api/timer/v1/bulk"

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
        assert [world.post(path, app="shop", id=again).code for path in (DISABLE, ENABLE)] == [0, 0]
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
    answered = world.post(BULK, app="shop", action="delete", filter={"status": "finished"})
    assert (answered.data["matched"], world.get(DEF, app="shop", id=timer_id).data["statusName"]) == (
        0,
        "enabled",
    )
