"""The OpenAPI document, its pages, and the three pages of `docs/` tell of the API as it is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.api.world import World
from wangtimer.api import create_app
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.openapi import document
from wangtimer.core.apps.scopes import OPERATOR_SCOPES

ROOT = Path(__file__).parents[2]
COMPATIBLE = {
    "createTimer": ("POST", "/api/timer/v1/def"),
    "getTimer": ("GET", "/api/timer/v1/def"),
    "editTimer": ("PATCH", "/api/timer/v1/def"),
    "deleteTimer": ("DELETE", "/api/timer/v1/def"),
    "listTimers": ("GET", "/api/timer/v1/defs"),
    "enableTimer": ("POST", "/api/timer/v1/enable"),
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
    "isAlive": ("GET", "/healthz"),
    "isReady": ("GET", "/readyz"),
}
V1 = {
    "v1CreateTimer": ("POST", "/v1/timers"),
    "v1ListTimers": ("GET", "/v1/timers"),
    "v1GetTimer": ("GET", "/v1/timers/{which}"),
    "v1PatchTimer": ("PATCH", "/v1/timers/{which}"),
    "v1PutTimer": ("PUT", "/v1/timers/{which}"),
    "v1DeleteTimer": ("DELETE", "/v1/timers/{which}"),
    "v1EnableTimer": ("POST", "/v1/timers/{which}:enable"),
    "v1DisableTimer": ("POST", "/v1/timers/{which}:disable"),
    "v1FireTimer": ("POST", "/v1/timers/{which}:fire"),
    "v1BackfillTimer": ("POST", "/v1/timers/{which}:backfill"),
    "v1BatchCreateTimers": ("POST", "/v1/timers:batchCreate"),
    "v1BatchEnableTimers": ("POST", "/v1/timers:batchEnable"),
    "v1BatchDisableTimers": ("POST", "/v1/timers:batchDisable"),
    "v1BatchDeleteTimers": ("POST", "/v1/timers:batchDelete"),
    "v1PreviewSchedule": ("POST", "/v1/schedules:preview"),
    "v1ListFirings": ("GET", "/v1/firings"),
    "v1CountFirings": ("GET", "/v1/firings:count"),
    "v1ReplayFirings": ("POST", "/v1/firings:replay"),
    "v1ListDeadLetters": ("GET", "/v1/dead-letters"),
    "v1CountDeadLetters": ("GET", "/v1/dead-letters:count"),
    "v1ReplayDeadLetters": ("POST", "/v1/dead-letters:replay"),
    "v1DiscardDeadLetters": ("POST", "/v1/dead-letters:discard"),
    "v1GetFiring": ("GET", "/v1/firings/{firing_id}"),
    "v1AckFiring": ("POST", "/v1/firings/{firing_id}:ack"),
    "v1NackFiring": ("POST", "/v1/firings/{firing_id}:nack"),
    "v1HeartbeatFiring": ("POST", "/v1/firings/{firing_id}:heartbeat"),
    "v1CancelFiring": ("POST", "/v1/firings/{firing_id}:cancel"),
    "v1ReplayFiring": ("POST", "/v1/firings/{firing_id}:replay"),
    "v1ListCalendars": ("GET", "/v1/calendars"),
    "v1GetCalendar": ("GET", "/v1/calendars/{name}"),
    "v1PutCalendar": ("PUT", "/v1/calendars/{name}"),
    "v1DeleteCalendar": ("DELETE", "/v1/calendars/{name}"),
    "v1ListTargets": ("GET", "/v1/targets"),
    "v1GetTarget": ("GET", "/v1/targets/{name}"),
    "v1PutTarget": ("PUT", "/v1/targets/{name}"),
    "v1PatchTarget": ("PATCH", "/v1/targets/{name}"),
    "v1DeleteTarget": ("DELETE", "/v1/targets/{name}"),
    "v1GetBrokers": ("GET", "/v1/brokers"),
    "v1GetSigning": ("GET", "/v1/signing-secrets"),
    "v1RotateSecret": ("POST", "/v1/signing-secrets"),
    "v1SwitchSigning": ("PATCH", "/v1/signing-secrets"),
    "v1EndSecret": ("DELETE", "/v1/signing-secrets/{secret_id}"),
    "v1GetClientCertificate": ("GET", "/v1/client-certificate"),
    "v1PutClientCertificate": ("PUT", "/v1/client-certificate"),
    "v1DeleteClientCertificate": ("DELETE", "/v1/client-certificate"),
    "v1GetLoad": ("GET", "/v1/load"),
    "v1GetLoadOfAllApps": ("GET", "/v1/load:allApps"),
    "v1GetFailingHosts": ("GET", "/v1/failing-hosts"),
    "v1ListAlertRules": ("GET", "/v1/alert-rules"),
    "v1PutAlertRule": ("PUT", "/v1/alert-rules/{name}"),
    "v1DeleteAlertRule": ("DELETE", "/v1/alert-rules/{name}"),
    "v1TestAlertRule": ("POST", "/v1/alert-rules/{name}:test"),
    "v1EnableHost": ("POST", "/v1/failing-hosts:enable"),
    "v1GetFailingHostsOfAllApps": ("GET", "/v1/failing-hosts:allApps"),
    "v1ListAudit": ("GET", "/v1/audit"),
    "v1ListHostLimits": ("GET", "/v1/host-limits"),
    "v1LimitHost": ("PUT", "/v1/host-limits/{host}"),
    "v1FreeHost": ("DELETE", "/v1/host-limits/{host}"),
    "v1ListPauses": ("GET", "/v1/pauses"),
    "v1Pause": ("PUT", "/v1/pauses/{what}"),
    "v1Resume": ("DELETE", "/v1/pauses/{what}"),
    "v1ListApps": ("GET", "/v1/apps"),
    "v1CreateApp": ("POST", "/v1/apps"),
    "v1GetApp": ("GET", "/v1/apps/{name}"),
    "v1PatchApp": ("PATCH", "/v1/apps/{name}"),
    "v1ListAppKeys": ("GET", "/v1/apps/{app}/keys"),
    "v1CreateAppKey": ("POST", "/v1/apps/{app}/keys"),
    "v1RevokeAppKey": ("DELETE", "/v1/apps/{app}/keys/{key_id}"),
    "v1ListOperatorKeys": ("GET", "/v1/operator-keys"),
    "v1CreateOperatorKey": ("POST", "/v1/operator-keys"),
    "v1RevokeOperatorKey": ("DELETE", "/v1/operator-keys/{key_id}"),
}
OPERATIONS = COMPATIBLE | V1


def test_openapi_json_is_the_app_s() -> None:
    kept = (ROOT / "openapi.json").read_text()
    assert kept == document(), "run: python -m wangtimer.api.openapi > openapi.json"


@pytest.mark.processes
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
            errors = {status for status in operation["responses"] if int(status) >= 400}
            assert errors >= {"500"}
            assert errors < operation["responses"].keys()
            assert operation["summary"]


def test_it_is_valid_by_the_schema_of_openapi_3_1() -> None:
    """Its style is checked by `make lint-openapi`."""
    OpenAPIV31SpecValidator(create_app().api_doc).validate()


def test_the_old_paths_are_told_apart_from_v1_by_their_tags() -> None:
    described = create_app().api_doc
    assert [server["url"] for server in described["servers"]] == ["/"]
    assert "compatible" in described["info"]["description"]
    for path, methods in described["paths"].items():
        for operation in methods.values():
            assert operation["tags"][0].startswith("compatible ") == path.startswith("/api/")


def test_every_reference_in_the_document_leads_somewhere() -> None:
    schemas = create_app().api_doc["components"]["schemas"]
    referenced = set(re.findall(r'"#/components/schemas/(\w+)"', document()))
    assert referenced == set(schemas)


def test_the_page_loads_everything_from_the_service_itself(small_world: World) -> None:
    page = small_world.client.get("/docs")
    assert page.status_code == 200
    named = re.findall(r'(?:href|src|url)(?:=|: )"([^"]+)"', page.text)
    assert len(named) == 6
    for path in named:
        with small_world.client.get(f"/{path}") as response:
            assert response.status_code == 200


def test_every_error_code_has_its_place_on_a_page(small_world: World) -> None:
    page = small_world.client.get("/docs/errors")
    assert (page.status_code, page.mimetype) == (200, "text/html")
    assert re.findall(r'<h2 id="(\d+)">', page.text) == [str(code.number) for code in ErrorCode]
    assert "`" not in page.text


def test_the_root_leads_to_the_page(small_world: World) -> None:
    answered = small_world.client.get("/")
    assert (answered.status_code, answered.headers["Location"]) == (302, "docs")


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


def test_docs_api_shows_each_compatible_operation_once_and_nothing_else() -> None:
    sections = operation_sections("docs/api.md")
    assert sorted(sections) == sorted(COMPATIBLE.values())
    for (method, path), section in sections.items():
        assert path in command_of(method, section)


def test_docs_v1_shows_each_operation_of_v1_once() -> None:
    sections = operation_sections("docs/v1.md")
    assert sorted(sections) == sorted(V1.values())
    described = create_app().api_doc["paths"]
    for (method, path), section in sections.items():
        command = command_of(method, section)
        security = described[path][method.lower()]["security"]
        if not security:
            assert ".wangtimer/" not in command, path
            continue
        is_operators = not OPERATOR_SCOPES.isdisjoint(security[0]["Key"])
        assert f"-H @.wangtimer/{'operator-' if is_operators else ''}key" in command, path
        # A place in braces stands for any id, key or name.
        assert re.search(re.sub(r"\\{\w+\\}", r"(?:key:)?[^\\s/:]+", re.escape(path)) + r"['?\s]", command)


def operation_sections(page: str) -> dict[tuple[str, str], str]:
    """Return the sections of a page whose headings are operations."""
    sections = re.split(r"^## ", (ROOT / page).read_text(), flags=re.M)[1:]
    found = [(re.match(r"`(\w+) (/\S+)`\n", section), section) for section in sections]
    of_operations = [((heading[1], heading[2]), section) for heading, section in found if heading]
    assert len(dict(of_operations)) == len(of_operations)
    return dict(of_operations)


def command_of(method: str, section: str) -> str:
    """Return the one example of a section."""
    commands = re.findall(r"^curl .*$", section, re.M)
    assert len(commands) == 1
    assert (f"-X {method} " in commands[0]) == (method in {"DELETE", "PATCH", "PUT"})
    return str(commands[0])
