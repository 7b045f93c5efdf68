"""Rules that change: moments that were planned by the old ones are superseded, and those of the new ones planned."""

import functools
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from sqlalchemy import select

from tests.api.answered_controls import apply_controls, stop_gone
from tests.api.world import World
from wangtimer.cli.doctor.findings import Severity
from wangtimer.cli.doctor.stored_checkups import of_rules
from wangtimer.core.errors import StoreAway, VersionChanged
from wangtimer.core.flow.reply_control import ControlKind, ReplyControl
from wangtimer.core.time import zones
from wangtimer.core.timers.timer import Definition
from wangtimer.planning import schedule_followers
from wangtimer.planning.schedule_followers import RulesFollower, is_newer, own_rules
from wangtimer.store.redis.definitions import KEPT_AFTER_S, DefinitionStore
from wangtimer.store.sql.schedule_rules import PlannedBy
from wangtimer.store.sql.tables import firings
from wangtimer.timers.registrar import Registrar

# Local time is UTC + 1 in this zone.
ZONE, OTHER = "Africa/Lagos", "Asia/Shanghai"
SAME, HOUR_LATER, HOUR_EARLIER = "Africa/Lagos", "Etc/GMT", "Etc/GMT-2"
HOUR_MS, MINUTE_MS, SECOND_MS = 3_600_000, 60_000, 1_000
NEW, NEWER = "2999.1", "2999.2"

