"""Spans of time as callers write them, `90s`, `1h30m` or `PT90S`, and as we show them."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, TypeAdapter, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.core.api_field import MOST_SPAN_MS

EXAMPLE = "90s, 1h30m, 250ms, or ISO 8601 as in PT90S"
_MEND = f"write it as in {EXAMPLE}"

_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_SHORT = re.compile(
    r"(?:(\d{1,12})d)?(?:(\d{1,12})h)?(?:(\d{1,12})m)?(?:(\d{1,12})s)?(?:(\d{1,12})ms)?", re.ASCII
)
# Weeks, days, hours, minutes, seconds. Months and years have no fixed length.
_ISO = re.compile(r"P(?=\d|T\d)(?:\d{1,12}W|(?:\d{1,12}D)?(?:T(?=\d)[\dHMS.]{1,40})?)", re.ASCII)
_ANY_ISO = TypeAdapter(timedelta)


def read_duration(text: str) -> int:
    """Return the span in ms; raises ValueError for text that is not a span, or finer than a ms."""
    if (short := _SHORT.fullmatch(text)) and text:
        parts = zip(short.groups(), _UNITS_MS.values(), strict=True)
        return sum(int(number) * unit_ms for number, unit_ms in parts if number)
    if not _ISO.fullmatch(text):
        raise ValueError("not a duration")
    try:
        span = _ANY_ISO.validate_python(text)
    except (ValidationError, OverflowError):
        raise ValueError("not a duration") from None
    if span.microseconds % 1_000:
        raise ValueError("finer than a ms")
    return span // timedelta(milliseconds=1)


def show_duration(span_ms: int) -> str:
    """Return the span in the fewest units, as in `1h30m`; an empty span is `0s`."""
    parts, left = "", span_ms
    for unit, unit_ms in _UNITS_MS.items():
        number, left = divmod(left, unit_ms)
        parts += f"{number}{unit}" if number else ""
    return parts or "0s"


def read_duration_field(given: Any, field: str) -> int:
    """Return the span of a field in ms; raises `Refused`, naming the field."""
    try:
        span_ms = read_duration(given)
    except ValueError:
        reason = f"{shown(given)} is not a span of time"
        raise Refused(ErrorCode.BAD_VALUE, field, reason, _MEND) from None
    if span_ms > MOST_SPAN_MS:
        raise Refused(
            ErrorCode.BAD_VALUE, field, f"{shown(given)} is over a hundred years", "write a shorter one"
        )
    return span_ms


def _text_or_none(given: Any) -> Any:
    if given is None or isinstance(given, str):
        return given
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    reason = f"{str(given)[:30]} is not a span of time" if is_number else "it is not text"
    raise PydanticCustomError("duration_type", "not a duration", {"reason": reason, "mend": _MEND})


# A span as text; it is read later, with the name of its field.
GivenDuration = Annotated[str | None, BeforeValidator(_text_or_none)]


def duration(description: str, example: str) -> WithJsonSchema:
    """Return the JSON schema of a span."""
    return WithJsonSchema(
        {
            # One name for all spans, or generated clients have a type for each field.
            "title": "Duration",
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "description": f"{description}; {EXAMPLE}",
            "examples": [example],
        }
    )
