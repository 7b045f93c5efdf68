"""Many timers in one request: each is taken or refused on its own, and SQL is asked a few times for all."""

import json
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import event

from tests.api.test_refused import assert_refused
from tests.api.world import DEF, DEFS, URL, Answered, World, definition
from wangtimer.core.errors import StoreAway, Unplannable
from wangtimer.core.timers.timer import Timer
from wangtimer.registrar import Registrar

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
KIB = 1_024
PREVIEW = "/api/timer/v1/preview"


def item(name: str, **fields: Any) -> dict[str, Any]:
    return definition(name=name, without="app", **fields)


def create(world: World, *items: Any, **more: Any) -> Answered:
    return world.post(DEFS, app="shop", timers=list(items), **more)


def statements(world: World) -> list[str]:
    """Return a list that grows by the first word of each statement sent from now on."""
    sent: list[str] = []
    engine = world.wiring.database.engine
    event.listen(
        engine, "before_cursor_execute", lambda _sql, _cursor, text, *_: sent.append(text.split()[0])
    )
    return sent


FORMS: list[dict[str, Any]] = [
    {"cron": "0 9 * * *", "timezone": "Asia/Shanghai", "tags": ["a", "b"], "excludeCalendar": "weekends"},
    {"cron": "* * * * * *", "maxFirings": 3},
    {"cron": None, "everyMs": 90_000, "jitterMs": 500, "misfire": "skip"},
    {"delayMs": HOUR, "notifyHTTPParam": {"url": URL, "header": {"A": "ä"}, "body": "x" * 50_000}},
]


def test_each_timer_is_made_as_it_would_be_alone(world: World) -> None:
    answered = create(world, *(item(f"many {i}", **form) for i, form in enumerate(FORMS)))
    assert (answered.json["created"], answered.json["failed"]) == (len(FORMS), 0)
    for i, (form, made) in enumerate(zip(FORMS, answered.data, strict=True)):
        assert made == {"index": i, "code": 0, "msg": "", "field": "", "id": made["id"], "created": True}
        alone = world.get(DEF, app="shop", id=world.made(name=f"alone {i}", **form)).data
        together = world.get(DEF, app="shop", id=made["id"]).data
        assert together == alone | {"id": made["id"], "name": f"many {i}"}
    tagged = [one["id"] for one in world.get(DEFS, app="shop", tag="a").json["data"]]
    assert answered.data[0]["id"] in tagged


def test_a_row_has_the_warnings_that_the_text_of_its_cron_gives_alone(small_world: World) -> None:
    crons = ["0 0 9 ? * 2", "*/90 * * * *", "*/45 * 31 * *", "0 9 31 * *"]
    rows = create(small_world, *(item(f"w{i}", cron=cron) for i, cron in enumerate(crons))).data
    assert [[one["code"] for one in row.get("warnings", [])] for row in rows] == [
        ["quartzWeekday"],
        ["longStep"],
        ["unevenStep"],
        [],
    ]
    for cron, row in zip(crons, rows, strict=True):
        shown = small_world.post(PREVIEW, cron=cron).data["warnings"]
        assert all(one in shown for one in row.get("warnings", []))


def test_bounds_hide_no_warning_and_what_is_refused_has_none(small_world: World) -> None:
    bounded, once, refused = create(
        small_world,
        item("bounded", cron="*/45 * * * *", excludeCalendar="weekends", jitterMs=500),
        item("once", cron=None, delayMs=HOUR),
        item("bounded", cron="*/45 * * * *"),
    ).data
    assert [one["code"] for one in bounded["warnings"]] == ["unevenStep"]
    assert refused["code"] == 40901
    assert not [one for one in (once, refused) if "warnings" in one]


