"""Many timers enabled, disabled or deleted in one request; what is refused is a row, not an error of the whole."""

from typing import Any

import pytest
from sqlalchemy import update

from tests.api.v1.test_batch_create import create, item, statements
from tests.api.v1.world import ONE, TIMERS, Answered, V1World
from wangtimer.core.errors import StoreAway
from wangtimer.store.sql.tables import timers
from wangtimer.store.sql.timer_lists import TimerLists

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
VERBS = ("Enable", "Disable", "Delete")


def change(world: V1World, verb: str, **fields: Any) -> Answered:
    return world.send("POST", f"{TIMERS}:batch{verb}", fields)


def made(world: V1World, *keys: str, enabled: bool = False, **fields: Any) -> list[int]:
    schedule = fields.pop("schedule", {"cron": "* * * * * *"})
    items = (item(key, schedule, enabled=enabled, **fields) for key in keys)
    return [one["id"] for one in create(world, *items).json["items"]]


def read(world: V1World, timer_id: int) -> dict[str, Any]:
    found: dict[str, Any] = world.send("GET", f"{TIMERS}/{timer_id}", rule=ONE).json
    return found


def statuses(world: V1World, **filters: Any) -> dict[str, str]:
    found = world.send("GET", TIMERS, query={"limit": 500, **filters}).json["items"]
    return {one["key"]: one["status"] for one in found}


def counts(answered: Answered) -> tuple[int, int, int, int]:
    done = answered.json
    return done["matched"], done["done"], len(done["failed"]), done["remaining"]


def failed(answered: Answered) -> list[tuple[int, str | None, int]]:
    return [(one["id"], one["key"], one["problem"]["code"]) for one in answered.json["failed"]]


def test_timers_are_enabled_disabled_and_deleted_by_keys_ids_and_conditions(world: V1World) -> None:
    hourly = {"every": "1h"}
    _, b = made(world, "a", "b", enabled=True, schedule=hourly, tags=["x"])
    made(world, "c", enabled=True, schedule=hourly)
    off = change(world, "Disable", filter={"tag": "x"}).json
    assert (off["matched"], off["done"], off["remaining"], off["countsWithin"]) == (2, 2, 0, "1s")
    assert [one["state"] for one in off["stopped"]] == ["cancelled", "cancelled"]
    assert statuses(world) == {"a": "disabled", "b": "disabled", "c": "enabled"}
    on = change(world, "Enable", keys=["a", "none"]).json
    assert (on["done"], on["unknownKeys"], on["stopped"]) == (1, ["none"], [])
    gone = change(world, "Delete", ids=[b, 17])
    assert (counts(gone), failed(gone)) == ((1, 1, 1, 0), [(17, None, 40401)])
    assert statuses(world) == {"a": "enabled", "c": "enabled"}
    assert change(world, "Delete", all=True).json["done"] == 2
    assert statuses(world) == {}


def test_timers_of_a_tag_are_enabled_disabled_and_deleted(world: V1World) -> None:
    made(world, "a", "b", tags=["x"])
    made(world, "other")
    for verb, status in (("Enable", "enabled"), ("Disable", "disabled")):
        assert counts(change(world, verb, filter={"tag": "x"})) == (2, 2, 0, 0)
        assert statuses(world) == {"a": status, "b": status, "other": "disabled"}
    assert counts(change(world, "Delete", filter={"tag": "x"})) == (2, 2, 0, 0)
    assert statuses(world) == {"other": "disabled"}
    assert create(world, item("a")).json["created"] == 1


def test_each_ends_as_it_would_alone(world: V1World) -> None:
    for verb in ("Enable", "Disable"):
        together, alone = made(world, f"{verb} 0", f"{verb} 1", enabled=verb == "Disable")
        change(world, verb, ids=[together])
        world.send("POST", f"{TIMERS}/{alone}:{verb.lower()}", rule=f"{ONE}:{verb.lower()}")
        changed, by_itself = read(world, together), read(world, alone)
        assert changed == by_itself | {"id": together, "key": changed["key"]}
        definitions = world.wiring.definitions.get([together, alone]).definitions
        assert definitions[together].version == definitions[alone].version == changed["version"]


def test_enabled_together_they_fire_at_once(world: V1World) -> None:
    ids = made(world, "a", "b")
    change(world, "Enable", all=True)
    armed = {
        (due.member.timer_id, due.member.fire_at) for chunk in world.broker.chunks for due in chunk.members
    }
    assert armed == {(timer_id, world.clock.now + SECOND) for timer_id in ids}


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({"key": "b 1"}, {"b 1"}),
        ({"keyPrefix": "b"}, {"b 1", "b 2"}),
        ({"keyContains": "1"}, {"a 1", "b 1"}),
        ({"tag": "x", "keyContains": "1"}, {"a 1"}),
        ({"status": "enabled"}, set()),
    ],
)
def test_a_filter_finds_what_a_list_with_it_shows(
    world: V1World, fields: dict[str, str], keys: set[str]
) -> None:
    made(world, "a 1", "a 2", tags=["x"])
    made(world, "b 1", "b 2")
    assert counts(change(world, "Enable", filter=fields)) == (len(keys), len(keys), 0, 0)
    assert {key for key, status in statuses(world).items() if status == "enabled"} == keys


