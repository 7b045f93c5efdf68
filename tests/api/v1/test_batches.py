"""Many timers in one request of v1; what is refused is a row, not an error of the whole."""

from typing import Any

import pytest

from tests.api.v1.world import TIMERS, URL, Answered, V1World, lose_sql_after_one_transaction
from wangtimer.core import fail_points
from wangtimer.core.errors import Unplannable
from wangtimer.core.fail_points import Step
from wangtimer.registrar import Registrar


def item(key: str, **fields: Any) -> dict[str, Any]:
    return {"key": key, "schedule": {"every": "1h"}, "target": {"url": URL}} | fields


def create(world: V1World, *timers: Any) -> Answered:
    return world.send("POST", f"{TIMERS}:batchCreate", {"timers": list(timers)})


def change(world: V1World, verb: str, **fields: Any) -> Answered:
    return world.send("POST", f"{TIMERS}:batch{verb}", fields)


def statuses(world: V1World) -> dict[str, str]:
    return {one["key"]: one["status"] for one in world.send("GET", TIMERS).json["items"]}


def test_each_timer_is_made_enabled_unless_it_says_otherwise(world: V1World) -> None:
    made = create(world, item("a"), item("b", enabled=False), item("c")).json
    assert (made["created"], made["failed"]) == (3, 0)
    assert [(one["index"], one["key"], one["problem"]) for one in made["items"]] == [
        (0, "a", None),
        (1, "b", None),
        (2, "c", None),
    ]
    assert statuses(world) == {"a": "enabled", "b": "disabled", "c": "enabled"}


@pytest.mark.parametrize(
    ("bad", "code", "pointer"),
    [
        (7, 40006, None),
        ({"key": "x"}, 40005, "/schedule"),
        (item("x", schedule={"cron": "0 25 * * *"}), 40008, "/schedule/cron"),
        (item("x", schedule={"every": "1h", "at": 0}), 40008, "/schedule"),
        (item("x", name="y"), 40004, "/name"),
        (item("x", cron="* * * * *"), 40004, "/cron"),
        (item("x", target={"url": "ftp://x"}), 40009, "/target/url"),
        (item("x", target={"url": URL, "body": "a" * 65_536}), 41301, None),
        (item("a"), 40901, "/key"),
    ],
)
def test_what_is_wrong_with_one_stops_no_other(world: V1World, bad: Any, code: int, pointer: str) -> None:
    made = create(world, item("a"), bad, item("b")).json
    assert [one["created"] for one in made["items"]] == [True, False, True]
    problem = made["items"][1]["problem"]
    assert (problem["code"], problem.get("pointer"), problem.get("parameter")) == (code, pointer, None)
    assert (made["created"], made["failed"]) == (2, 1)


def all_timers(world: V1World) -> list[dict[str, Any]]:
    """Return the app's timers; a page may be shorter than its limit."""
    found: list[dict[str, Any]] = []
    page = world.send("GET", TIMERS, query={"limit": 500}).json
    while True:
        found += page["items"]
        if page["nextCursor"] is None:
            return found
        page = world.send("GET", TIMERS, query={"limit": 500, "cursor": page["nextCursor"]}).json


