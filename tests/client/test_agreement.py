"""The client against openapi.json: every operation a method, every field an argument, every answer its type."""

import inspect
import json
from pathlib import Path
from typing import Any, Unpack, get_args, get_origin, get_type_hints

import pytest

from wangtimer.client import Client, firing_types, timer_types
from wangtimer.client.fields import written

DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi.json").read_text())
# The client speaks the compatible paths. Those under /v1 have other names for most fields, and no client yet.
OPERATIONS: dict[str, dict[str, Any]] = {
    operation["operationId"]: operation
    for path, methods in DOCUMENT["paths"].items()
    if not path.startswith("/v1/")
    for operation in methods.values()
}
# xTimer's spellings of what has another name, and what the client itself says.
NOT_ARGUMENTS = {"app", "creator", "timerID", "fuzzyName", "notify_type"}
# A timer's status is accepted from xTimer's clients where one is made, and ignored.
IGNORED = {"createTimer": {"status"}, "putTimer": {"status"}}
# Arguments that go elsewhere than into fields of this name.
OF_THE_CLIENT = {"idempotency_key", "of_all_apps"}
# A key of an answer that the service does not send, and one that it sends beside the data.
KEYS_OF_THE_CLIENT = {"wasInDoubt", "countsWithinMs"}
RENAMED = {"wanted": "filter", "all_timers": "all"}
# `data` of an operation's answer, or the whole of it where it says more.
ANSWERS = {
    "createTimer": timer_types.PlannedTimer,
    "editTimer": timer_types.PlannedTimer,
    "getTimer": timer_types.Timer,
    "enableTimer": timer_types.Timer,
    "previewSchedule": timer_types.Preview,
    "listTimers": timer_types.ListedTimer,
    "listTimersByName": timer_types.ListedTimer,
    "getCalendar": timer_types.Calendar,
    "putCalendar": timer_types.Calendar,
    "listRecords": firing_types.Firing,
    "listFirings": firing_types.Firing,
    "isReady": firing_types.PartsHealth,
    "putTimer": timer_types.PlannedTimer,
    "createTimers": timer_types.MadeTimer,
    "changeTimers": timer_types.TimersChange,
    "getLoad": timer_types.MinuteLoad,
    "getFiring": firing_types.FiringDetail,
    "countFirings": firing_types.Counts,
    "fireNow": firing_types.Firing,
    "replayFirings": firing_types.Replay,
    "cancelFiring": firing_types.Firing,
    "backfillFirings": firing_types.Backfill,
}


def method_name(operation_id: str) -> str:
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in operation_id)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def fields_of(operation: dict[str, Any]) -> set[str]:
    names = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
    if "requestBody" in operation:
        schema = resolved(operation["requestBody"]["content"]["application/json"]["schema"])
        names |= set(schema["properties"])
    return names - NOT_ARGUMENTS


def arguments_of(method: Any) -> set[str]:
    hints = get_type_hints(method)
    names: set[str] = set()
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            assert get_origin(hints[name]) is Unpack
            names |= set(get_type_hints(get_args(hints[name])[0]))
        elif name != "self":
            names.add(RENAMED.get(name, name))
    return set(written(dict.fromkeys(names - OF_THE_CLIENT)))


@pytest.mark.parametrize("operation_id", sorted(OPERATIONS))
def test_every_operation_is_a_method(operation_id: str) -> None:
    method = getattr(Client, method_name(operation_id), None)
    assert callable(method)
    assert method.__doc__


@pytest.mark.parametrize("operation_id", sorted(OPERATIONS))
def test_every_field_of_a_request_is_an_argument(operation_id: str) -> None:
    wanted = fields_of(OPERATIONS[operation_id])
    arguments = arguments_of(getattr(Client, method_name(operation_id)))
    assert arguments == wanted - IGNORED.get(operation_id, set())


@pytest.mark.parametrize("operation_id", sorted(OPERATIONS))
def test_what_says_how_soon_it_counts_says_so_in_its_type(operation_id: str) -> None:
    content = OPERATIONS[operation_id]["responses"]["200"]["content"].get("application/json", {"schema": {}})
    is_sent = "countsWithinMs" in resolved(content["schema"]).get("properties", {})
    kind = get_type_hints(getattr(Client, method_name(operation_id)))["return"]
    assert ("countsWithinMs" in getattr(kind, "__annotations__", {})) == is_sent


@pytest.mark.parametrize("operation_id", ANSWERS)
def test_every_key_of_an_answer_is_in_its_type(operation_id: str) -> None:
    answer = OPERATIONS[operation_id]["responses"]["200"]["content"]["application/json"]["schema"]
    data = resolved(resolved(answer)["properties"]["data"])
    data = resolved(data["items"]) if data.get("type") == "array" else data
    kind = ANSWERS[operation_id]
    assert set(get_type_hints(kind)) - KEYS_OF_THE_CLIENT == set(data["properties"])
    assert set(data.get("required", ())) - kind.__required_keys__ == set()
