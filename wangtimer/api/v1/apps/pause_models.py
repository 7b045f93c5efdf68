"""What requests and answers have of a pause."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given, plain
from wangtimer.api.v1.shown import ListPage, Text
from wangtimer.core.errors import Subject
from wangtimer.core.flow.pauses import REASON_CHARACTERS
from wangtimer.core.flow.slicing import LANE_CHARACTERS

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


class ShownPause(Sent):
    """Something that an operator paused."""

    name: PauseName
    app: Annotated[str | None, Field(description="whose it is; null: no single app's")]
    since: Text
    reason: Annotated[str, Field(description="why, as it was given; empty: nothing was")]


class PausePage(ListPage):
    """A page of pauses."""

    items: list[ShownPause]
