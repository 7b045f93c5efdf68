"""What xTimer's clients send, as they write it, and what they read of the answers.

Its web page (axios: `params` into the query, undefined left out; `data` as JSON) and Go programs that marshal its value
objects. `app` is added where they leave it out; `docs/xtimer-compat.md` lists that and all else that differs.
"""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.api.world import DEF, DEFS, ENABLE, RECORDS, UNABLE, URL, Answered, World
from wangtimer.api import create_app
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome

ROOT = Path(__file__).parents[2]
BY_NAME = "/api/timer/v1/defsByName"
SECOND = 1_000
UNABLED, ENABLED = 1, 2
NOT_RUNNED, SUCCESSED, FAILED = 0, 2, 3

# The page's form, with the one radio button it has.
FROM_THE_PAGE = {
    "name": "expire",
    "cron": "0 */15 * * * ? *",
    "notify_type": 1,
    "notifyHTTPParam": {"url": URL, "method": "POST", "body": '{"word":"hello world"}'},
    "app": "shop",
    "creator": "shop",
}
# vo.Timer: `status` has no omitempty; a header is a map to text in later versions, to lists in the first.
FROM_GO = {
    "app": "shop",
    "name": "expire",
    "creator": "me",
    "status": 0,
    "cron": "*/5 * * * *",
    "notifyHTTPParam": {"method": "POST", "url": URL, "header": {"A": "b"}, "body": "{}"},
}
FROM_EARLY_GO = FROM_GO | {
    "status": 1,
    "notifyHTTPParam": {"method": "GET", "url": URL, "header": {"A": ["b"]}},
}


def done(answered: Answered) -> dict[str, Any]:
    """Return the answer's JSON as a client that looks at `code` and `msg` takes it."""
    assert answered.status == 200
    assert (answered.json["code"], answered.json["msg"]) == (0, "")
    return answered.json


@pytest.mark.parametrize("timer", [FROM_THE_PAGE, FROM_GO, FROM_EARLY_GO], ids=["page", "Go", "early Go"])
def test_its_create_answers_with_an_id(world: World, timer: dict[str, Any]) -> None:
    timer_id = done(world.post(DEF, **timer))["id"]
    assert type(timer_id) is int
    data = done(world.get(DEF, id=timer_id, app="shop"))["data"]
    assert (data["id"], data["app"], data["name"], data["cron"]) == (
        timer_id,
        "shop",
        "expire",
        timer["cron"],
    )
    assert data["status"] == UNABLED
    notify = timer["notifyHTTPParam"]
    assert data["notifyHTTPParam"] == {
        "url": URL,
        "method": notify["method"],
        "header": {"A": ["b"]} if "header" in notify else {},
        "body": notify.get("body", ""),
    }


def test_a_timer_that_should_be_born_enabled_is_told_how(small_world: World) -> None:
    answered = small_world.post(DEF, **FROM_GO | {"status": ENABLED})
    assert (answered.status, answered.code) == (400, 40007)
    assert "POST /api/timer/v1/enable" in answered.msg


def test_its_switch_enables_and_disables(world: World) -> None:
    timer_id = done(world.post(DEF, **FROM_THE_PAGE))["id"]
    for path, status in ((ENABLE, ENABLED), (UNABLE, UNABLED), (ENABLE, ENABLED)):
        done(world.post(path, id=timer_id, app="shop"))
        assert world.get(DEF, id=timer_id, app="shop").data["status"] == status


def test_its_delete_frees_the_name(world: World) -> None:
    timer_id = done(world.post(DEF, **FROM_THE_PAGE))["id"]
    body = json.dumps({"id": timer_id, "app": "shop"})
    done(world.call("DELETE", DEF, data=body, content_type="application/json"))
    assert done(world.post(DEF, **FROM_THE_PAGE))["id"] != timer_id


def test_its_table_shows_the_latest_first_with_a_total(world: World) -> None:
    made = [done(world.post(DEF, **FROM_THE_PAGE | {"name": f"n{i}"}))["id"] for i in range(3)]
    first = done(world.get(DEFS, pageIndex=1, pageSize=2, app="shop"))
    second = done(world.get(DEFS, pageIndex=2, pageSize=2, app="shop"))
    assert [timer["id"] for timer in first["data"] + second["data"]] == made[::-1]
    assert (first["total"], second["total"]) == (3, 3)
    assert done(world.get(DEFS, pageIndex=9, pageSize=20, app="shop")) | {"nextCursor": None} == {
        "code": 0,
        "msg": "",
        "data": [],
        "total": 3,
        "nextCursor": None,
    }