def test_a_bad_one_spoils_none_of_the_others(world: World) -> None:
    taken = world.made(name="taken")
    bad: list[tuple[Any, int, str]] = [
        (item("taken"), 40901, "name"),
        (item("fine"), 40901, "name"),
        (item("x", cron="nonsense"), 40008, "cron"),
        (item("x", crom="* * * * *"), 40004, "crom"),
        (item("x") | {"app": "shop"}, 40004, "app"),
        (item("x", at=world.clock.now - HOUR), 40008, "at"),
        (item("x", excludeCalendar="nowhere"), 40008, "excludeCalendar"),
        (item("x", notifyHTTPParam={"url": "ftp://x"}), 40009, "notifyHTTPParam.url"),
        ({"cron": "* * * * *"}, 40005, "name"),
        (item("x", notifyHTTPParam={"url": URL, "body": "x" * 66_000}), 41301, ""),
        ("x", 40006, ""),
        (None, 40006, ""),
        ([], 40006, ""),
    ]
    answered = create(world, item("fine"), *(one for one, _, _ in bad), item("last"))
    codes = [(one["code"], one["field"]) for one in answered.data]
    assert codes == [(0, ""), *((code, field) for _, code, field in bad), (0, "")]
    assert [one["created"] for one in answered.data] == [True, *[False] * len(bad), True]
    existing = [one["existingId"] for one in answered.data if "existingId" in one]
    assert existing == [taken, answered.data[0]["id"]]
    assert [one["index"] for one in answered.data] == list(range(len(bad) + 2))
    assert (answered.json["created"], answered.json["failed"]) == (2, len(bad))
    assert all("; " in one["msg"] for one in answered.data if one["code"])
    assert world.stored() == (3, 0)


def test_they_are_enabled_if_asked_to_and_fire_at_once(world: World) -> None:
    items = [
        item("second"),
        item("counted", maxFirings=3),
        item("soon", delayMs=500),
        item("far", delayMs=HOUR),
    ]
    answered = create(world, *items, item("bad", cron="x"), enable=True)
    assert (answered.json["created"], answered.json["failed"]) == (4, 1)
    for one, made in zip(items, answered.data, strict=False):
        alone = world.enabled(**one | {"name": one["name"] + " alone"})
        mine, its = (world.wiring.timers.get("shop", timer_id) for timer_id in (made["id"], alone))
        assert (mine.planned_until, mine.next_fire_at) == (its.planned_until, its.next_fire_at)
        assert (mine.definition.status, mine.definition.version) == ("enabled", 1)
        assert mine.ending == its.ending
        planned = [
            [record.firing.fire_at for record in world.wiring.firings.records(timer_id, 99)]
            for timer_id in (made["id"], alone)
        ]
        assert planned[0] == planned[1]
    first = {due.member.timer_id for chunk in world.broker.chunks for due in chunk.members}
    assert {made["id"] for made in answered.data[:3]} <= first


def test_a_thousand_cost_a_few_statements(world: World) -> None:
    sent = statements(world)
    answered = create(world, *(item(f"{i}", delayMs=HOUR + i, tags=["x"]) for i in range(1_000)), enable=True)
    assert (answered.json["created"], answered.json["failed"]) == (1_000, 0)
    assert len(sent) < 60, sent
    assert world.stored() == (1_000, 0)


def test_ids_are_those_of_the_names(world: World) -> None:
    names = [f"timer {(i * 7) % 50:02}" for i in range(50)]
    answered = create(world, *(item(name) for name in names))
    for name, made in zip(names, answered.data, strict=True):
        assert world.wiring.timers.get("shop", made["id"]).name == name


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"app": "shop"}, 40005, "timers"),
        ({"timers": [{}]}, 40005, "app"),
        ({"app": "shop", "timers": []}, 40007, "timers"),
        ({"app": "shop", "timers": [{}] * 1_001}, 40007, "timers"),
        ({"app": "shop", "timers": {}}, 40006, "timers"),
        ({"app": "shop", "timers": [{}], "enable": 1}, 40006, "enable"),
        ({"app": "shop", "timers": [{}], "enabled": True}, 40004, "enabled"),
    ],
)
def test_a_request_that_cannot_be_read_makes_nothing(
    small_world: World, fields: dict[str, Any], code: int, field: str
) -> None:
    assert_refused(small_world.post(DEFS, **fields), 400, code, field)


def body_of(size: int) -> bytes:
    body = json.dumps({"app": "shop", "timers": [item("a")]}).encode()
    return body + b" " * (size - len(body))