def test_timers_to_come_before_a_moment_are_disabled(world: V1World) -> None:
    made(world, "soon", schedule={"delay": "1m"}, enabled=True)
    made(world, "late", schedule={"delay": "1h"}, enabled=True)
    near = {"nextBefore": world.clock.now + 2 * MINUTE}
    assert counts(change(world, "Disable", filter=near)) == (1, 1, 0, 0)
    assert statuses(world) == {"soon": "disabled", "late": "enabled"}


def test_a_dry_run_counts_and_changes_nothing(world: V1World) -> None:
    ids = made(world, "a", "b", enabled=True)
    for verb, matched in zip(VERBS, (0, 2, 2), strict=True):
        assert counts(change(world, verb, all=True, dryRun=True)) == (matched, 0, 0, matched)
    assert counts(change(world, "Delete", ids=[*ids, 99], dryRun=True)) == (2, 0, 0, 2)
    assert set(statuses(world).values()) == {"enabled"}


def test_what_is_over_the_limit_is_left_for_the_next_request(world: V1World) -> None:
    made(world, *"abcde", enabled=True)
    answers = [counts(change(world, "Disable", all=True, limit=2)) for _ in range(4)]
    assert answers == [(5, 2, 0, 3), (3, 2, 0, 1), (1, 1, 0, 0), (0, 0, 0, 0)]


def test_what_is_left_is_done_by_the_next_request(world: V1World) -> None:
    made(world, *"abcde", enabled=True)
    first = change(world, "Disable", all=True, limit=3).json
    second = change(world, "Disable", all=True, limit=3, afterId=first["lastId"]).json
    assert [(one["done"], one["remaining"]) for one in (first, second)] == [(3, 2), (2, 0)]


def test_one_without_a_moment_left_is_a_row_of_failed_and_stops_no_other(world: V1World) -> None:
    (past,) = made(world, "past", schedule={"delay": "1m"})
    (ended,) = made(world, "ended", schedule={"every": "1s", "endAt": world.clock.now + MINUTE})
    (fine,) = made(world, "fine")
    world.clock.now += HOUR
    answered = change(world, "Enable", all=True)
    assert counts(answered) == (3, 1, 2, 0)
    assert failed(answered) == [(past, "past", 40902), (ended, "ended", 40902)]
    assert statuses(world, status="enabled") == {"fine": "enabled"}
    assert answered.json["lastId"] == fine


def test_what_failed_is_passed_by_behind_the_last_id(world: V1World) -> None:
    made(world, "past", schedule={"delay": "1m"})
    world.clock.now += HOUR
    made(world, "fine")
    first = change(world, "Enable", all=True, limit=1)
    assert counts(first) == (2, 0, 1, 1)
    assert counts(change(world, "Enable", all=True, limit=1, afterId=first.json["lastId"])) == (1, 1, 0, 0)


def test_ids_that_are_unknown_or_another_app_s_are_rows_of_failed(world: V1World) -> None:
    (mine,) = made(world, "mine")
    other = world.send("POST", TIMERS, item("expire"), app="bank").json["id"]
    answered = change(world, "Delete", ids=[other, mine, mine, 99])
    assert counts(answered) == (1, 1, 2, 0)
    assert failed(answered) == [(99, None, 40401), (other, None, 40401)]
    assert world.send("GET", f"{TIMERS}/{other}", rule=ONE, app="bank").status == 200


def test_what_is_so_already_is_done_and_stays_at_its_version(world: V1World) -> None:
    ids = made(world, "a", "b")
    for verb, version in (("Disable", 1), ("Enable", 2), ("Enable", 2)):
        assert counts(change(world, verb, ids=ids)) == (2, 2, 0, 0)
        assert read(world, ids[0])["version"] == version


@pytest.mark.parametrize("verb", ["Disable", "Delete"])
def test_what_came_due_while_nobody_planned_is_on_record_of_each(world: V1World, verb: str) -> None:
    ids = made(world, "a", "b", schedule={"cron": "* * * * *"}, enabled=True)
    world.clock.now += HOUR
    assert counts(change(world, verb, all=True)) == (2, 2, 0, 0)
    assert [len(world.wiring.firings.records(timer_id, 99)) for timer_id in ids] == [60, 60]


