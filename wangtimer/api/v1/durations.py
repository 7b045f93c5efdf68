"""Spans of time as callers write them, `90s`, `1.5s`, `1h30m`, `2w` or `PT90S`, and as we show them."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.core.api_field import MOST_SPAN_MS

EXAMPLE = "90s, 1.5s, 1h30m, 250ms, 2w, or ISO 8601 as in PT90S"
_MEND = f"write it as in {EXAMPLE}"

_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_READ_UNITS_MS: Mapping[str, int] = {
    "w": 604_800_000,
    **_UNITS_MS,
    "W": 604_800_000,
    "D": 86_400_000,
    "H": 3_600_000,
    "M": 60_000,
    "S": 1_000,
}
_PART = r"\d{1,15}(?:\.\d{1,9})?"
_SHORT = re.compile(rf"(?:{_PART}(?:ms|[wdhms])){{1,10}}", re.ASCII)
_SHORT_PART = re.compile(r"(\d+)(?:\.(\d+))?(ms|[wdhms])", re.ASCII)
# Weeks, days, hours, minutes, seconds. Months and years have no fixed length.
_ISO = re.compile(
    rf"P(?=\d|T\d)(?:{_PART}W)?(?:{_PART}D)?(?:T(?=\d)(?:{_PART}H)?(?:{_PART}M)?(?:{_PART}S)?)?", re.ASCII
)
_ISO_PART = re.compile(r"(\d+)(?:\.(\d+))?([WDHMS])", re.ASCII)
_FRACTION_DIGITS = 9
_SCALE = 1_000_000_000


def read_duration(text: str) -> int:
    """Return the span in ms, rounded up; raises ValueError for text that is not a span.

    The client's `read_span` reads the same.
    """
    if _SHORT.fullmatch(text):
        parts = _SHORT_PART.findall(text)
    elif _ISO.fullmatch(text):
        parts = _ISO_PART.findall(text)
    else:
        raise ValueError("not a duration")
    # In whole numbers: a float that is off by a little would be rounded up by a whole ms.
    scaled = 0
    for whole, fraction, unit in parts:
        scaled += int(whole) * _READ_UNITS_MS[unit] * _SCALE
        if fraction:
            scaled += int(fraction.ljust(_FRACTION_DIGITS, "0")) * _READ_UNITS_MS[unit]
    return -(-scaled // _SCALE)


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
