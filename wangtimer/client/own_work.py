"""Whether a timer stands as a change wanted it: tells a change whose answer was lost from somebody else's."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from wangtimer.client.rule_types import RULE_MOMENTS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENTS = RULE_MOMENTS | {"startAt", "endAt"}
_UNTOLD = frozenset({"app", "id", "version"})


def stands_as_wanted(timer: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Say whether a timer, as the service sends it, has every field of a request; in doubt it has not."""
    return all(_holds(timer, name, value) for name, value in wanted.items() if name not in _UNTOLD)


def _holds(timer: Mapping[str, Any], name: str, wanted: Any) -> bool:
    held = timer.get(name)
    if name == "tags":
        return set(held or ()) == set(wanted or ())
    if name == "deleteAfterFinish":
        return bool(held) == bool(wanted)
    if name == "cronDialect":
        return bool((held or "unix") == (wanted or "unix"))
    if wanted is None or held is None:
        return held is wanted
    if name in _MOMENTS:
        return _ms(held) == _ms(wanted)
    return _call_holds(held, wanted) if name == "notifyHTTPParam" else bool(held == wanted)


def _ms(moment: str | int) -> int | str:
    if isinstance(moment, int):
        return moment
    try:
        return -((_EPOCH - datetime.fromisoformat(moment)) // timedelta(milliseconds=1))
    except (ValueError, TypeError):
        return moment


def whole_call(callback: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call as a put wants it: what is not given has its default, and there is no further header."""
    return {"method": "POST", "body": "", **callback, "allHeaders": callback.get("header") or {}}


def _call_holds(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Say whether a call has every part that is wanted; of headers those that are named."""
    return all(_part_holds(held, name, value) for name, value in wanted.items())


def _part_holds(held: Mapping[str, Any], name: str, wanted: Any) -> bool:
    headers = _by_name(held.get("header") or {})
    match name:
        case "header" if wanted is not None:
            return all(headers.get(one, []) == values for one, values in _by_name(wanted).items())
        case "header" | "allHeaders":
            return headers == _by_name(wanted or {})
        case "method":
            return bool(held.get(name) == (wanted or "POST").upper())
        case _:
            return bool(held.get(name, "") == (wanted or ""))


def _by_name(headers: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, values in headers.items():
        listed = [values] if isinstance(values, str) else values or []
        found.setdefault(name.lower(), []).extend(listed)
    return found