def test_8_mib_are_not_too_much_and_a_byte_more_is(small_world: World) -> None:
    for size, status, code in ((8 * KIB * KIB, 200, 0), (8 * KIB * KIB + 1, 413, 41301)):
        chunked = {
            "input_stream": BytesIO(body_of(size)),
            "environ_overrides": {"wsgi.input_terminated": True},
        }
        for sent in ({"data": body_of(size)}, chunked):
            answered = small_world.call("POST", DEFS, content_type="application/json", **sent)
            assert (answered.status, answered.code) == (status, code)
    assert "8192 KiB" in answered.msg


def test_other_operations_take_no_more_than_before(small_world: World) -> None:
    body = json.dumps(definition()).encode()
    large = body + b" " * (64 * KIB + 1 - len(body))
    assert_refused(small_world.call("POST", DEF, data=large, content_type="application/json"), 413, 41301, "")


def test_of_batches_of_the_same_names_at_once_each_name_is_made_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Barrier(3, timeout=10)
    batches = world.wiring.batches.timers
    store = batches.create

    def store_together(*given: Any) -> Any:
        together.wait()
        return store(*given)

    def send(part: int) -> Any:
        names = [f"{i}" for i in range(part * 10, part * 10 + 20)]
        body = {"app": "shop", "timers": [item(name) for name in reversed(names)]}
        return world.app.test_client().post(DEFS, json=body).json

    monkeypatch.setattr(type(batches), "create", lambda _self, *given: store_together(*given))
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(send, range(3)))
    made = [one["id"] for answer in answers for one in answer["data"] if one["code"] == 0]
    assert len(made) == len(set(made)) == 40
    assert {one["code"] for answer in answers for one in answer["data"]} == {0, 40901}
    assert world.stored() == (40, 0)


def test_what_is_created_and_cannot_be_enabled_says_so_of_each(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first_plan(_self: Registrar, timer: Timer, _now: int) -> None:
        raise Unplannable(timer.id)

    monkeypatch.setattr(Registrar, "first_plan", first_plan)
    answered = create(world, item("a"), item("b", cron="x"), enable=True)
    assert [(one["code"], one["created"]) for one in answered.data] == [(50001, True), (40008, False)]
    assert (answered.json["created"], answered.json["failed"]) == (1, 2)
    assert world.get(DEF, app="shop", id=answered.data[0]["id"]).data["statusName"] == "disabled"


def test_without_redis_they_are_enabled_and_the_sweep_tells_it_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be_away(*_: Any, **_far: Any) -> None:
        raise StoreAway("Redis", "switched off by the test")

    monkeypatch.setattr(type(world.wiring.definitions), "put", be_away)
    answered = create(world, item("a"), enable=True)
    assert answered.json["failed"] == 0
    assert world.get(DEF, app="shop", id=answered.data[0]["id"]).data["statusName"] == "enabled"


def test_a_number_beyond_64_bits_spoils_its_own_timer_alone(world: World) -> None:
    answer = create(world, item("bad", cron=None, delayMs=10**30), item("good"))
    assert [(one["code"], one["field"]) for one in answer.data] == [(40008, "delayMs"), (0, "")]


@pytest.mark.parametrize("depth", [30, 200, 900, 945])
def test_json_nested_too_deep_is_refused_whatever_the_depth(small_world: World, depth: int) -> None:
    raw = f'{{"app":"shop","timers":[{{"name":"a","at":{"[" * depth}{"]" * depth}}}]}}'
    assert_refused(small_world.call("POST", DEFS, data=raw, content_type="application/json"), 400, 40001, "")
    not_too_deep = raw.replace("[" * depth, "[" * 29).replace("]" * depth, "]" * 29)
    answered = small_world.call("POST", DEFS, data=not_too_deep, content_type="application/json")
    assert answered.data[0]["code"] == 40006


def test_a_calendar_is_looked_for_once_and_sql_away_is_told_at_once(
    small_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def look(_store: Any, _app: str, name: str) -> None:
        asked.append(name)
        if len(asked) > 1:
            raise StoreAway("SQL", "switched off by the test")

    monkeypatch.setattr(type(small_world.wiring.calendars), "get", look)
    items = [item(f"{i}", excludeCalendar="mine") for i in range(9)]
    assert {one["code"] for one in create(small_world, *items).data} == {40008}
    assert (create(small_world, *items).code, asked) == (50301, ["mine"] * 2)