@pytest.mark.parametrize("verb", VERBS)
def test_what_somebody_changed_after_the_filter_found_it_is_a_row_of_failed(
    world: V1World, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    changed = made(world, "changed", "same", tags=["x"], enabled=verb == "Disable")[0]
    chosen = TimerLists.chosen

    def choose_and_retag(self: TimerLists, *arguments: Any) -> Any:
        found = chosen(self, *arguments)
        world.send("PATCH", f"{TIMERS}/{changed}", {"tags": ["other"]}, rule=ONE)
        return found

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(TimerLists, "chosen", choose_and_retag)
        answered = change(world, verb, filter={"tag": "x"})
    assert counts(answered) == (2, 1, 1, 0)
    assert failed(answered) == [(changed, "changed", 41201)]
    assert read(world, changed)["status"] == ("enabled" if verb == "Disable" else "disabled")
    assert counts(change(world, verb, ids=[changed])) == (1, 1, 0, 0)


def test_one_that_cannot_be_planned_here_is_a_row_of_failed_and_stops_no_other(world: V1World) -> None:
    lost, fine = made(world, "lost", "fine")
    elsewhere = update(timers).where(timers.c.id == lost).values(timezone="Mars/Base")
    world.wiring.database.write(lambda sql: sql.execute(elsewhere))
    answered = change(world, "Enable", ids=[lost, fine])
    assert counts(answered) == (2, 1, 1, 0)
    assert [(one["id"], one["problem"]["code"]) for one in answered.json["failed"]] == [(lost, 50001)]
    assert world.send("POST", f"{TIMERS}/{lost}:enable", rule=f"{ONE}:enable").json["code"] == 50001
    assert read(world, fine)["status"] == "enabled"


def test_a_finished_timer_is_disabled_too(world: V1World) -> None:
    made(world, "once", schedule={"delay": "1s"}, enabled=True)
    world.clock.now += HOUR
    assert statuses(world) == {"once": "finished"}
    assert counts(change(world, "Disable", filter={"status": "finished"})) == (1, 1, 0, 0)
    assert statuses(world) == {"once": "disabled"}


def test_a_thousand_cost_a_few_statements(world: V1World) -> None:
    made(world, *(f"{i}" for i in range(1_000)), schedule={"delay": "1h"}, tags=["x"])
    for verb in VERBS:
        world.clock.now += SECOND
        sent = statements(world)
        assert counts(change(world, verb, all=True)) == (1_000, 1_000, 0, 0)
        # The audit has its share: a statement for up to 2,000 changes.
        assert len(sent) < 56, sent
    assert statuses(world) == {}


def test_sql_away_midway_is_told_of_each_and_can_be_asked_again(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be_away(*_: Any) -> None:
        raise StoreAway("SQL", "switched off by the test")

    made(world, "a", "b", enabled=True)
    with monkeypatch.context() as lossy:
        lossy.setattr(type(world.wiring.batches.timer_batches), "disable", be_away)
        answered = change(world, "Disable", all=True)
    assert {code for _, _, code in failed(answered)} == {50301}
    assert counts(change(world, "Disable", all=True)) == (2, 2, 0, 0)


@pytest.mark.parametrize(
    ("fields", "code", "pointer"),
    [
        ({}, 40005, "/filter"),
        ({"filter": {}}, 40005, "/filter"),
        ({"filter": {"tag": None}}, 40005, "/filter"),
        ({"ids": []}, 40007, "/ids"),
        ({"ids": [0]}, 40007, "/ids/0"),
        ({"ids": ["1"]}, 40006, "/ids/0"),
        ({"ids": [1] * 1_001}, 40007, "/ids"),
        ({"ids": [1], "all": True}, 40007, "/ids"),
        ({"ids": [1], "keys": ["a"]}, 40007, "/keys"),
        ({"ids": [1], "filter": {"tag": "x"}}, 40007, "/ids"),
        ({"filter": {"keys": ["a"]}}, 40004, "/filter/keys"),
        ({"filter": {"nextBefore": "soon"}}, 40008, "/filter/nextBefore"),
        ({"all": True, "limit": 1_001}, 40007, "/limit"),
        ({"all": True, "limit": 0}, 40007, "/limit"),
        ({"keys": []}, 40007, "/keys"),
        ({"keys": [""]}, 40007, "/keys/0"),
        ({"keys": ["x"] * 1_001}, 40007, "/keys"),
        ({"keys": "a"}, 40006, "/keys"),
    ],
)
def test_a_request_that_is_not_clear_changes_nothing(
    small_world: V1World, fields: dict[str, Any], code: int, pointer: str
) -> None:
    made(small_world, "a")
    refused = change(small_world, "Enable", **fields)
    assert (refused.status, refused.json["code"], refused.json["pointer"]) == (400, code, pointer)
    assert statuses(small_world) == {"a": "disabled"}


def test_several_keys_are_changed_and_those_nobody_has_are_told(world: V1World) -> None:
    made(world, "a", "b", "c")
    keys = ["a", "b", "typo", "c ", "typo"]
    counted = change(world, "Delete", keys=keys, dryRun=True).json
    assert (counted["matched"], counted["unknownKeys"]) == (2, ["typo", "c "])
    done = change(world, "Delete", keys=keys).json
    assert (done["done"], done["remaining"], done["unknownKeys"]) == (2, 0, ["typo", "c "])
    assert statuses(world) == {"c": "disabled"}


def test_another_apps_timers_are_left_alone(world: V1World) -> None:
    made(world, "a", enabled=True)
    answered = world.send("POST", f"{TIMERS}:batchDelete", {"all": True}, app="bank")
    assert answered.json["matched"] == 0
    assert statuses(world) == {"a": "enabled"}
