"""Types of several answers of v1: moments, spans and pages."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.http.envelope import Sent

Text = Annotated[
    str,
    Field(
        examples=["2026-11-20T18:16:51.123Z"],
        description="RFC 3339 with ms, UTC",
        json_schema_extra={"format": "date-time"},
    ),
]
Span = Annotated[str, Field(examples=["90s"], description="a span of time, as in 1h30m")]
NextCursor = Annotated[
    str | None, Field(description="cursor of the next page; null: this was the last", examples=[None])
]


class ListPage(Sent):
    """A page of a list."""

    next_cursor: NextCursor
