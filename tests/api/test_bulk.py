"""Many timers enabled, disabled or deleted in one request; what is refused is a row, not an error of the whole."""

from typing import Any

import pytest
from sqlalchemy import update

from tests.api.test_batch_create import create, item, statements
from tests.api.test_refused import assert_refused
from tests.api.world import DEF, DEFS, ENABLE, Answered, World
from wangtimer.core.errors import StoreAway
from wangtimer.store.sql.tables import timers
from wangtimer.store.sql.timer_lists import TimerLists

BULK = "/api/timer/v1/bulk"
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


def bulk(world: World, action: str, **fields: Any) -> Answered:
    return world.post(BULK, app="shop", action=action, **fields)


def made(world: World, *names: str, enable: bool = False, **fields: Any) -> list[int]:
    return [one["id"] for one in create(world, *(item(name, **fields) for name in names), enable=enable).data]


def statuses(world: World, **filters: Any) -> dict[str, str]:
    return {one["name"]: one["statusName"] for one in world.get(DEFS, app="shop", limit=500, **filters).data}


def counts(answered: Answered) -> tuple[int, int, int, int]:
    data = answered.data
    return data["matched"], data["done"], len(data["failed"]), data["remaining"]


def test_timers_of_a_tag_are_enabled_disabled_and_deleted(world: World) -> None:
    made(world, "a", "b", tags=["x"])
    made(world, "other")
    for action, status in (("enable", "enabled"), ("disable", "disabled")):
        assert counts(bulk(world, action, filter={"tag": "x"})) == (2, 2, 0, 0)
        assert statuses(world) == {"a": status, "b": status, "other": "disabled"}
    assert counts(bulk(world, "delete", filter={"tag": "x"})) == (2, 2, 0, 0)
    assert statuses(world) == {"other": "disabled"}
    assert create(world, item("a")).json["created"] == 1


def test_each_ends_as_it_would_alone(world: World) -> None:
    for action, path in (("enable", ENABLE), ("disable", "/api/timer/v1/disable")):
        together, alone = (made(world, f"{action} {i}", enable=action == "disable")[0] for i in range(2))
        bulk(world, action, ids=[together])
        world.post(path, app="shop", id=alone)
        mine, its = (world.get(DEF, app="shop", id=timer_id).data for timer_id in (together, alone))
        assert mine == its | {"id": together, "name": mine["name"]}
        definitions = world.wiring.definitions.get([together, alone]).definitions
        assert definitions[together].version == definitions[alone].version == mine["version"]


def test_enabled_together_they_fire_at_once(world: World) -> None:
    ids = made(world, "a", "b")
    bulk(world, "enable", all=True)
    armed = {
        (due.member.timer_id, due.member.fire_at) for chunk in world.broker.chunks for due in chunk.members
    }
    assert armed == {(timer_id, world.clock.now + SECOND) for timer_id in ids}


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"name": "b 1"}, {"b 1"}),
        ({"namePrefix": "b"}, {"b 1", "b 2"}),
        ({"nameContains": "1"}, {"a 1", "b 1"}),
        ({"tag": "x", "nameContains": "1"}, {"a 1"}),
        ({"status": "enabled"}, set()),
    ],
)
def test_a_filter_finds_what_a_list_with_it_shows(
    world: World, fields: dict[str, str], names: set[str]
) -> None:
    made(world, "a 1", "a 2", tags=["x"])
    made(world, "b 1", "b 2")
    assert counts(bulk(world, "enable", filter=fields)) == (len(names), len(names), 0, 0)
    assert {name for name, status in statuses(world).items() if status == "enabled"} == names


def test_timers_to_come_before_a_moment_are_disabled(world: World) -> None:
    made(world, "soon", delayMs=MINUTE, enable=True)
    made(world, "late", delayMs=HOUR, enable=True)
    assert counts(bulk(world, "disable", filter={"nextBefore": world.clock.now + 2 * MINUTE})) == (1, 1, 0, 0)
    assert statuses(world) == {"soon": "disabled", "late": "enabled"}


def test_a_dry_run_counts_and_changes_nothing(world: World) -> None:
    ids = made(world, "a", "b", enable=True)
    for action, matched in (("enable", 0), ("disable", 2), ("delete", 2)):
        assert counts(bulk(world, action, all=True, dryRun=True)) == (matched, 0, 0, matched)
    assert counts(bulk(world, "delete", ids=[*ids, 99], dryRun=True)) == (2, 0, 0, 2)
    assert set(statuses(world).values()) == {"enabled"}