def test_a_batch_whose_process_died_after_its_first_commit_is_enabled_all_the_same(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(step: Step) -> None:
        if step is Step.SQL_CREATE_MANY:
            raise SystemExit

    new = [item(f"t{number}") for number in range(600)]
    with monkeypatch.context() as patched:
        patched.setattr(fail_points, "after", die)
        with pytest.raises(SystemExit):
            create(world, *new)
    first = all_timers(world)
    assert {one["status"] for one in first} == {"enabled"}
    assert len(first) == 500
    again = create(world, *new).json
    assert [one["problem"] is None for one in again["items"]] == [False] * 500 + [True] * 100
    counted = change(world, "Enable", all=True, dryRun=True).json
    assert counted["matched"] == 0
    assert {len(world.wiring.firings.records(one["id"], 9)) for one in first} == {
        len(world.wiring.firings.records(again["items"][-1]["id"], 9))
    }


def test_one_that_cannot_be_enabled_is_refused_and_not_made(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Registrar.first_plan

    def first_plan(self: Registrar, timer: Any, now: int) -> Any:
        if timer.name == "a":
            raise Unplannable(timer.id)
        return plan(self, timer, now)

    monkeypatch.setattr(Registrar, "first_plan", first_plan)
    made = create(world, item("a"), item("b", enabled=False), item("c")).json
    assert [one["created"] for one in made["items"]] == [False, True, True]
    assert made["items"][0]["problem"]["code"] == 50001
    assert (made["created"], made["failed"]) == (2, 1)
    assert statuses(world) == {"b": "disabled", "c": "enabled"}


def test_what_is_left_when_sql_goes_away_in_the_middle_is_a_row_each(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_sql_after_one_transaction(world, monkeypatch)
    made = create(world, *(item(f"t{number}") for number in range(1_000))).json
    assert (made["created"], made["failed"]) == (500, 500)
    assert {one["problem"]["code"] for one in made["items"] if not one["created"]} == {50301}
    assert create(world, item("x")).status == 503


def test_timers_are_enabled_disabled_and_deleted_by_keys_ids_and_conditions(world: V1World) -> None:
    rows = create(world, item("a", tags=["x"]), item("b", tags=["x"]), item("c")).json["items"]
    off = change(world, "Disable", filter={"tag": "x"}).json
    assert (off["matched"], off["done"], off["remaining"], off["countsWithin"]) == (2, 2, 0, "1s")
    assert [one["state"] for one in off["stopped"]] == ["cancelled", "cancelled"]
    assert statuses(world) == {"a": "disabled", "b": "disabled", "c": "enabled"}
    on = change(world, "Enable", keys=["a", "none"]).json
    assert (on["done"], on["unknownKeys"], on["stopped"]) == (1, ["none"], [])
    gone = change(world, "Delete", ids=[rows[1]["id"], 17]).json
    assert (gone["matched"], gone["done"]) == (1, 1)
    assert [(one["id"], one["problem"]["code"]) for one in gone["failed"]] == [(17, 40401)]
    assert statuses(world) == {"a": "enabled", "c": "enabled"}
    assert change(world, "Delete", all=True).json["done"] == 2
    assert statuses(world) == {}


def test_a_dry_run_counts_and_changes_nothing(world: V1World) -> None:
    create(world, item("a"), item("b"))
    counted = change(world, "Delete", all=True, dryRun=True).json
    assert (counted["matched"], counted["done"], counted["remaining"]) == (2, 0, 2)
    assert len(statuses(world)) == 2


def test_what_is_left_is_done_by_the_next_request(world: V1World) -> None:
    create(world, *(item(f"t{number}") for number in range(5)))
    first = change(world, "Disable", all=True, limit=3).json
    second = change(world, "Disable", all=True, limit=3, afterId=first["lastId"]).json
    assert [(one["done"], one["remaining"]) for one in (first, second)] == [(3, 2), (2, 0)]


@pytest.mark.parametrize(
    ("fields", "code", "pointer"),
    [
        ({}, 40005, "/filter"),
        ({"filter": {}}, 40005, "/filter"),
        ({"ids": [1], "keys": ["a"]}, 40007, "/keys"),
        ({"ids": [1], "all": True}, 40007, "/ids"),
        ({"filter": {"nextBefore": "soon"}}, 40008, "/filter/nextBefore"),
        ({"filter": {"keys": ["a"]}}, 40004, "/filter/keys"),
        ({"keys": []}, 40007, "/keys"),
    ],
)
def test_which_timers_are_meant_is_said_in_one_way(
    small_world: V1World, fields: Any, code: int, pointer: str
) -> None:
    refused = change(small_world, "Disable", **fields)
    assert (refused.status, refused.json["code"], refused.json["pointer"]) == (code // 100, code, pointer)


def test_another_apps_timers_are_left_alone(world: V1World) -> None:
    create(world, item("a"))
    answered = world.send("POST", f"{TIMERS}:batchDelete", {"all": True}, app="bank")
    assert answered.json["matched"] == 0
    assert statuses(world) == {"a": "enabled"}
