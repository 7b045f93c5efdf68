"""Many timers in one request: each is made or refused on its own, and SQL is asked a few times for all."""

import json
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import event

from tests.api.v1.world import ONE, TIMERS, URL, Answered, V1World, lose_sql_after_one_transaction
from wangtimer.core import fail_points
from wangtimer.core.errors import StoreAway, Unplannable
from wangtimer.core.fail_points import FailPoint
from wangtimer.timers.registrar import Registrar

HOUR = 3_600_000
KIB = 1_024
BATCH = f"{TIMERS}:batchCreate"


def item(key: str, schedule: Any = None, **fields: Any) -> dict[str, Any]:
    return {"key": key, "schedule": schedule or {"every": "1h"}, "target": {"url": URL}} | fields


def create(world: V1World, *timers: Any) -> Answered:
    return world.send("POST", BATCH, {"timers": list(timers)})


def statuses(world: V1World) -> dict[str, str]:
    return {one["key"]: one["status"] for one in world.send("GET", TIMERS).json["items"]}


def statements(world: V1World) -> list[str]:
    """Return a list that grows by the first word of each statement sent from now on."""
    sent: list[str] = []
    engine = world.wiring.database.engine
    event.listen(
        engine, "before_cursor_execute", lambda _sql, _cursor, text, *_: sent.append(text.split()[0])
    )
    return sent


def test_each_timer_is_made_enabled_unless_it_says_otherwise(world: V1World) -> None:
    made = create(world, item("a"), item("b", enabled=False), item("c")).json
    assert (made["created"], made["failed"]) == (3, 0)
    assert [(one["index"], one["key"], one["problem"]) for one in made["items"]] == [
        (0, "a", None),
        (1, "b", None),
        (2, "c", None),
    ]
    assert statuses(world) == {"a": "enabled", "b": "disabled", "c": "enabled"}


FORMS: list[dict[str, Any]] = [
    {
        "schedule": {"cron": "0 9 * * *", "timezone": "Asia/Shanghai", "excludeCalendar": "weekends"},
        "tags": ["a", "b"],
    },
    {"schedule": {"cron": "* * * * * *", "maxFirings": 3}},
    {"schedule": {"every": "90s", "jitter": "500ms"}, "misfire": {"policy": "skip"}},
    {"schedule": {"delay": "1h"}, "target": {"url": URL, "headers": {"A": "ä"}, "body": "x" * 50_000}},
]


def test_each_timer_is_made_as_it_would_be_alone(world: V1World) -> None:
    forms = [form | {"enabled": False} for form in FORMS]
    made = create(world, *(item(f"many {i}", **form) for i, form in enumerate(forms))).json
    assert (made["created"], made["failed"]) == (len(forms), 0)
    for i, (form, row) in enumerate(zip(forms, made["items"], strict=True)):
        assert row == {
            "index": i,
            "id": row["id"],
            "key": f"many {i}",
            "created": True,
            "problem": None,
            "warnings": [],
        }
        place = world.made(**item(f"alone {i}", **form)).headers["Location"]
        alone = world.send("GET", place, rule=ONE).json
        together = world.send("GET", f"{TIMERS}/{row['id']}", rule=ONE).json
        assert together == alone | {"id": row["id"], "key": f"many {i}"}
    tagged = world.send("GET", TIMERS, query={"tag": "a"}).json["items"]
    assert made["items"][0]["id"] in [one["id"] for one in tagged]


def test_each_row_warns_of_what_the_text_of_its_cron_tells(small_world: V1World) -> None:
    crons = {"a": "0 0 9 ? * 2", "b": "*/90 * * * *", "c": "0 9 * * *", "d": "61 * * * *"}
    timers = [{"key": key, "schedule": {"cron": cron}, "target": {"url": URL}} for key, cron in crons.items()]
    rows = small_world.send("POST", "/v1/timers:batchCreate", {"timers": timers}).json["items"]
    told = [[one["code"] for one in row["warnings"]] for row in rows]
    assert told == [["quartzWeekday"], ["longStep"], [], []]
    assert [row["created"] for row in rows] == [True, True, True, False]


