"""Lists of timers: filters, order, pages, last outcomes."""

from typing import Any

import pytest

from tests.api.world import DEF, DEFS, RECORDS, UNABLE, URL, World
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome

BY_NAME = "/api/timer/v1/defsByName"
MINUTE, HOUR = 60_000, 3_600_000


def names(answer: Any) -> list[str]:
    assert answer.status == 200, answer.json
    return [timer["name"] for timer in answer.data]


def listed(world: World, **query: Any) -> list[str]:
    return names(world.get(DEFS, app="shop", **query))


def paged(world: World, **query: Any) -> list[str]:
    """Return every page's names, one timer a page."""
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = world.get(DEFS, app="shop", limit=1, **query, **cursor)
        found += names(answer)
        if answer.json["nextCursor"] is None:
            return found
        cursor = {"cursor": answer.json["nextCursor"]}


@pytest.fixture
def some(world: World) -> World:
    """Timers in several states."""
    world.made(name="bill", cron="* * * * *", tags=["money", "daily"])
    world.enabled(name="Billing-run", cron="0 0 1 1 *", tags=["money"])
    world.enabled(name="expire_100%", cron="* * * * *")
    world.enabled(name="once", cron=None, delayMs=5 * MINUTE)
    world.enabled(name="over", cron="* * * * *", maxFirings=1)
    world.made(app="bank", name="bill", cron="* * * * *")
    world.clock.now += 2 * MINUTE
    return world


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({}, ["bill", "Billing-run", "expire_100%", "once", "over"]),
        ({"name": "bill"}, ["bill"]),
        ({"namePrefix": "b"}, ["bill"]),
        ({"namePrefix": "expire_"}, ["expire_100%"]),
        ({"nameContains": "BILL"}, ["bill", "Billing-run"]),
        ({"nameContains": "0%"}, ["expire_100%"]),
        ({"nameContains": "%"}, ["expire_100%"]),
        ({"status": "disabled"}, ["bill"]),
        ({"status": "enabled"}, ["Billing-run", "expire_100%", "once"]),
        ({"status": "finished"}, ["over"]),
        ({"tag": "money"}, ["bill", "Billing-run"]),
        ({"tag": "money", "status": "enabled"}, ["Billing-run"]),
        ({"tag": "none"}, []),
    ],
)
def test_filters_leave_those_wanted(some: World, query: dict[str, Any], wanted: list[str]) -> None:
    assert listed(some, **query) == wanted


def test_the_next_moment_can_be_asked_for(some: World) -> None:
    now = some.clock.now
    assert listed(some, nextBefore=now + MINUTE) == ["expire_100%"]
    assert listed(some, nextBefore=now + 4 * MINUTE) == ["expire_100%", "once"]


@pytest.mark.every_run
@pytest.mark.parametrize(
    "sort", ["id", "-id", "name", "-name", "createdAt", "-createdAt", "updatedAt", "-updatedAt"]
)
def test_each_order_pages_to_its_end(some: World, sort: str) -> None:
    whole = listed(some, sort=sort)
    assert len(whole) == 5
    assert paged(some, sort=sort) == whole
    if sort.endswith("name"):
        assert whole == sorted(whole, reverse=sort.startswith("-"))


def test_pages_neither_hide_nor_repeat_where_rows_change(some: World) -> None:
    first = some.get(DEFS, app="shop", limit=2, sort="name")
    some.delete(app="shop", id=first.data[0]["id"])
    some.made(name="AAA")
    some.made(name="zzz")
    rest = some.get(DEFS, app="shop", limit=50, sort="name", cursor=first.json["nextCursor"])
    assert names(first) + names(rest) == ["Billing-run", "bill", "expire_100%", "once", "over", "zzz"]


@pytest.mark.parametrize("query", [{"sort": "-id"}, {"sort": "name"}])
def test_another_orders_cursor_is_refused(some: World, query: dict[str, str]) -> None:
    cursor = some.get(DEFS, app="shop", limit=1).json["nextCursor"]
    assert some.get(DEFS, app="shop", limit=1, cursor=cursor, **query).code == 40010


@pytest.mark.parametrize(
    "query", [{"sort": "size"}, {"status": "deleted"}, {"nextBefore": "soon"}, {"name": ""}]
)
def test_what_cannot_be_asked_is_refused(some: World, query: dict[str, str]) -> None:
    assert some.get(DEFS, app="shop", **query).status == 400


