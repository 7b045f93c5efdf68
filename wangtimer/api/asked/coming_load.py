"""The firings planned in each future minute, for all paths."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import number
from wangtimer.api.http.refusals import Refused
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.wiring import Wiring

Minutes = Annotated[
    int | None,
    BeforeValidator(number),
    Field(
        ge=1,
        description="how many minutes from the current one on; by default, and at most, all that are planned (120)",
    ),
]


@dataclass(frozen=True, slots=True)
class ComingLoad:
    """Firings by minute (minutes since 1970) and app, and the moment up to which every schedule is planned (ms UTC)."""

    by_minute: Mapping[int, Mapping[str, int]]
    planned_until: int


def coming_load(wiring: Wiring, minutes: int | None) -> ComingLoad:
    """Return what is planned from the current minute on; raises `Refused` for more minutes than are planned."""
    most = max(1, wiring.settings.horizon_ms // MINUTE_MS)
    if minutes is not None and minutes > most:
        reason = "firings are not planned that far ahead"
        raise Refused(ErrorCode.BAD_VALUE, "minutes", reason, f"ask for {most} at most")
    first, wanted = int(wiring.clock.now_ms()) // MINUTE_MS, minutes or most
    by_minute = wiring.planned_load.minutes(first, wanted)
    ends_at = (first + wanted) * MINUTE_MS
    unplanned = wiring.planned_load.first_unplanned()
    until = (ends_at if unplanned is None else min(unplanned, ends_at)) - 1
    return ComingLoad(dict(sorted(by_minute.items())), until)
