"""Examples of requests and answers, made by calling the app: `python -m tests.api.examples` makes them again.

`examples.json` has for each operation its `parameters` and `body`, and its answer by status, as `headers` and `body`.
Its `problems` and `errors` have one error by code, as v1 and as the compatible paths show it.
"""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import orjson

from wangtimer.api.http.codes import ErrorCode

KEPT = "examples.json"

_PROBLEM, _ERROR = "Problem", "Error"
# For a new operation, until its examples are made.
_NOTHING: dict[str, Any] = {"parameters": {}, "body": None, "answers": {}}
# Where a status has several codes, an operation is shown with the first that fits.
_BY_PARAMETER = {
    "firing_id": ErrorCode.UNKNOWN_FIRING,
    "which": ErrorCode.UNKNOWN_TIMER,
    "id": ErrorCode.UNKNOWN_TIMER,
    "key_id": ErrorCode.UNKNOWN_KEY,
}
_OF_OPERATION = {
    ("isReady", "503"): ErrorCode.NOT_READY,
    ("v1ExportFirings", "503"): ErrorCode.TOO_MANY_AT_ONCE,
    ("v1GetCalendar", "404"): ErrorCode.UNKNOWN_CALENDAR,
    ("v1DeleteCalendar", "404"): ErrorCode.UNKNOWN_CALENDAR,
    ("v1Pause", "404"): ErrorCode.UNKNOWN_APP,
    ("v1Resume", "404"): ErrorCode.UNKNOWN_PAUSE,
    ("editTimer", "409"): ErrorCode.VERSION_CHANGED,
    ("createTimer", "409"): ErrorCode.NAME_TAKEN,
    ("v1CreateTimer", "409"): ErrorCode.NAME_TAKEN,
    ("v1PatchTimer", "409"): ErrorCode.NAME_TAKEN,
}
_OF_STATUS = {
    "401": ErrorCode.NO_KEY,
    "403": ErrorCode.SCOPE_MISSING,
    "404": ErrorCode.UNKNOWN_APP,
    "409": ErrorCode.WRONG_STATE,
    "412": ErrorCode.PRECONDITION_FAILED,
    "413": ErrorCode.BODY_TOO_LARGE,
    "415": ErrorCode.WRONG_CONTENT_TYPE,
    "422": ErrorCode.KEY_REUSED,
    "429": ErrorCode.TOO_MANY_REQUESTS,
    "500": ErrorCode.INTERNAL,
    "503": ErrorCode.STORE_AWAY,
}
_SCHEDULED = {"schedule", "cron", "timers"}
_OF_SCHEDULES = (
    ErrorCode.BAD_SCHEDULE,
    ErrorCode.BAD_CALLBACK,
    ErrorCode.TOO_MUCH_WORK,
    ErrorCode.OWN_CALLBACK,
)
_OF_BODIES = (ErrorCode.BROKEN_JSON, ErrorCode.NOT_AN_OBJECT, ErrorCode.DUPLICATE_FIELD, ErrorCode.WRONG_TYPE)


def put_examples(document: dict[str, Any]) -> None:
    """Put an example into each request and each answer, errors too."""
    kept = orjson.loads(files(__package__).joinpath(KEPT).read_bytes())
    used: set[str] = set()
    for path, methods in document["paths"].items():
        kind = _PROBLEM if path.startswith("/v1/") else _ERROR
        for operation in methods.values():
            shown = kept["operations"].get(operation["operationId"], _NOTHING)
            _show_request(operation, shown)
            for status, answer in operation["responses"].items():
                if int(status) < 400:
                    _show_answer(answer, operation["summary"], shown["answers"].get(status))
                elif status != "414":
                    used |= set(_show_errors(document, operation, status, kind))
    errors = {f"{_PROBLEM}{number}": body for number, body in kept["problems"].items()}
    errors |= {f"{_ERROR}{number}": body for number, body in kept["errors"].items()}
    document["components"]["examples"] = {
        name: {"summary": ErrorCode.of(body["code"]).title, "value": body}
        for name, body in errors.items()
        if name in used
    }


def _show_request(operation: dict[str, Any], shown: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        if parameter["name"] in shown["parameters"]:
            parameter["example"] = shown["parameters"][parameter["name"]]
    if "requestBody" in operation:
        (content,) = operation["requestBody"]["content"].values()
        content["examples"] = {"Example": {"summary": operation["summary"], "value": shown["body"]}}


def _show_answer(answer: dict[str, Any], summary: str, shown: dict[str, Any] | None) -> None:
    if shown is None:
        return
    for name, header in answer.get("headers", {}).items():
        header["example"] = shown["headers"].get(name, "true")
    for media_type, content in answer.get("content", {}).items():
        content["examples"] = {
            "Example": {"summary": summary, "value": shown["bodies"][media_type.partition(";")[0]]}
        }


def _show_errors(
    document: dict[str, Any], operation: dict[str, Any], status: str, kind: str
) -> Iterator[str]:
    """Add examples of an operation's errors; yield their names."""
    names = [f"{kind}{code.number}" for code in _codes_of(document, operation, status)]
    (content,) = operation["responses"][status]["content"].values()
    content["examples"] = {name: {"$ref": f"#/components/examples/{name}"} for name in names}
    yield from names


def _codes_of(document: dict[str, Any], operation: dict[str, Any], status: str) -> Iterator[ErrorCode]:
    if status == "400":
        yield from _refusals(document, operation)
        return
    own = _OF_OPERATION.get((operation["operationId"], status))
    by_parameter = (
        _BY_PARAMETER.get(parameter["name"])
        for parameter in operation.get("parameters", [])
        if status == "404"
    )
    yield own or next((code for code in by_parameter if code is not None), _OF_STATUS[status])


def _refusals(document: dict[str, Any], operation: dict[str, Any]) -> Iterator[ErrorCode]:
    names = {parameter["name"] for parameter in operation.get("parameters", [])}
    if "requestBody" in operation:
        (content,) = operation["requestBody"]["content"].values()
        schema = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
        names |= schema["properties"].keys()
        yield from _OF_BODIES
        if names & _SCHEDULED:
            yield from _OF_SCHEDULES
    if names:
        yield from (ErrorCode.BAD_VALUE, ErrorCode.MISSING_FIELD, ErrorCode.UNKNOWN_FIELD)
    if "cursor" in names:
        yield ErrorCode.BAD_CURSOR
    yield ErrorCode.WRONG_HOST
