"""Moments, spans of time and pages, as requests of v1 give them and answers show them."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from wangtimer.api.http import cursors
from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import PAGE, Cursor, Given, Limit
from wangtimer.api.http.refusals import bad_value, shown
from wangtimer.core.api_field import MOST_SPAN_MS
from wangtimer.core.time.durations import read_duration, show_duration
from wangtimer.core.time.moment_text import show_moment

EXAMPLE = "90s, 1.5s, 1h30m, 250ms, 2w, or ISO 8601 as in PT90S"
_MEND = f"write it as in {EXAMPLE}"


def read_duration_field(given: Any, field: str) -> int:
    """Return the span of a field in ms; raises `Refused`, naming the field."""
    try:
        span_ms = read_duration(given)
    except ValueError:
        reason = f"{shown(given)} is not a span of time"
        raise bad_value(field, reason, _MEND) from None
    if span_ms > MOST_SPAN_MS:
        raise bad_value(field, f"{shown(given)} is over a hundred years", "write a shorter one")
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


# Given as ms UTC.
Text = Annotated[
    str,
    BeforeValidator(lambda at: show_moment(at) if isinstance(at, int) else at),
    Field(
        examples=["2026-11-20T18:16:51.123Z"],
        description="RFC 3339 with ms, UTC",
        json_schema_extra={"format": "date-time"},
    ),
]
# Given in ms.
SpanText = Annotated[
    str, BeforeValidator(lambda span: show_duration(span) if isinstance(span, int) else span)
]
Span = Annotated[
    SpanText,
    Field(examples=["90s"], description="a span of time, as in 1h30m"),
]


class PageQuery(Given):
    """Which page."""

    limit: Limit = PAGE
    cursor: Cursor | None = None


class ListPage(Sent):
    """A page of a list."""

    next_cursor: Annotated[str | None, Field(examples=[None])]
    """cursor of the next page; null: this was the last"""

    @classmethod
    def by_name(
        cls,
        query: PageQuery,
        order: str,
        find: Callable[[str, int], Sequence[Any]],
        show: Callable[[Any], Sent],
        name: str = "name",
    ) -> Self:
        """Return the page that is asked for of a list by name; `order` is of this list alone.

        `find` returns rows from behind a name, at most so many; `show` one as it is shown; `name` is its attribute that
        has its name. Raises `Refused`.
        """
        listed, name_of = cursors.of_list(f"v1 {order}", query), attrgetter(name)
        found = find(cursors.name_behind(listed, query.cursor), query.limit + 1)
        cursor = cursors.after(listed, found, query.limit, lambda last: (name_of(last), 0))
        return cls.of(items=cursors.shown_each(found[: query.limit], name_of, show), next_cursor=cursor)
