"""What answers of v1 have in common: moments, spans, pages."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field

from wangtimer.api.http import cursors
from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import PAGE, Cursor, Given, Limit
from wangtimer.core.time.durations import show_duration
from wangtimer.core.time.moment_text import show_moment

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
NextCursor = Annotated[
    str | None, Field(description="cursor of the next page; null: this was the last", examples=[None])
]


class PageQuery(Given):
    """Which page."""

    limit: Limit = PAGE
    cursor: Cursor | None = None


class ListPage(Sent):
    """A page of a list."""

    next_cursor: NextCursor

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
        rows = found[: query.limit]
        cursor = cursors.write(listed, name_of(rows[-1]), 0) if len(found) > query.limit else None
        return cls.of(items=cursors.shown_each(rows, name_of, show), next_cursor=cursor)
