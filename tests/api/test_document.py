"""The OpenAPI document, its page, and the two pages of `docs/` tell of the API as it is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.world import World
from wangtimer.api import create_app
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.openapi import document

ROOT = Path(__file__).parents[2]
OPERATIONS = {
    "createTimer": ("POST", "/api/timer/v1/def"),
    "getTimer": ("GET", "/api/timer/v1/def"),
    "createTimers": ("POST", "/api/timer/v1/defs"),
    "changeTimers": ("POST", "/api/timer/v1/bulk"),
    "putTimer": ("PUT", "/api/timer/v1/def"),
    "previewSchedule": ("POST", "/api/timer/v1/preview"),
    "editTimer": ("PATCH", "/api/timer/v1/def"),
    "putCalendar": ("PUT", "/api/timer/v1/calendar"),
    "getCalendar": ("GET", "/api/timer/v1/calendar"),
    "listCalendars": ("GET", "/api/timer/v1/calendars"),
    "deleteCalendar": ("DELETE", "/api/timer/v1/calendar"),
    "deleteTimer": ("DELETE", "/api/timer/v1/def"),
    "listTimers": ("GET", "/api/timer/v1/defs"),
    "enableTimer": ("POST", "/api/timer/v1/enable"),
    "disableTimer": ("POST", "/api/timer/v1/disable"),
    "unableTimer": ("POST", "/api/timer/v1/unable"),
    "listTimersByName": ("GET", "/api/timer/v1/defsByName"),
    "listFirings": ("GET", "/api/task/v1/firings"),
    "exportFirings": ("GET", "/api/task/v1/export"),
    "getFiring": ("GET", "/api/task/v1/firing"),
    "countFirings": ("GET", "/api/task/v1/counts"),
    "listRecords": ("GET", "/api/task/v1/records"),
    "fireNow": ("POST", "/api/task/v1/fire"),
    "cancelFiring": ("POST", "/api/task/v1/cancel"),
    "replayFirings": ("POST", "/api/task/v1/replay"),
    "backfillFirings": ("POST", "/api/task/v1/backfill"),
    "getLoad": ("GET", "/api/timer/v1/load"),
    "isAlive": ("GET", "/healthz"),
    "isReady": ("GET", "/readyz"),
}


def test_openapi_json_is_the_app_s() -> None:
    kept = (ROOT / "openapi.json").read_text()
    assert kept == document(), "run: python -m wangtimer.api.openapi > openapi.json"


def test_the_document_can_be_printed_without_any_server() -> None:
    command = [sys.executable, "-m", "wangtimer.api.openapi"]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert printed.stdout == document()


def test_operation_ids_are_stable() -> None:
    paths = create_app().api_doc["paths"]
    found = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in paths.items()
        for method, operation in methods.items()
    }
    assert found == OPERATIONS


def test_it_is_openapi_3_1_0_and_each_operation_tells_its_errors() -> None:
    described = create_app().api_doc
    assert described["openapi"] == "3.1.0"
    for methods in described["paths"].values():
        for operation in methods.values():
            errors = {status for status in operation["responses"] if status != "200"}
            assert errors >= {"500"}
            assert operation["summary"]


def test_every_reference_in_the_document_leads_somewhere() -> None:
    schemas = create_app().api_doc["components"]["schemas"]
    referenced = set(re.findall(r'"#/components/schemas/(\w+)"', document()))
    assert referenced == set(schemas)


def test_the_page_loads_everything_from_the_service_itself(small_world: World) -> None:
    page = small_world.client.get("/docs")
    assert page.status_code == 200
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert "://" not in page.text
    loaded = re.findall(r'(?:href|src)="([^"]+)"', page.text)
    assert len(loaded) == 3
    for path in [*loaded, "openapi.json"]:
        with small_world.client.get(f"/{path}") as response:
            assert response.status_code == 200


@pytest.mark.parametrize("name", ["../plugins.py", "..%2f..%2f__init__.py", "/etc/passwd", "nothing.js"])
def test_the_page_s_files_are_all_that_is_served(small_world: World, name: str) -> None:
    assert small_world.client.get(f"/docs/assets/{name}", follow_redirects=True).status_code == 404


def test_docs_api_errors_is_the_table_of_codes() -> None:
    rows = re.findall(
        r"^\| (\d+) \| (\d+) \| (\w+) \| (.+) \|$", (ROOT / "docs/api-errors.md").read_text(), re.M
    )
    assert rows == [(str(code.number), str(code.status), code.name, code.meaning) for code in ErrorCode]


def test_codes_are_unique_and_carry_an_http_error() -> None:
    assert len({code.number for code in ErrorCode}) == len(ErrorCode)
    assert all(400 <= code.status < 600 for code in ErrorCode)


def test_every_code_is_one_that_the_api_gives() -> None:
    sources = [path for path in (ROOT / "wangtimer/api").rglob("*.py") if path.name != "codes.py"]
    given = set(re.findall(r"ErrorCode\.([A-Z_]+)", "".join(path.read_text() for path in sources)))
    assert given == {code.name for code in ErrorCode}


def test_every_status_of_a_code_is_documented_by_some_operation() -> None:
    statuses = {
        status
        for methods in create_app().api_doc["paths"].values()
        for operation in methods.values()
        for status in operation["responses"]
    }
    # A wrong method is answered where there is no operation.
    assert {str(code.status) for code in ErrorCode} - {"405"} <= statuses


def test_docs_api_shows_each_operation_once_and_nothing_else() -> None:
    text = (ROOT / "docs/api.md").read_text()
    headings = re.findall(r"^## `(\w+) (/\S+)`", text, re.M)
    assert sorted(headings) == sorted(OPERATIONS.values())
    sections = re.split(r"^## ", text, flags=re.M)[1:]
    for (method, path), section in zip(headings, sections, strict=True):
        (command,) = re.findall(r"^curl .*$", section, re.M)
        assert path in command
        assert (f"-X {method} " in command) == (method in {"DELETE", "PATCH", "PUT"})
