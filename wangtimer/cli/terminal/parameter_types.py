"""What can be written on the command line for a duration, a moment, a firing."""

import re
import time
from fractions import Fraction
from math import ceil
from typing import Any

import click

from wangtimer.client.fields import FiringKey

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_DURATION = re.compile(r"(?:\d{1,15}(?:\.\d{1,9})?(?:ms|s|m|h|d|w))+", re.ASCII)
_PART = re.compile(r"([\d.]+)(ms|s|m|h|d|w)", re.ASCII)
_FIRING = re.compile(r"(\d{1,19})-(\d{1,19})", re.ASCII)
_NUMBER = re.compile(r"\d{1,19}", re.ASCII)


class Duration(click.ParamType[int]):
    """ms, written as 500ms, 1.5s, 10m, 1h30m, 2d; what is finer is rounded up."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the ms; wrong use otherwise."""
        if isinstance(value, int):
            return value
        if not _DURATION.fullmatch(value):
            self.fail(f"{value!r} is no duration; write it as in 500ms, 1.5s, 10m, 1h30m or 2d", param, ctx)
        return ceil(sum(Fraction(number) * _UNITS_MS[unit] for number, unit in _PART.findall(value)))


class MomentText(click.ParamType[str | int]):
    """RFC 3339 text, or ms since 1970; the service reads it."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """Return the ms as a number, text as it is."""
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            return int(value)
        return super().convert(value, param, ctx)


class PastMoment(MomentText):
    """The same, or how long ago: 2h."""

    name = "moment|duration ago"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """Return the moment; what is so long ago by this machine's clock in ms."""
        if isinstance(value, str) and _DURATION.fullmatch(value):
            return int(time.time() * 1_000) - DURATION.convert(value, param, ctx)
        return super().convert(value, param, ctx)


class FiringId(click.ParamType[FiringKey]):
    """Which firing, as its callbacks' webhook-id header has it: 7-1795207483000."""

    name = "firing"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> FiringKey:
        """Return the timer's id and the moment; wrong use otherwise."""
        found = _FIRING.fullmatch(value)
        if found is None:
            self.fail(
                f"{value!r} is no firing; write its webhook-id, TIMER-MOMENT: 7-1795207483000", param, ctx
            )
        return {"id": int(found[1]), "fire_at": int(found[2])}


DURATION, MOMENT, PAST, FIRING = Duration(), MomentText(), PastMoment(), FiringId()
