"""What requests and answers have of a pause."""

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from wangtimer.api.http.envelope import Sent
from wangtimer.api.http.field_types import PAGE, Cursor, Given, Limit, plain
from wangtimer.api.v1.shown import ListPage, Text
from wangtimer.core.errors import Subject
from wangtimer.core.flow.pauses import REASON_CHARACTERS, Pause
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.core.time.moment_text import show_moment

PauseName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LANE_CHARACTERS,
        description="`all`; or `app:`, `host:` or `timer:` with an app, a target's host and port, or a timer's id",
        examples=["app:shop"],
    ),
]


class PausePath(Given):
    """Which pause."""

    named_by: ClassVar[dict[Subject, str]] = {
        Subject.PAUSE: "what",
        Subject.TIMER: "what",
        Subject.APP: "what",
    }

    what: PauseName


class PauseBody(Given):
    """A pause to make."""

    reason: Annotated[
        str,
        Field(max_length=REASON_CHARACTERS, description="why, for whoever lists the pauses"),
        AfterValidator(plain),
    ] = ""


class PauseListQuery(Given):
    """Which page."""

    limit: Limit = PAGE
    cursor: Cursor | None = None


class ShownPause(Sent):
    """Something that an operator paused."""

    name: PauseName
    app: Annotated[str | None, Field(description="whose it is; null: no single app's")]
    since: Text
    reason: Annotated[str, Field(description="why, as it was given; empty: nothing was")]


class PausePage(ListPage):
    """A page of pauses."""

    items: list[ShownPause]


def pause_fields(pause: Pause) -> dict[str, Any]:
    """Return the fields of a `ShownPause`."""
    return {
        "name": pause.name,
        "app": pause.app,
        "since": show_moment(pause.since),
        "reason": pause.reason,
    }
