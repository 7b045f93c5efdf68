"""Zone rules that change: moments planned by the old ones are superseded, and those of the new ones are planned."""

from typing import Any

import pytest
from sqlalchemy import select, update

from tests.api.world import World
from wangtimer import zone_follower
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.time.zones import rules_version
from wangtimer.store.sql.tables import firings, timers
from wangtimer.store.sql.zone_rules import PlannedBy
from wangtimer.zone_follower import ZoneFollower, own_digests

ZONE, OTHER = "Africa/Casablanca", "Asia/Shanghai"
MINUTE_MS = 60_000
OLD = PlannedBy("2000a", own_digests() | {ZONE: "other rules"})


@pytest.fixture
def follower(world: World, monkeypatch: pytest.MonkeyPatch) -> ZoneFollower:
    monkeypatch.setattr(zone_follower, "PAGE", 4)
    return world.wiring.zone_follower


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
    world.wiring.zone_follower.store.write(OLD, None)


def moments(world: World, timer_id: int) -> set[int]:
    query = select(firings.c.fire_at).where(
        firings.c.timer_id == timer_id, firings.c.status == FiringStatus.PENDING.value
    )
    return set(world.wiring.database.read(lambda sql: sql.execute(query).scalars().all()))


def definition(world: World, timer_id: int) -> Any:
    return world.wiring.timers.definitions([timer_id])[timer_id]


def test_timers_of_a_zone_with_other_rules_are_planned_anew_and_no_others(
    world: World, follower: ZoneFollower
) -> None:
    ids, others = minutely(world, ZONE, 10), minutely(world, OTHER, 3)
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
    assert held == PlannedBy(rules_version(), own_digests())


def test_what_a_death_left_undone_is_gone_on_with(
    world: World, follower: ZoneFollower, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = minutely(world, ZONE, 10)
    planned_by_old_rules(world, ids)
    monkeypatch.setattr(zone_follower, "LONGEST_S", 0.0)
    monkeypatch.setattr(follower.clock, "monotonic", iter([0.0, -1.0, 1.0]).__next__, raising=False)
    follower.sweep()
    assert {definition(world, one).edited_at > 0 for one in ids} == {True, False}
    monkeypatch.undo()
    ZoneFollower(follower.registrar, follower.store, follower.clock).sweep()
    assert {definition(world, one).version for one in ids} == {definition(world, ids[0]).version}
    assert all(definition(world, one).edited_at > 0 for one in ids)


def test_a_process_with_older_rules_changes_nothing(world: World, follower: ZoneFollower) -> None:
    (timer,) = minutely(world, ZONE, 1)
    newer = PlannedBy("2999z", {ZONE: "newer rules"})
    follower.store.write(newer, None)
    version = definition(world, timer).version
    follower.sweep()
    assert follower.store.read() == newer
    assert definition(world, timer).version == version


def test_the_first_process_notes_its_rules_and_plans_nothing_anew(
    world: World, follower: ZoneFollower
) -> None:
    (timer,) = minutely(world, ZONE, 1)
    version = definition(world, timer).version
    follower.sweep()
    assert follower.store.read() == PlannedBy(rules_version(), own_digests())
    assert definition(world, timer).version == version