def test_a_page_size_alone_is_of_the_first_page(world: World) -> None:
    for name in ("a", "b", "c"):
        world.made(name=name)
    page = done(world.get(DEFS, app="shop", pageSize=2))
    assert ([timer["name"] for timer in page["data"]], page["total"]) == (["c", "b"], 3)


def test_its_search_finds_a_part_of_a_name(world: World) -> None:
    for name in ("expire-orders", "expire-carts", "bill"):
        done(world.post(DEF, **FROM_THE_PAGE | {"name": name}))
    found = done(world.get(BY_NAME, app="shop", fuzzyName="expire"))
    assert [timer["name"] for timer in found["data"]] == ["expire-carts", "expire-orders"]
    assert found["total"] == 2
    assert done(world.get(BY_NAME, app="shop", fuzzyName="expire", pageIndex=2, pageSize=1))["total"] == 2


def test_a_search_for_two_texts_or_none_is_refused(small_world: World) -> None:
    assert small_world.get(BY_NAME, app="shop").code == 40005
    assert small_world.get(BY_NAME, app="shop", name="a", fuzzyName="a").code == 40003


def test_its_history_reads_what_has_run(world: World) -> None:
    timer_id = world.enabled(cron="* * * * * * *")
    first = world.clock.now + SECOND
    for number, status in enumerate((FiringStatus.SUCCEEDED, FiringStatus.FAILED)):
        moment = first + number * SECOND
        member = Member(timer_id, moment, 1)
        world.wiring.firings.settle(
            [Outcome(member, 0, status, moment, lateness_ms=1, cost_ms=7, http_status=200, output="done")]
        )
    world.clock.now = first + 2 * SECOND
    rows = done(world.get(RECORDS, app="shop", timerID=timer_id))["data"]
    assert [row["status"] for row in rows] == [NOT_RUNNED, FAILED, SUCCESSED]
    last = rows[-1]
    assert (last["timerID"], last["app"], last["costTime"], last["output"]) == (timer_id, "shop", 7, "done")
    assert datetime.fromisoformat(last["runTimer"]).timestamp() * 1_000 == first


def test_its_history_pages_by_number_with_a_total(world: World) -> None:
    timer_id = world.enabled(cron="* * * * * * *")
    world.clock.now += 5 * SECOND
    pages = [
        done(world.get(RECORDS, app="shop", timerID=timer_id, pageIndex=index, pageSize=2))
        for index in (1, 2, 3, 4)
    ]
    moments = [row["fireAtMs"] for page in pages for row in page["data"]]
    assert moments == sorted(moments, reverse=True)
    assert [len(page["data"]) for page in pages] == [2, 2, 1, 0]
    assert {page["total"] for page in pages} == {5}


@pytest.mark.parametrize("path", [DEF, DEFS, RECORDS, BY_NAME])
def test_a_read_without_an_app_says_what_to_add(small_world: World, path: str) -> None:
    answered = small_world.get(path, id=1) if path == DEF else small_world.get(path)
    assert (answered.status, answered.code, answered.json["field"]) == (400, 40005, "app")


def test_its_errors_have_a_code_and_a_message(small_world: World) -> None:
    answered = small_world.post(ENABLE, id=7, app="shop")
    assert type(answered.json["code"]) is int
    assert answered.json["code"] != 0
    assert answered.json["msg"]


def test_each_operation_that_the_page_names_is_there() -> None:
    text = (ROOT / "docs/xtimer-compat.md").read_text()
    named = set(re.findall(r"`(GET|POST|PUT|PATCH|DELETE) (/api/\S+?)`", text))
    paths = create_app().api_doc["paths"]
    assert len(named) == 9
    assert named <= {(method.upper(), path) for path, methods in paths.items() for method in methods}


def test_each_of_its_operations_has_a_row() -> None:
    text = (ROOT / "docs/xtimer-compat.md").read_text()
    rows = re.findall(r"^\| `(\w+) (/\S+)` \|", text, re.M)
    assert rows == [
        ("POST", DEF),
        ("GET", DEF),
        ("DELETE", DEF),
        ("PATCH", DEF),
        ("GET", DEFS),
        ("GET", BY_NAME),
        ("POST", ENABLE),
        ("POST", UNABLE),
        ("GET", RECORDS),
    ]