def test_what_is_wrong_with_one_stops_no_other(world: V1World) -> None:
    taken = world.made(key="taken", enabled=False).json["id"]
    bad: list[tuple[Any, int, str | None]] = [
        (item("taken"), 40901, "/key"),
        (item("fine"), 40901, "/key"),
        (item("x", {"cron": "0 25 * * *"}), 40008, "/schedule/cron"),
        (item("x", {"every": "1h", "at": 0}), 40008, "/schedule"),
        (item("x", {"at": world.clock.now - HOUR}), 40008, "/schedule/at"),
        (item("x", {"every": "1h", "excludeCalendar": "nowhere"}), 40008, "/schedule/excludeCalendar"),
        (item("x", {"delay": 10**30}), 40007, "/schedule/delay"),
        (item("x", crom="* * * * *"), 40004, "/crom"),
        (item("x", app="shop"), 40004, "/app"),
        (item("x", target={"url": "ftp://x"}), 40009, "/target/url"),
        ({"key": "x"}, 40005, "/schedule"),
        (item("x", target={"url": URL, "body": "a" * 65_536}), 41301, None),
        ("x", 40006, None),
        (7, 40006, None),
        (None, 40006, None),
        ([], 40006, None),
    ]
    made = create(world, item("fine"), *(one for one, _, _ in bad), item("last")).json
    rows = made["items"]
    assert [one["created"] for one in rows] == [True, *[False] * len(bad), True]
    problems = [one["problem"] for one in rows[1:-1]]
    told = [(one["code"], one.get("pointer")) for one in problems]
    assert told == [(code, pointer) for _, code, pointer in bad]
    assert all("; " in one["detail"] and "parameter" not in one for one in problems)
    existing = [one["existingId"] for one in problems if "existingId" in one]
    assert existing == [taken, rows[0]["id"]]
    assert [one["index"] for one in rows] == list(range(len(bad) + 2))
    assert (made["created"], made["failed"]) == (2, len(bad))
    assert world.stored() == (3, 0)


def test_enabled_together_they_fire_at_once_as_they_would_alone(world: V1World) -> None:
    items = [
        item("second", {"cron": "* * * * * *"}),
        item("counted", {"cron": "* * * * * *", "maxFirings": 3}),
        item("soon", {"delay": "500ms"}),
        item("far", {"delay": "1h"}),
    ]
    made = create(world, *items, item("bad", {"cron": "x"})).json
    assert (made["created"], made["failed"]) == (4, 1)
    for one, row in zip(items, made["items"], strict=False):
        alone = world.made(**one | {"key": one["key"] + " alone"}).json["id"]
        together, by_itself = (world.wiring.timers.get("shop", timer_id) for timer_id in (row["id"], alone))
        assert together.planned_until == by_itself.planned_until
        assert together.next_fire_at == by_itself.next_fire_at
        assert (together.definition.status, together.definition.version) == ("enabled", 1)
        assert together.ending == by_itself.ending
        planned = [
            [record.firing.fire_at for record in world.wiring.firings.records(timer_id, 99)]
            for timer_id in (row["id"], alone)
        ]
        assert planned[0] == planned[1]
    first = {due.member.timer_id for chunk in world.broker.chunks for due in chunk.members}
    assert {row["id"] for row in made["items"][:3]} <= first


def test_a_thousand_cost_a_few_statements(world: V1World) -> None:
    sent = statements(world)
    items = (item(f"{i}", {"delay": f"{HOUR + i}ms"}, tags=["x"]) for i in range(1_000))
    made = create(world, *items).json
    assert (made["created"], made["failed"]) == (1_000, 0)
    assert len(sent) < 60, sent
    assert world.stored() == (1_000, 0)


def test_ids_are_those_of_the_keys(world: V1World) -> None:
    keys = [f"timer {(i * 7) % 50:02}" for i in range(50)]
    made = create(world, *(item(key) for key in keys)).json["items"]
    for key, row in zip(keys, made, strict=True):
        assert row["key"] == world.wiring.timers.get("shop", row["id"]).name == key


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({}, 40005, "/timers"),
        ({"timers": []}, 40007, "/timers"),
        ({"timers": [{}] * 1_001}, 40007, "/timers"),
        ({"timers": {}}, 40006, "/timers"),
        ({"timers": [{}], "enabled": True}, 40004, "/enabled"),
    ],
)
def test_a_request_that_cannot_be_read_makes_nothing(
    small_world: V1World, body: dict[str, Any], code: int, pointer: str
) -> None:
    refused = small_world.send("POST", BATCH, body)
    assert (refused.status, refused.json["code"], refused.json["pointer"]) == (400, code, pointer)