def test_each_row_has_its_next_moment_and_last_outcome(some: World) -> None:
    timer = some.get(DEFS, app="shop", name="expire_100%").data[0]
    assert timer["lastOutcome"] is None
    fired = some.wiring.firings.records(timer["id"], 100, upto=some.clock.now)
    moment = fired[0].firing.fire_at
    some.wiring.firings.settle(
        [
            Outcome(
                Member(timer["id"], moment, 1), 0, FiringStatus.FAILED, moment, lateness_ms=3, http_status=500
            )
        ]
    )
    after = some.get(DEFS, app="shop", name="expire_100%").data[0]
    assert after["lastOutcome"]["statusName"] == "failed"
    assert after["lastOutcome"]["latenessMs"] == 3
    assert after["nextFireAt"]


def test_xtimers_pages_are_numbered_latest_first_and_have_a_total(some: World) -> None:
    page = some.get(DEFS, app="shop", pageIndex=2, pageSize=2)
    assert names(page) == ["expire_100%", "Billing-run"]
    assert page.json["total"] == 5
    assert names(some.get(DEFS, app="shop", pageIndex=2, pageSize=2, sort="id")) == ["expire_100%", "once"]
    assert "total" not in some.get(DEFS, app="shop").json


def test_defs_by_name_are_those_that_contain_it_latest_first(some: World) -> None:
    found = some.get(BY_NAME, app="shop", name="bill")
    assert names(found) == ["Billing-run", "bill"]
    assert found.json["total"] == 2
    assert names(some.get(BY_NAME, app="shop", name="bill", pageIndex=2, pageSize=1)) == ["bill"]


def test_a_tag_goes_with_its_timer(some: World) -> None:
    [timer] = some.get(DEFS, app="shop", name="bill").data
    some.patch(app="shop", id=timer["id"], tags=["other"])
    assert listed(some, tag="daily") == []
    assert listed(some, tag="other") == ["bill"]
    some.post(UNABLE, app="shop", id=timer["id"])
    some.call("DELETE", DEF, json={"app": "shop", "id": timer["id"]})
    assert listed(some, tag="other") == []


@pytest.mark.every_run
def test_a_text_in_a_name_is_found_in_either_case_of_any_letter(world: World) -> None:
    world.made(name="ÄPFEL für Ωmega")
    assert [len(listed(world, nameContains=text)) for text in ("äpfel", "ÄPFEL", "FÜR", "ωm", "apfel")] == [
        1,
        1,
        1,
        1,
        0,
    ]


def test_a_space_at_an_end_counts(world: World) -> None:
    world.made(name="old", tags=["x"])
    world.made(name="old one")
    assert listed(world, namePrefix="old ") == ["old one"]
    assert listed(world, nameContains="old ") == ["old one"]
    assert listed(world, name="old ") == listed(world, tag="x ") == []


def test_a_cursor_leads_on_in_its_own_list_only(some: World) -> None:
    cursor = some.get(DEFS, app="shop", limit=1, tag="money").json["nextCursor"]
    for other in ({"tag": "none"}, {}, {"tag": "money", "status": "enabled"}):
        assert some.get(DEFS, app="shop", limit=1, cursor=cursor, **other).code == 40010
    assert some.get(DEFS, app="bank", limit=1, cursor=cursor, tag="money").code == 40010
    assert listed(some, limit=9, cursor=cursor, tag="money") == ["Billing-run"]


def test_a_page_ends_where_its_calls_are_large(small_world: World) -> None:
    for number in range(20):
        call = {"url": URL, "body": "\u00e9" * 30_000}
        small_world.made(name=f"large{number}", cron="* * * * *", notifyHTTPParam=call)
    first = small_world.get(DEFS, app="shop", limit=50)
    assert len(first.data) == 18  # the first of 60,000 bytes each that pass 1 MiB
    rest = small_world.get(DEFS, app="shop", limit=50, cursor=first.json["nextCursor"])
    assert (names(rest), rest.json["nextCursor"]) == (["large18", "large19"], None)


@pytest.mark.parametrize("other", [{"cursor": "x"}, {"limit": 5}])
def test_one_pages_by_number_or_by_cursor(small_world: World, other: dict[str, Any]) -> None:
    small_world.made()
    for page in ({"pageIndex": 1}, {"pageSize": 9}):
        for path, query in ((DEFS, {}), (RECORDS, {"id": 1})):
            answered = small_world.get(path, app="shop", **query, **page, **other)
            assert (answered.code, answered.json["field"]) == (40007, next(iter(other)))


def test_a_number_out_of_range_is_the_same_fault_in_a_query_as_in_a_body(small_world: World) -> None:
    for path, field in ((DEF, "id"), (RECORDS, "id"), (DEFS, "limit")):
        answered = small_world.get(path, app="shop", **{field: "-1"})
        assert (answered.code, answered.json["field"]) == (40007, field)
    assert small_world.post(UNABLE, app="shop", id=-1).code == 40007
