"""How durations, moments and firings are written on the command line."""

import re
import time
from typing import Any

import click

from wangtimer.client.values import read_span, write_span

_FIRING = re.compile(r"\d{1,19}-\d{1,19}", re.ASCII)
# A span, as in 2h; any other text is a moment.
_AGO = re.compile(r"(?:[\d.]+[a-z]+)+", re.ASCII)
_NUMBER = re.compile(r"\d{1,19}", re.ASCII)


class SpanText(click.ParamType[str]):
    """A span of time, written as 500ms, 1.5s, 10m, 1h30m, 2d; rounded up to whole ms."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it in the units that v1 reads; raises a usage error for other text."""
        try:
            return write_span(read_span(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class MomentText(click.ParamType[str | int]):
    """RFC 3339 text, or ms since 1970; the service reads it."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """Return ms as a number, other text unchanged."""
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            return int(value)
        return super().convert(value, param, ctx)


class PastMoment(MomentText):
    """The same, or a time ago such as 2h."""

    name = "moment|duration ago"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """Return the moment; a time ago as ms, by this machine's clock."""
        if isinstance(value, str) and _AGO.fullmatch(value):
            return int(time.time() * 1_000) - read_span(SPAN.convert(value, param, ctx))
        return super().convert(value, param, ctx)


class FiringId(click.ParamType[str]):
    """A firing, by the webhook-id header of its callbacks: 7-1795207483000."""

    name = "firing"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it; raises a usage error for other text."""
        if _FIRING.fullmatch(value):
            return str(value)
        return self.fail(
            f"{value!r} is not a firing; write its webhook-id, TIMER-MOMENT: 7-1795207483000", param, ctx
        )


SPAN, MOMENT, PAST, FIRING = SpanText(), MomentText(), PastMoment(), FiringId()
