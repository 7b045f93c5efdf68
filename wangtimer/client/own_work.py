"""Whether a timer stands as a change wanted it: tells a change whose answer was lost from somebody else's."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENTS = frozenset({"at", "anchorAt", "startAt", "endAt"})
_UNTOLD = frozenset({"app", "id", "version"})


def stands_as_wanted(timer: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Say whether a timer, as the service sends it, has every field of a request; in doubt it has not."""
    return all(_holds(timer, name, value) for name, value in wanted.items() if name not in _UNTOLD)


def _holds(timer: Mapping[str, Any], name: str, wanted: Any) -> bool:
    held = timer.get(name)
    if name == "tags":
        return set(held or ()) == set(wanted or ())
    if wanted is None or held is None:
        return held is wanted
    if name in _MOMENTS:
        return _ms(held) == _ms(wanted)
    return _call(held) == _call(wanted) if name == "notifyHTTPParam" else bool(held == wanted)


def _ms(moment: str | int) -> int | str:
    if isinstance(moment, int):
        return moment
    try:
        return -((_EPOCH - datetime.fromisoformat(moment)) // timedelta(milliseconds=1))
    except (ValueError, TypeError):
        return moment


def _call(notify: Mapping[str, Any]) -> tuple[Any, ...]:
    header = {
        name: [values] if isinstance(values, str) else list(values)
        for name, values in (notify.get("header") or {}).items()
    }
    return notify["url"], notify.get("method", "POST").upper(), header, notify.get("body", "")
