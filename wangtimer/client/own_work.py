"""Whether a timer is as a change wanted it. It tells the client's own change, whose answer was lost, from another's."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from .timer_fields import (
    DescribedField,
    Misfire,
    Retry,
    Rule,
    Schedule,
    TargetPatch,
    TimerFields,
    defaults,
    described,
)
from .values import moment_ms, read_span

_JSON_TYPE = {"Content-Type": "application/json"}
_TIMEOUTS = ("timeout", "connectTimeout", "firstByteTimeout", "ackTimeout")
_FORM = ("templates", "cloudEvents", "bodyIsBase64", "allowControl", "numbered")
_CALL_DEFAULTS: Mapping[str, Any] = {
    "method": "POST",
    "headers": {},
    "body": "",
    **dict.fromkeys((*_TIMEOUTS, *_FORM)),
}


def stands_as_wanted(timer: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Say whether a timer, as the service shows it, has every field of a request; False where that is not certain."""
    return all(_holds(timer, name, value) for name, value in wanted.items())


def put_whole(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the timer that a put asks for: fields that its body leaves out have their default."""
    rule_defaults = defaults(Schedule)
    # The service chooses the anchor of an interval that gives none.
    del rule_defaults["anchorAt"]
    whole = {**defaults(TimerFields), **body}
    target = {**_CALL_DEFAULTS, **body["target"]}
    if "name" in target and "method" not in body["target"]:
        # It is that of the named target.
        del target["method"]
    headers = target["headers"] or {}
    if target.get("json") is not None:
        del target["body"]
        headers = headers if "content-type" in map(str.lower, headers) else {**headers, **_JSON_TYPE}
    return {
        **whole,
        "schedule": {**rule_defaults, **body["schedule"]},
        "misfire": {**defaults(Misfire), **(body.get("misfire") or {})},
        "retry": body.get("retry"),
        "target": {**target, "allHeaders": headers},
    }


def _holds(timer: Mapping[str, Any], name: str, wanted: Any) -> bool:
    held = timer.get(name)
    match name:
        case "schedule":
            return _all_hold(Schedule, held, wanted)
        case "misfire":
            return _all_hold(Misfire, held, wanted)
        case "retry":
            return (held is None) if wanted is None else _all_hold(Retry, held, wanted)
        case "target":
            return all(_part_holds(held or {}, part, value) for part, value in (wanted or {}).items())
        case "key":
            return wanted is None or held == wanted
        case _:
            return _all_hold(TimerFields, timer, {name: wanted})


def _all_hold(kind: type, held: Mapping[str, Any] | None, wanted: Mapping[str, Any] | None) -> bool:
    fields = described(kind)
    return all(
        name in fields and _is_same(fields[name], (held or {}).get(name), value)
        for name, value in (wanted or {}).items()
    )


def _is_same(field: DescribedField, held: Any, wanted: Any) -> bool:
    default = field.about.default
    held, wanted = (default if value is None else value for value in (held, wanted))
    # Null means the same as absent for a rule.
    if held is None or wanted is None:
        return wanted is held or (wanted is None and field.name in Rule.__annotations__)
    if field.kind == "texts":
        return set(held) == set(wanted)
    read = _READ.get(field.kind)
    try:
        return bool(held == wanted if read is None else read(held) == read(wanted))
    except (ValueError, TypeError):
        return False


_READ: Mapping[str, Callable[[Any], int]] = {"span": read_span, "moment": moment_ms}


def _part_holds(held: Mapping[str, Any], name: str, wanted: Any) -> bool:
    """Say whether a call has the wanted part; only the named headers are compared."""
    headers = _by_name(held.get("headers") or {})
    match name:
        case "headers" if wanted is not None:
            return all(headers.get(header, []) == values for header, values in _by_name(wanted).items())
        case "headers" | "allHeaders":
            return headers == _by_name(wanted or {})
        case "method":
            return bool(held.get(name) == (wanted or "POST").upper())
        case _ if name in _TIMEOUTS or name in _FORM:
            return _is_same(described(TargetPatch)[name], held.get(name), wanted)
        case "json":
            return wanted is None or held.get("body") == json.dumps(
                wanted, ensure_ascii=False, separators=(",", ":")
            )
        case _:
            return bool(held.get(name, "") == (wanted or ""))


def _by_name(headers: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, values in headers.items():
        listed = [values] if isinstance(values, str) else values or []
        found.setdefault(name.lower(), []).extend(listed)
    return found
