"""How time-outs are written in JSON, in SQL and Redis: beside the other fields, none where none is set."""

from collections.abc import Mapping
from typing import Any

from wangtimer.core.timers.timeouts import AS_DEPLOYED, TIMEOUT_NAMES, Timeouts


def timeouts_fields(one: Timeouts) -> dict[str, int]:
    """Return those that are set, by their names."""
    return {name: given for name, given in zip(TIMEOUT_NAMES, one, strict=True) if given is not None}


def timeouts_from(fields: Mapping[str, Any]) -> Timeouts:
    """Read back what `timeouts_fields` wrote."""
    if fields.keys().isdisjoint(TIMEOUT_NAMES):
        return AS_DEPLOYED
    return Timeouts(*map(fields.get, TIMEOUT_NAMES))
