"""Rules that change: moments that were planned by the old ones are superseded, and those of the new ones planned."""

from itertools import chain, repeat
from typing import Any

import pytest
from sqlalchemy import select, update

from tests.api.world import World
from wangtimer import rules_follower
from wangtimer.cli.doctor.findings import Severity
from wangtimer.cli.doctor.rules_checkup import judged
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.rules_follower import RulesFollower, own_rules
from wangtimer.store.sql.schedule_rules import PlannedBy
from wangtimer.store.sql.tables import firings, timers

ZONE, OTHER, OFF_DAYS = "Africa/Casablanca", "Asia/Shanghai", "cn-off-days"
MINUTE_MS = 60_000
OLD = PlannedBy("2000.1 1.0.0", {**own_rules().digests, ZONE: "other rules", OFF_DAYS: "other days"})


@pytest.fixture
def follower(world: World, monkeypatch: pytest.MonkeyPatch) -> RulesFollower:
    monkeypatch.setattr(rules_follower, "PAGE", 4)
    return world.wiring.rules_follower


def minutely(world: World, zone: str, number: int) -> list[int]:
    return [
        world.enabled(name=f"{zone}-{one}", cron=f"{one} * * * * *", timezone=zone) for one in range(number)
    ]


def planned_by_old_rules(world: World, ids: list[int]) -> None:
    """Put the timers' plans half a minute off, as rules that stood before may have."""

    def work(sql: Any) -> None:
        sql.execute(
            update(firings)
            .where(firings.c.timer_id.in_(ids))
            .values(fire_at=firings.c.fire_at + MINUTE_MS // 2)
        )
        moved = {"next_fire_at": timers.c.next_fire_at + MINUTE_MS // 2}
        sql.execute(update(timers).where(timers.c.id.in_(ids)).values(moved))

    world.wiring.database.write(work)
    world.wiring.rules_follower.store.write(OLD, None)


def moments(world: World, timer_id: int) -> set[int]:
    query = select(firings.c.fire_at).where(
        firings.c.timer_id == timer_id, firings.c.status == FiringStatus.PENDING.value
    )
    return set(world.wiring.database.read(lambda sql: sql.execute(query).scalars().all()))


def definition(world: World, timer_id: int) -> Any:
    return world.wiring.timers.definitions([timer_id])[timer_id]


def test_timers_of_a_zone_with_other_rules_are_planned_anew_and_no_others(
    world: World, follower: RulesFollower
) -> None:
    ids, others = minutely(world, ZONE, 10), minutely(world, OTHER, 3)
    ids.append(world.enabled(name="works", cron="7 * * * * *", timezone=OTHER, excludeCalendar=OFF_DAYS))
    before = {one: definition(world, one).version for one in others}
    planned_by_old_rules(world, ids)
    wrong = {one: moments(world, one) for one in ids}
    follower.sweep()
    for one in ids:
        new = definition(world, one)
        right = moments(world, one) - wrong[one]
        assert right
        assert all(new.still_wants(at) for at in right)
        assert not any(new.still_wants(at) for at in wrong[one])
        assert world.wiring.definitions.get([one]).definitions[one] == new._replace(edited_before_at=0)
    assert {one: definition(world, one).version for one in others} == before
    held = follower.store.read()
    assert held == own_rules()


def test_what_a_death_left_undone_is_gone_on_with(
    world: World, follower: RulesFollower, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = minutely(world, ZONE, 10)
    planned_by_old_rules(world, ids)
    monkeypatch.setattr(rules_follower, "LONGEST_S", 0.0)
    monkeypatch.setattr(follower.clock, "monotonic", chain([0.0, -1.0], repeat(1.0)).__next__, raising=False)
    follower.sweep()
    assert {definition(world, one).edited_at > 0 for one in ids} == {True, False}
    monkeypatch.undo()
    RulesFollower(follower.registrar, follower.store, follower.clock).sweep()
    assert {definition(world, one).version for one in ids} == {definition(world, ids[0]).version}
    assert all(definition(world, one).edited_at > 0 for one in ids)


def test_a_process_with_older_rules_changes_nothing(world: World, follower: RulesFollower) -> None:
    (timer,) = minutely(world, ZONE, 1)
    newer = PlannedBy("2999.1 999.0.0", {ZONE: "newer rules"})
    follower.store.write(newer, None)
    version = definition(world, timer).version
    follower.sweep()
    assert follower.store.read() == newer
    assert definition(world, timer).version == version


def test_the_first_process_notes_its_rules_and_plans_nothing_anew(
    world: World, follower: RulesFollower
) -> None:
    (timer,) = minutely(world, ZONE, 1)
    version = definition(world, timer).version
    follower.sweep()
    assert follower.store.read() == own_rules()
    assert definition(world, timer).version == version


def test_doctor_counts_the_timers_that_are_left(world: World, follower: RulesFollower) -> None:
    ids = minutely(world, ZONE, 3)
    minutely(world, OTHER, 2)
    planned_by_old_rules(world, ids)
    (before,) = judged(follower.store)
    follower.sweep()
    (after,) = judged(follower.store)
    assert (before.severity, before.text[:23]) == (Severity.WARNING, "3 enabled timers are pl")
    assert after.severity is Severity.OK
    follower.store.write(PlannedBy("2999.1 999.0.0", {}), own_rules())
    (outdated,) = judged(follower.store)
    assert outdated.severity is Severity.WARNING