def body_of(size: int) -> bytes:
    body = json.dumps({"timers": [item("a")]}).encode()
    return body + b" " * (size - len(body))


def test_8_mib_are_not_too_much_and_a_byte_more_is(small_world: V1World) -> None:
    for size, status in ((8 * KIB * KIB, 200), (8 * KIB * KIB + 1, 413)):
        chunked = {
            "input_stream": BytesIO(body_of(size)),
            "environ_overrides": {"wsgi.input_terminated": True},
        }
        for sent in ({"data": body_of(size)}, chunked):
            headers = {"WangTimer-App": "shop"}
            answered = small_world.client.post(
                BATCH, content_type="application/json", headers=headers, **sent
            )
            assert answered.status_code == status
    assert "8192 KiB" in answered.text


def test_other_operations_take_no_more_than_before(small_world: V1World) -> None:
    body = json.dumps(item("a")).encode()
    large = body + b" " * (64 * KIB + 1 - len(body))
    assert small_world.send("POST", TIMERS, large).json["code"] == 41301


def test_of_batches_of_the_same_keys_at_once_each_key_is_made_once(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Barrier(3, timeout=10)
    batches = world.wiring.batches.timer_batches
    store = batches.create

    def store_together(*given: Any) -> Any:
        together.wait()
        return store(*given)

    def send(part: int) -> Any:
        keys = [f"{i}" for i in range(part * 10, part * 10 + 20)]
        body = {"timers": [item(key) for key in reversed(keys)]}
        headers = {"WangTimer-App": "shop"}
        return world.app.test_client().post(BATCH, json=body, headers=headers).json

    monkeypatch.setattr(type(batches), "create", lambda _self, *given: store_together(*given))
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(send, range(3)))
    rows = [one for answer in answers for one in answer["items"]]
    made = [one["id"] for one in rows if one["created"]]
    assert len(made) == len(set(made)) == 40
    assert {one["problem"]["code"] for one in rows if not one["created"]} == {40901}
    assert world.stored() == (40, 0)


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
    def die(step: FailPoint) -> None:
        if step is FailPoint.SQL_CREATE_MANY:
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
    counted = world.send("POST", f"{TIMERS}:batchEnable", {"all": True, "dryRun": True}).json
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


def test_without_redis_they_are_enabled_and_the_sweep_tells_it_later(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be_away(*_: Any, **_far: Any) -> None:
        raise StoreAway("Redis", "switched off by the test")

    monkeypatch.setattr(type(world.wiring.definitions), "put", be_away)
    assert create(world, item("a")).json["failed"] == 0
    assert statuses(world) == {"a": "enabled"}


@pytest.mark.parametrize("depth", [30, 200, 900, 945])
def test_json_nested_too_deep_is_refused_whatever_the_depth(small_world: V1World, depth: int) -> None:
    raw = f'{{"timers":[{{"schedule":{{"at":{"[" * depth}{"]" * depth}}}}}]}}'
    assert small_world.send("POST", BATCH, raw.encode()).json["code"] == 40001
    not_too_deep = raw.replace("[" * depth, "[" * 28).replace("]" * depth, "]" * 28)
    (row,) = small_world.send("POST", BATCH, not_too_deep.encode()).json["items"]
    assert not row["created"]


def test_a_calendar_is_looked_for_once_and_sql_away_is_told_at_once(
    small_world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def look(_store: Any, _app: str, name: str) -> None:
        asked.append(name)
        if len(asked) > 1:
            raise StoreAway("SQL", "switched off by the test")

    monkeypatch.setattr(type(small_world.wiring.calendars), "get", look)
    items = [item(f"{i}", {"every": "1h", "excludeCalendar": "mine"}) for i in range(9)]
    assert {one["problem"]["code"] for one in create(small_world, *items).json["items"]} == {40008}
    assert (create(small_world, *items).json["code"], asked) == (50301, ["mine"] * 2)
