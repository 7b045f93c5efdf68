"""The client against openapi.json: every operation of v1 a method, every field an argument, every answer its type."""

import inspect
import json
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Unpack, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from tests.in_one import in_one
from wangtimer.client import Client
from wangtimer.client.timer_fields import Misfire, Schedule, TargetPatch, TimerFields, described
from wangtimer.client.timer_types import Deletion

DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi.json").read_text())
PREFIX = "v1"
# Text for spreadsheets and pipes; `Client.firings` yields the same.
TEXTS = {"v1ExportFirings"}
OPERATIONS: dict[str, dict[str, Any]] = {
    operation["operationId"].removeprefix(PREFIX): operation
    for path, methods in DOCUMENT["paths"].items()
    if path.startswith("/v1/")
    for operation in methods.values()
    if operation["operationId"] not in TEXTS
}
# Headers, by what the client calls what it says in them; the app is the client's own.
HEADERS = {"If-Match": "version", "Idempotency-Key": "idempotency_key", "WangTimer-App": None}
# Arguments that are spelled as Python's own.
SPELLED = {
    "dry_run": "dryRun",
    "after_id": "afterId",
    "firing_id": "firing_id",
    "expires_at": "expiresAt",
    "private_key": "privateKey",
    "timer": "timer",
    "calls_per_second": "callsPerSecond",
    "calls_at_once": "callsAtOnce",
    "dead_letter_days": "deadLetterDays",
}
# A typed dictionary that is an argument of its own, where the service has its fields beside the others.
SPREAD = "spread"
# What the client says beside what the service sends.
OF_THE_CLIENT = {"wasInDoubt", "created"}


def method_of(operation_id: str) -> Any:
    name = "".join(f"_{one.lower()}" if one.isupper() else one for one in operation_id).removeprefix("_")
    return getattr(Client, name, None)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def one_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without its null."""
    schema = resolved(schema)
    wanted = [resolved(one) for one in schema.get("anyOf", []) if one.get("type") != "null"]
    return wanted[0] if len(wanted) == 1 else schema


def fields_of(operation: dict[str, Any]) -> set[str]:
    names = {HEADERS.get(one["name"], one["name"]) for one in operation.get("parameters", [])}
    if "requestBody" in operation:
        schema = resolved(operation["requestBody"]["content"]["application/json"]["schema"])
        names |= set(schema["properties"])
    return {name for name in names if name is not None}


def arguments_of(method: Any) -> set[str]:
    hints = get_type_hints(method)
    names: set[str] = set()
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            assert get_origin(hints[name]) is Unpack
            names |= {SPELLED.get(one, one) for one in get_type_hints(get_args(hints[name])[0])}
        elif name == SPREAD:
            names |= set(get_type_hints(get_args(hints[name])[0]))
        elif name != "self":
            names.add(SPELLED.get(name, name))
    return names


@in_one("operation_id", sorted(OPERATIONS))
def test_every_operation_is_a_method(operation_id: str) -> None:
    method = method_of(operation_id)
    assert callable(method), operation_id
    assert method.__doc__


@in_one("operation_id", sorted(OPERATIONS))
def test_every_field_of_a_request_is_an_argument(operation_id: str) -> None:
    arguments = arguments_of(method_of(operation_id))
    if operation_id == "PreviewSchedule":
        arguments = arguments - set(get_type_hints(Schedule)) | {"schedule"}
    assert arguments == fields_of(OPERATIONS[operation_id])


def without_none(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    kinds = [one for one in get_args(hint) if one is not NoneType]
    return kinds[0] if NoneType in get_args(hint) and len(kinds) == 1 else hint


def differences(kind: Any, schema: dict[str, Any], place: str) -> list[str]:
    """Return where an answer's type and its schema do not agree."""
    kind, schema = without_none(kind), one_of(schema)
    if get_origin(kind) is list:
        return differences(get_args(kind)[0], schema["items"], f"{place}[]")
    kind, rows = get_origin(kind) or kind, get_args(kind)
    if not is_typeddict(kind):
        return []
    hints, properties = get_type_hints(kind), schema["properties"]
    if rows:  # of a list or a page
        hints["items"] = list[rows]  # type: ignore[valid-type]
    found = [f"{place}.{name}" for name in (set(hints) - OF_THE_CLIENT) ^ (set(properties) - OF_THE_CLIENT)]
    sent_always = set(schema.get("required", ())) - OF_THE_CLIENT
    if kind is not Deletion:  # One that was in doubt has less.
        needed = kind.__required_keys__ - OF_THE_CLIENT
        found += [f"{place}.{name} is required on one side" for name in needed ^ sent_always]
    return found + [
        fault
        for name in hints.keys() & properties.keys()
        for fault in differences(hints[name], properties[name], f"{place}.{name}")
    ]


@in_one("operation_id", sorted(OPERATIONS))
def test_every_key_of_an_answer_is_in_its_type(operation_id: str) -> None:
    kind = get_type_hints(method_of(operation_id))["return"]
    for status in ("200", "201"):
        content = OPERATIONS[operation_id]["responses"].get(status, {}).get("content")
        if content is not None:
            schema = content["application/json"]["schema"]
            schema = resolved(schema)["properties"]["items"] if get_origin(kind) is list else schema
            assert differences(kind, schema, operation_id) == []


REQUESTS = {"Schedule": Schedule, "Misfire": Misfire, "TargetChange": TargetPatch}


@pytest.mark.parametrize("name", REQUESTS)
def test_every_part_of_a_request_has_the_fields_of_its_schema(name: str) -> None:
    assert set(get_type_hints(REQUESTS[name])) == set(DOCUMENT["components"]["schemas"][name]["properties"])


@pytest.mark.parametrize("kind", [Schedule, Misfire, TargetPatch, TimerFields])
def test_the_words_of_a_choice_are_those_of_its_schema(kind: type) -> None:
    names = {Schedule: "Schedule", Misfire: "Misfire", TargetPatch: "TargetChange", TimerFields: "TimerPatch"}
    properties = DOCUMENT["components"]["schemas"][names[kind]]["properties"]
    for field in described(kind).values():
        words = one_of(properties[field.name]).get("enum")
        assert field.kind != "choice" or words is None or set(field.choices) == set(words)
        assert field.about.help.endswith((".", "..."))


@pytest.mark.parametrize("room", ["client", "cli"])
def test_client_and_command_line_know_no_path_of_before_v1(room: str) -> None:
    sources = sorted((Path(__file__).parents[2] / "wangtimer" / room).rglob("*.py"))
    assert len(sources) > 10
    assert [path.name for path in sources if "/api/" in path.read_text()] == []
