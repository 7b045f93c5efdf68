"""Gives every property and parameter of the document a description, and every status and code its values."""

from typing import Any

from wangtimer.api.document.meanings import meaning_of
from wangtimer.api.http.codes import ErrorCode
from wangtimer.callback.request import METHODS

# xTimer's numbers, with their names in generated clients.
_TIMER_NUMBERS = {1: "disabled", 2: "enabled", 3: "finished"}
_FIRING_NUMBERS = {0: "pending", 1: "accepted", 2: "succeeded", 3: "failed", 4: "skipped"}
_TIMERS = ("TimerData", "PlannedTimerData", "ListedTimerData")
_FIRINGS = ("RecordData",)


def describe_fields(document: dict[str, Any]) -> None:
    """Describe each field that its model does not describe, by the meaning of its name."""
    for name, schema in document["components"]["schemas"].items():
        for field, inner in schema.get("properties", {}).items():
            _describe(inner, name, field)
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                _describe(parameter, "", parameter["name"])


def name_objects(document: dict[str, Any]) -> None:
    """Make each object inside a schema a schema of its own. Otherwise generators make a second type of it."""
    schemas = document["components"]["schemas"]
    for schema in list(schemas.values()):
        for field in schema.get("properties", {}).values():
            inner = field.get("items", {})
            if "properties" in inner:
                field["items"] = {"$ref": f"#/components/schemas/{inner['title']}"}
                schemas.setdefault(inner["title"], inner)


def name_values(document: dict[str, Any]) -> None:
    """List the values of each status and error code."""
    schemas = document["components"]["schemas"]
    for names, numbers in ((_TIMERS, _TIMER_NUMBERS), (_FIRINGS, _FIRING_NUMBERS)):
        for name in names:
            schemas[name]["properties"]["status"] |= _numbers(numbers)
            schemas[name]["properties"]["statusName"]["enum"] = list(numbers.values())
    schemas["LastOutcome"]["properties"]["statusName"]["enum"] = list(_FIRING_NUMBERS.values())
    schemas["NotifyData"]["properties"]["method"]["enum"] = ["", *sorted(METHODS)]
    codes = _numbers({code.number: code.name for code in ErrorCode})
    for name in ("Problem", "ErrorAnswer"):
        schemas[name]["properties"]["code"] |= codes
        # An error's envelope never has the code 0.
        schemas[name]["properties"]["code"].pop("default", None)
    schemas["Problem"]["properties"]["title"]["enum"] = [code.title for code in ErrorCode]


def _describe(part: dict[str, Any], schema: str, field: str) -> None:
    meaning = meaning_of(schema, field)
    if "description" not in part and meaning is not None:
        part["description"] = meaning


def _numbers(words: dict[int, str]) -> dict[str, list[Any]]:
    # Client generators read the names from this extension; without it they make up NUMBER_40001.
    return {"enum": list(words), "x-enum-varnames": [word.upper() for word in words.values()]}