def test_what_is_over_the_limit_is_left_for_the_next_request(world: World) -> None:
    made(world, *"abcde", enable=True)
    answers = [counts(bulk(world, "disable", all=True, limit=2)) for _ in range(4)]
    assert answers == [(5, 2, 0, 3), (3, 2, 0, 1), (1, 1, 0, 0), (0, 0, 0, 0)]


def test_one_without_a_moment_left_is_a_row_of_failed_and_stops_no_other(world: World) -> None:
    past, ended = *made(world, "past", delayMs=MINUTE), *made(world, "ended", endAt=world.clock.now + MINUTE)
    fine = made(world, "fine")[0]
    world.clock.now += HOUR
    answered = bulk(world, "enable", all=True)
    assert counts(answered) == (3, 1, 2, 0)
    assert [(one["id"], one["name"], one["code"]) for one in answered.data["failed"]] == [
        (past, "past", 40902),
        (ended, "ended", 40902),
    ]
    assert statuses(world, status="enabled") == {"fine": "enabled"}
    assert answered.data["lastId"] == fine


def test_what_failed_is_passed_by_behind_the_last_id(world: World) -> None:
    made(world, "past", delayMs=MINUTE)
    world.clock.now += HOUR
    made(world, "fine")
    first = bulk(world, "enable", all=True, limit=1)
    assert counts(first) == (2, 0, 1, 1)
    assert counts(bulk(world, "enable", all=True, limit=1, afterId=first.data["lastId"])) == (1, 1, 0, 0)


def test_ids_that_are_unknown_or_another_app_s_are_rows_of_failed(world: World) -> None:
    mine = made(world, "mine")[0]
    other = world.made(app="bank")
    answered = bulk(world, "delete", ids=[other, mine, mine, 99])
    assert counts(answered) == (1, 1, 2, 0)
    assert [(one["id"], one["name"], one["code"]) for one in answered.data["failed"]] == [
        (99, None, 40401),
        (other, None, 40401),
    ]
    assert world.get(DEF, app="bank", id=other).status == 200


def test_what_is_so_already_is_done_and_stays_at_its_version(world: World) -> None:
    ids = made(world, "a", "b")
    for action, version in (("disable", 1), ("enable", 2), ("enable", 2)):
        assert counts(bulk(world, action, ids=ids)) == (2, 2, 0, 0)
        assert world.get(DEF, app="shop", id=ids[0]).data["version"] == version


@pytest.mark.parametrize("action", ["disable", "delete"])
def test_what_came_due_while_nobody_planned_is_on_record_of_each(world: World, action: str) -> None:
    ids = made(world, "a", "b", cron="* * * * *", enable=True)
    world.clock.now += HOUR
    assert counts(bulk(world, action, all=True)) == (2, 2, 0, 0)
    assert [len(world.wiring.firings.records(timer_id, 99)) for timer_id in ids] == [60, 60]


