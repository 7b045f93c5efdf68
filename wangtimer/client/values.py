"""Moments and spans of time, as callers write them and as v1 reads them."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil
from typing import Any

# RFC 3339 text, ms since 1970 UTC, or a datetime; its zone may be left out beside the `timezone` of a schedule.
Moment = str | int | datetime
# Text as in `90s`, `1h30m` or `PT90S`, or a timedelta, which is rounded up to whole ms.
Span = str | timedelta

_MS = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS_MS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_PART = r"\d{1,15}(?:\.\d{1,9})?"
_SHORT = re.compile(rf"(?:{_PART}(?:ms|[wdhms])){{1,10}}", re.ASCII)
_SHORT_PART = re.compile(rf"({_PART})(ms|[wdhms])", re.ASCII)
_ISO = re.compile(
    rf"P(?=\d|T\d)(?:({_PART})W)?(?:({_PART})D)?(?:T(?=\d)(?:({_PART})H)?(?:({_PART})M)?(?:({_PART})S)?)?",
    re.ASCII,
)


def written(value: Any) -> Any:
    """Return a caller's value as JSON: datetimes become RFC 3339 text in UTC, timedeltas become spans.

    A datetime without a zone, beside a `timezone`, is by the clocks of that one. Raises ValueError for any other
    datetime without a zone, and for a timedelta below 0.
    """
    if isinstance(value, Mapping):
        named = (
            {name: _by_the_clock(item) for name, item in value.items()} if value.get("timezone") else value
        )
        return {name: written(item) for name, item in named.items()}
    if isinstance(value, list | tuple):
        return [written(item) for item in value]
    if isinstance(value, datetime):
        return _moment_text(value)
    return write_span(-(-value // _MS)) if isinstance(value, timedelta) else value


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return `written` of the fields that are not None."""
    return dict(written({name: value for name, value in fields.items() if value is not None}))


def write_span(span_ms: int) -> str:
    """Return a span in v1's units, as in `1h30m`; an empty one is `0s`. Raises ValueError below 0."""
    if span_ms < 0:
        raise ValueError(f"a span of {span_ms} ms is below 0; write one of 0 or more")
    parts, left = "", span_ms
    for unit in ("d", "h", "m", "s", "ms"):
        number, left = divmod(left, _UNITS_MS[unit])
        parts += f"{number}{unit}" if number else ""
    return parts or "0s"


def read_span(text: str) -> int:
    """Return a span in ms, rounded up: `1.5s`, `1h30m`, `2w`, or ISO 8601; raises ValueError for other text."""
    if _SHORT.fullmatch(text):
        return ceil(sum(Fraction(number) * _UNITS_MS[unit] for number, unit in _SHORT_PART.findall(text)))
    iso = _ISO.fullmatch(text)
    if iso is None:
        raise ValueError(f"{text!r} is not a span of time; write it as in 500ms, 1.5s, 10m, 1h30m or 2d")
    parts = zip(iso.groups(), ("w", "d", "h", "m", "s"), strict=True)
    return ceil(sum(Fraction(number) * _UNITS_MS[unit] for number, unit in parts if number))


def moment_ms(moment: str | int) -> int:
    """Return a moment in ms since 1970, rounded up; raises ValueError for other text."""
    if isinstance(moment, int):
        return moment
    return -((_EPOCH - datetime.fromisoformat(moment)) // _MS)


def _by_the_clock(value: Any) -> Any:
    """Return a datetime without a zone as text without an offset; other values stay."""
    return value.isoformat() if isinstance(value, datetime) and value.tzinfo is None else value


def _moment_text(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone; write it with one, as in datetime(..., tzinfo=UTC)")
    return moment.astimezone(UTC).isoformat()
