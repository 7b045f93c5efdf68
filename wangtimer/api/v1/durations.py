"""Fields of requests that are spans of time."""

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.core.api_field import MOST_SPAN_MS
from wangtimer.core.time.durations import read_duration

EXAMPLE = "90s, 1.5s, 1h30m, 250ms, 2w, or ISO 8601 as in PT90S"
_MEND = f"write it as in {EXAMPLE}"


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


def text_or_none(given: Any) -> Any:
    """Return what is text or None; raises what pydantic tells as a span that is none."""
    if given is None or isinstance(given, str):
        return given
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    reason = f"{str(given)[:30]} is not a span of time" if is_number else "it is not text"
    raise PydanticCustomError("duration_type", "not a duration", {"reason": reason, "mend": _MEND})


# A span as text; it is read later, with the name of its field.
GivenDuration = Annotated[str | None, BeforeValidator(text_or_none)]


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