@pytest.mark.parametrize("action", ["enable", "disable", "delete"])
def test_what_somebody_changed_after_the_filter_found_it_is_a_row_of_failed(
    world: World, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    changed = made(world, "changed", "same", tags=["x"], enable=action == "disable")[0]
    chosen = TimerLists.chosen

    def choose_and_retag(self: TimerLists, *arguments: Any) -> Any:
        found = chosen(self, *arguments)
        world.patch(app="shop", id=changed, tags=["other"])
        return found

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(TimerLists, "chosen", choose_and_retag)
        answered = bulk(world, action, filter={"tag": "x"})
    assert counts(answered) == (2, 1, 1, 0)
    assert [(one["id"], one["code"]) for one in answered.data["failed"]] == [(changed, 40903)]
    status = "enabled" if action == "disable" else "disabled"
    assert world.get(DEF, app="shop", id=changed).data["statusName"] == status
    assert counts(bulk(world, action, ids=[changed])) == (1, 1, 0, 0)


def test_one_that_cannot_be_planned_here_is_a_row_of_failed_and_stops_no_other(world: World) -> None:
    lost, fine = made(world, "lost", "fine")
    elsewhere = update(timers).where(timers.c.id == lost).values(timezone="Mars/Base")
    world.wiring.database.write(lambda sql: sql.execute(elsewhere))
    answered = bulk(world, "enable", ids=[lost, fine])
    assert counts(answered) == (2, 1, 1, 0)
    assert [(one["id"], one["code"]) for one in answered.data["failed"]] == [(lost, 50001)]
    assert world.post(ENABLE, app="shop", id=lost).code == 50001
    assert world.get(DEF, app="shop", id=fine).data["statusName"] == "enabled"


def test_a_finished_timer_is_disabled_too(world: World) -> None:
    made(world, "once", delayMs=SECOND, enable=True)
    world.clock.now += HOUR
    assert statuses(world) == {"once": "finished"}
    assert counts(bulk(world, "disable", filter={"status": "finished"})) == (1, 1, 0, 0)
    assert statuses(world) == {"once": "disabled"}


def test_a_thousand_cost_a_few_statements(world: World) -> None:
    made(world, *(f"{i}" for i in range(1_000)), delayMs=HOUR, tags=["x"])
    for action in ("enable", "disable", "delete"):
        world.clock.now += SECOND
        sent = statements(world)
        assert counts(bulk(world, action, all=True)) == (1_000, 1_000, 0, 0)
        # The audit has its share: a statement for up to 2,000 changes.
        assert len(sent) < 56, sent
    assert statuses(world) == {}


def test_sql_away_midway_is_told_of_each_and_can_be_asked_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be_away(*_: Any) -> None:
        raise StoreAway("SQL", "switched off by the test")

    made(world, "a", "b", enable=True)
    with monkeypatch.context() as lossy:
        lossy.setattr(type(world.wiring.batches.timers), "disable", be_away)
        answered = bulk(world, "disable", all=True)
    assert {one["code"] for one in answered.data["failed"]} == {50301}
    assert counts(bulk(world, "disable", all=True)) == (2, 2, 0, 0)


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"all": True}, 40005, "action"),
        ({"action": "enable"}, 40005, "filter"),
        ({"action": "enable", "filter": {}}, 40005, "filter"),
        ({"action": "enable", "filter": {"tag": None}}, 40005, "filter"),
        ({"action": "enable", "ids": []}, 40007, "ids"),
        ({"action": "enable", "ids": [0]}, 40007, "ids.0"),
        ({"action": "enable", "ids": ["1"]}, 40006, "ids.0"),
        ({"action": "enable", "ids": [1] * 1_001}, 40007, "ids"),
        ({"action": "enable", "ids": [1], "all": True}, 40007, "ids"),
        ({"action": "enable", "ids": [1], "filter": {"tag": "x"}}, 40007, "ids"),
        ({"action": "enable", "filter": {"tags": "x"}}, 40004, "filter.tags"),
        ({"action": "enable", "filter": {"nextBefore": "soon"}}, 40008, "filter.nextBefore"),
        ({"action": "enable", "all": True, "limit": 1_001}, 40007, "limit"),
        ({"action": "enable", "all": True, "limit": 0}, 40007, "limit"),
        ({"action": "purge", "all": True}, 40007, "action"),
    ],
)
def test_a_request_that_is_not_clear_changes_nothing(
    small_world: World, fields: dict[str, Any], code: int, field: str
) -> None:
    small_world.made()
    assert_refused(small_world.post(BULK, app="shop", **fields), 400, code, field)
    assert set(statuses(small_world).values()) == {"disabled"}


def test_several_names_are_changed_and_those_nobody_has_are_told(world: World) -> None:
    ids = [world.made(name=name) for name in ("a", "b", "c")]
    named = {"names": ["a", "b", "typo", "c ", "typo"]}
    counted = world.post(BULK, app="shop", action="delete", filter=named, dryRun=True).data
    assert (counted["matched"], counted["unknownNames"]) == (2, ["typo", "c "])
    done = world.post(BULK, app="shop", action="delete", filter=named).data
    assert (done["done"], done["remaining"], done["unknownNames"]) == (2, 0, ["typo", "c "])
    assert [one["id"] for one in world.get(DEFS, app="shop").data] == ids[2:]


def test_names_go_with_other_conditions(world: World) -> None:
    world.made(name="a", tags=["x"])
    world.made(name="b")
    both = {"names": ["a", "b"], "tag": "x"}
    found = world.post(BULK, app="shop", action="delete", filter=both, dryRun=True).data
    assert (found["matched"], found["unknownNames"]) == (1, [])


@pytest.mark.parametrize("names", [[], [""], ["x"] * 1_001, "a"])
def test_names_that_are_none_are_refused(world: World, names: Any) -> None:
    refused = world.post(BULK, app="shop", action="delete", filter={"names": names})
    assert refused.status == 400
    assert refused.json["field"].startswith("filter.names")