# Gives this process the packages of a version in which `ZONE` has the rules of another zone.
Install = Callable[[str, str], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    has = {"zone": SAME}

    class Data:
        def joinpath(self, *parts: str) -> Any:
            parts = ("zoneinfo", *has["zone"].split("/")) if parts[1:] == tuple(ZONE.split("/")) else parts
            return files("tzdata").joinpath(*parts)

    monkeypatch.setattr(zones, "files", lambda _package: Data())

    def installed(zone: str, version: str) -> None:
        has["zone"] = zone
        monkeypatch.setattr(schedule_followers, "version", lambda _package: version)
        _forget_what_was_worked_out()

    yield installed
    monkeypatch.undo()
    _forget_what_was_worked_out()


def _forget_what_was_worked_out() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("wangtimer"):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


@pytest.fixture
def follower(world: World, install: Install) -> RulesFollower:
    """A process that planned by rules of 2026; it is a quarter past nine in `ZONE`."""
    day = world.clock.now // (24 * HOUR_MS) * 24 * HOUR_MS
    world.clock.now = day + 8 * HOUR_MS + 15 * MINUTE_MS
    install(SAME, "2026.1")
    world.wiring.rules_follower.sweep()
    return world.wiring.rules_follower


def daily(world: World, at: str = "30 9", zone: str = ZONE, name: str = "daily", **fields: Any) -> int:
    return int(world.enabled(name=name, cron=f"0 {at} * * *", timezone=zone, **fields))


def another(world: World) -> RulesFollower:
    """Return the follower of a process that starts."""
    one = world.wiring.rules_follower
    return RulesFollower(one.registrar, one.schedule_rules, one.clock)


def follow(one: RulesFollower) -> None:
    """Let it take over, and look at every timer once."""
    one.sweep()
    one.sweep()


def planned(world: World, timer_id: int) -> set[int]:
    query = select(firings.c.fire_at).where(firings.c.timer_id == timer_id)
    return set(world.wiring.database.read(lambda sql: sql.execute(query).scalars().all()))


def definition(world: World, timer_id: int) -> Definition:
    return world.wiring.timers.definitions({timer_id})[timer_id]


def next_moments(world: World, timer_id: int, number: int) -> list[int]:
    return definition(world, timer_id).schedule.moments(world.clock.now, 2**42, number)


def test_timers_whose_moments_are_others_by_new_rules_are_planned_anew_and_no_others(
    world: World, follower: RulesFollower, install: Install
) -> None:
    moved, hourly = daily(world), daily(world, "30 *", name="hourly")
    other, off = daily(world, zone=OTHER, name="other"), daily(world, name="off")
    world.wiring.registrar.disable("shop", off)
    world.wiring.migrator.plan_due()
    (wrong,) = planned(world, moved)
    world.wiring.on_demand.cancel("shop", hourly, next_moments(world, hourly, 2)[1])
    before = {one: definition(world, one) for one in (hourly, other, off)}
    install(HOUR_LATER, NEW)
    follow(follower)
    new = definition(world, moved)
    assert not new.still_wants(wrong)
    assert new.still_wants(wrong + HOUR_MS)
    assert {one: definition(world, one) for one in before} == before
    assert world.wiring.definitions.get([moved]).definitions[moved] == new._replace(edited_before_at=0)
    world.clock.now += HOUR_MS // 2
    world.wiring.migrator.plan_due()
    assert planned(world, moved) == {wrong, wrong + HOUR_MS}


def test_timers_of_a_built_in_calendar_whose_days_changed_are_looked_at(
    world: World, follower: RulesFollower, install: Install
) -> None:
    timer = daily(world, "0 23", OTHER, excludeCalendar="cn-off-days")
    install(SAME, NEW)
    held = follower.schedule_rules.read()
    assert held is not None
    old = held._replace(digests={**held.digests, "cn-off-days": "other days"})
    follower.schedule_rules.write(old, held)
    world.wiring.database.write(
        lambda sql: sql.exec_driver_sql(
            f"UPDATE timer SET next_fire_at = next_fire_at + 1 WHERE id = {timer}"
        )
    )
    follow(follower)
    assert definition(world, timer).edited_at == world.clock.now


def test_a_second_look_changes_nothing(world: World, follower: RulesFollower, install: Install) -> None:
    timer = daily(world, maxFirings=3)
    install(HOUR_LATER, NEW)
    follow(follower)
    once = definition(world, timer)
    follow(another(world))
    assert definition(world, timer) == once


def test_what_a_death_left_undone_is_done_by_the_next(
    world: World, follower: RulesFollower, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [daily(world, name=f"daily-{one}") for one in range(5)]
    install(HOUR_LATER, NEW)
    with monkeypatch.context() as dying:
        dying.setattr(schedule_followers, "RULES_PAGE", 2)
        dying.setattr(schedule_followers, "LONGEST_SWEEP_S", 0.5)
        dying.setattr(DefinitionStore, "put", lambda *_definitions, **_far: world.clock.sleep(0.5))
        follow(follower)
    assert sum(definition(world, one).edited_at > 0 for one in ids) == 2
    follow(another(world))
    assert all(definition(world, one).edited_at > 0 for one in ids)


def test_no_row_is_held_for_longer_than_it_takes_to_plan_one_timer(
    world: World, follower: RulesFollower, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [daily(world, name=f"daily-{one}") for one in range(3)]
    install(HOUR_LATER, NEW)
    looked_at: list[list[int]] = []
    plan_page_anew = follower.schedule_rules.plan_page_anew
    planned_anew = Registrar.planned_anew

    def page(*arguments: Any) -> Any:
        looked_at.append([])
        return plan_page_anew(*arguments)

    def dear(self: Registrar, timer: Any, *arguments: Any, **named: Any) -> Any:
        looked_at[-1].append(timer.id)
        world.clock.sleep(schedule_followers.LONGEST_HELD_S)
        return planned_anew(self, timer, *arguments, **named)

    monkeypatch.setattr(follower.schedule_rules, "plan_page_anew", page)
    monkeypatch.setattr(Registrar, "planned_anew", dear)
    follow(follower)
    assert looked_at == [[one] for one in ids]


def test_a_process_with_older_rules_plans_nothing_while_one_with_newer_ones_is_there(
    world: World, follower: RulesFollower, install: Install
) -> None:
    timer = daily(world, "45 10")
    install(HOUR_EARLIER, NEW)
    new = another(world)
    follow(new)
    moment = next_moments(world, timer, 1)[0]
    install(SAME, "2026.1")
    world.clock.now += 5_000
    old = another(world)
    old.sweep()
    assert not old.may_plan()
    assert world.wiring.migrator.plan_due() == 0
    install(HOUR_EARLIER, NEW)
    assert world.wiring.migrator.plan_due() == 1
    assert planned(world, timer) == {moment}


def test_what_an_older_process_planned_all_the_same_is_planned_anew_within_minutes(
    world: World, follower: RulesFollower, install: Install
) -> None:
    timer = daily(world, "45 10")
    install(HOUR_EARLIER, NEW)
    new = another(world)
    follow(new)
    moment = next_moments(world, timer, 1)[0]
    install(SAME, "2026.1")
    made_late = daily(world, "50 10", name="made by an older process")
    replace(world.wiring.migrator, may_plan=lambda: True).plan_due()
    assert planned(world, timer) == {moment + HOUR_MS}
    install(HOUR_EARLIER, NEW)
    world.clock.now += int(schedule_followers.FIRST_REST_S) * 1_000
    new.sweep()
    world.wiring.migrator.plan_due()
    assert moment in planned(world, timer)
    assert moment + 5 * MINUTE_MS in planned(world, made_late)


@pytest.mark.parametrize("begins_again", [False, True])
def test_after_a_day_the_rules_are_followed(
    world: World, follower: RulesFollower, install: Install, begins_again: bool
) -> None:
    """Also by processes that begin again before it is over."""
    timer = daily(world)
    install(HOUR_LATER, NEW)
    follow(follower)
    looks = count_looks(follower)
    steps = 96
    for _ in range(steps):
        held = follower.schedule_rules.read()
        assert held is not None
        assert held.to_follow == {ZONE}
        world.clock.now += int(schedule_followers.FOLLOWED_FOR_S) * 1_000 // steps
        (another(world) if begins_again else follower).sweep()
    assert follower.schedule_rules.read() == own_rules()._replace(seen_at=world.clock.now)
    assert definition(world, timer).edited_at < world.clock.now
    assert len(looks) == (steps if begins_again else 8)


def count_looks(follower: RulesFollower) -> list[int]:
    """Return a list that gets one more with each page of timers that is looked at."""
    looks: list[int] = []
    plan_page_anew = follower.schedule_rules.plan_page_anew

    def page(*arguments: Any) -> Any:
        looks.append(1)
        return plan_page_anew(*arguments)

    follower.schedule_rules.plan_page_anew = page  # type: ignore[method-assign]
    return looks


def test_the_older_rules_count_again_once_nobody_has_the_newer_ones(
    world: World, follower: RulesFollower, install: Install
) -> None:
    timer = daily(world)
    moment = next_moments(world, timer, 1)[0]
    install(HOUR_LATER, NEW)
    follow(follower)
    assert next_moments(world, timer, 1)[0] == moment + HOUR_MS
    install(SAME, "2026.1")
    back = another(world)
    for passed_ms in (schedule_followers.SILENT_MS, schedule_followers.SILENT_MS - 1):
        world.clock.now += passed_ms
        back.sweep()
        assert not back.may_plan()
    world.clock.now += 1
    follow(back)
    assert back.may_plan()
    world.wiring.migrator.plan_due()
    assert moment in planned(world, timer)


def test_an_outage_of_sql_is_no_silence(
    world: World, follower: RulesFollower, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the process with older rules comes first after it, and after a second one, in which it tried."""
    install(HOUR_LATER, NEW)
    follow(another(world))
    install(SAME, "2026.1")
    old = another(world)
    old.sweep()
    for is_tried in (False, True):
        world.clock.now += schedule_followers.SILENT_MS
        if is_tried:
            with monkeypatch.context() as away:
                away.setattr(old.schedule_rules, "read", _away)
                with pytest.raises(StoreAway):
                    old.sweep()
        for _ in range(3):
            old.sweep()
            world.clock.now += SECOND_MS
        assert not old.may_plan()


def _away() -> None:
    raise StoreAway("SQL", "switched off by the test")


def test_who_says_a_word_at_the_last_moment_goes_on_planning(
    world: World, follower: RulesFollower, install: Install
) -> None:
    install(HOUR_LATER, NEW)
    follow(follower)
    held = follower.schedule_rules.read()
    assert held is not None
    world.clock.now += schedule_followers.SAID_EVERY_MS
    follower.sweep()
    follower.schedule_rules.write(held._replace(version="2026.1"), held)
    assert follower.may_plan()


def test_of_rules_that_changed_twice_those_of_both_changes_are_followed(
    world: World, follower: RulesFollower, install: Install
) -> None:
    timer = daily(world)
    moment = next_moments(world, timer, 1)[0]
    install(HOUR_LATER, NEW)
    follow(follower)
    install(SAME, NEWER)
    follow(another(world))
    assert next_moments(world, timer, 1)[0] == moment
    assert definition(world, timer).version == 4


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("2026.6 1.11.0", "2026.5 1.11.0", True),
        ("2026.6 1.11.0", "2026.6 1.11.0", False),
        ("2026.10 1.9.0", "2026.9 1.9.0", True),
        ("2026.6 1.11.0", "2026.5 1.12.0", False),
        ("2026.5 1.12.0", "2026.6 1.11.0", False),
    ],
)
def test_rules_are_newer_where_a_package_is_newer_and_none_is_older(
    one: str, other: str, expected: bool
) -> None:
    assert is_newer(PlannedBy(one, {}), PlannedBy(other, {})) == expected


@pytest.mark.parametrize("most", [1, 3])
def test_as_many_firings_are_made_as_were_asked_for(
    world: World, follower: RulesFollower, install: Install, most: int
) -> None:
    on, off = (daily(world, name=name, maxFirings=most) for name in ("on", "off"))
    world.wiring.registrar.disable("shop", off)
    before = next_moments(world, on, 9)
    assert len(before) == most
    install(HOUR_LATER, NEW)
    follow(follower)
    for one in (on, off):
        assert next_moments(world, one, 9) == [moment + HOUR_MS for moment in before]


@pytest.mark.parametrize("zone", [HOUR_LATER, HOUR_EARLIER])
def test_a_cancelled_firing_stays_cancelled(
    world: World, follower: RulesFollower, install: Install, zone: str
) -> None:
    timer = daily(world, "30 12")
    moments = next_moments(world, timer, 3)
    world.wiring.on_demand.cancel("shop", timer, moments[1])
    install(zone, NEW)
    by = HOUR_MS if zone == HOUR_LATER else -HOUR_MS
    follow(follower)
    assert next_moments(world, timer, 2) == [moments[0] + by, moments[2] + by]


def test_redis_keeps_no_timer_for_long_whose_next_moment_is_far(
    world: World, follower: RulesFollower, install: Install
) -> None:
    timer = daily(world, "0 20")
    install(HOUR_LATER, NEW)
    follow(follower)
    assert definition(world, timer).edited_at
    key = world.wiring.keys.definition(timer)
    assert 0 < world.wiring.redis.command(lambda client: client.ttl(key)) <= KEPT_AFTER_S


@pytest.mark.parametrize("answer", ["control", "gone"])
def test_what_a_target_answered_counts_though_new_rules_changed_its_timer(
    world: World, follower: RulesFollower, install: Install, answer: str
) -> None:
    timer = daily(world)
    version = definition(world, timer).version
    for zone, packages in ((HOUR_LATER, NEW), (SAME, NEWER)):
        install(zone, packages)
        follow(another(world))
    assert definition(world, timer).version == version + 2
    if answer == "gone":
        stop_gone(world.wiring, {timer: (version, 0)})
    else:
        apply_controls(world.wiring, {timer: ReplyControl(version, ControlKind.STOP).text})
    assert not definition(world, timer).is_enabled


def test_a_change_by_its_owner_counts_as_one_beside_new_rules(
    world: World, follower: RulesFollower, install: Install
) -> None:
    timer = daily(world)
    version = definition(world, timer).version
    install(HOUR_LATER, NEW)
    follow(follower)
    registrar = world.wiring.registrar
    registrar.edit("shop", timer, lambda one: replace(one, name="mine"), version)
    with pytest.raises(VersionChanged):
        registrar.edit("shop", timer, lambda one: replace(one, name="yours"), version)
    stop_gone(world.wiring, {timer: (version, 0)})
    apply_controls(world.wiring, {timer: ReplyControl(version, ControlKind.STOP).text})
    assert definition(world, timer).is_enabled


def test_what_came_due_unplanned_is_planned_by_the_new_rules(
    world: World, follower: RulesFollower, install: Install
) -> None:
    timer = daily(world)
    moment = next_moments(world, timer, 1)[0]
    world.clock.now = moment + 2 * HOUR_MS
    install(HOUR_LATER, NEW)
    follow(follower)
    assert not planned(world, timer)
    world.wiring.migrator.plan_due()
    assert planned(world, timer) == {moment + HOUR_MS}


def test_the_first_process_notes_its_rules_and_plans_nothing_anew(world: World, install: Install) -> None:
    install(SAME, "2026.1")
    timer = daily(world)
    before = definition(world, timer)
    follower = world.wiring.rules_follower
    assert follower.may_plan()
    follow(follower)
    assert follower.schedule_rules.read() == own_rules()._replace(seen_at=world.clock.now)
    assert definition(world, timer) == before


def test_doctor_says_where_the_rules_are_others(
    world: World, follower: RulesFollower, install: Install
) -> None:
    found = [next(of_rules(follower.schedule_rules))]
    install(HOUR_LATER, NEW)
    found.append(next(of_rules(follower.schedule_rules)))
    follow(follower)
    found.append(next(of_rules(follower.schedule_rules)))
    install(SAME, "2026.1")
    found.append(next(of_rules(follower.schedule_rules)))
    assert [one.severity for one in found] == [Severity.OK, Severity.WARNING, Severity.OK, Severity.WARNING]
    assert "those of 1 new rules" in found[2].text
