"""What requests and answers of all paths say of firings and their attempts."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from wangtimer.api.http.field_types import GivenMoment, moment, number

StatusWord = Literal["pending", "succeeded", "failed", "skipped"]
OutcomeWord = Literal["succeeded", "failed", "skipped"]
KindWord = Literal["scheduled", "manual", "backfill"]
LATER_THAN = "first sent later than so much after their moment"

_Moment = Annotated[GivenMoment, BeforeValidator(number)]
OfKind = Annotated[
    KindWord | None,
    Field(description="by a timer's schedule, or because somebody asked for it; any by default"),
]
Since = Annotated[_Moment, moment("scheduled at this moment or later")]
Until = Annotated[_Moment, moment("scheduled at this moment or earlier; now by default")]

ShownKind = Annotated[
    KindWord, Field(description="by its timer's schedule, or because somebody asked for it")
]
Lateness = Annotated[int | None, Field(description="first send minus scheduled moment")]
LastOutput = Annotated[str, Field(description="the start of the target's last answer")]
WaitedFor = Annotated[
    str,
    Field(
        description="what its last attempt waits for, or waited: a place at its target (`host:` and the host), a "
        "connection of its app's share (`app:` and the app); empty: it found room at once"
    ),
]

# Of an attempt.
Number = Annotated[int, Field(description="from 1")]
AttemptStatus = Annotated[OutcomeWord, Field(description="failed also where another one follows")]
AttemptLateness = Annotated[int | None, Field(description="its send minus the firing's scheduled moment")]
ConnectMs = Annotated[
    int | None, Field(description="until the connection was open, 0 on one kept open; null: none was")
]
FirstByteMs = Annotated[int | None, Field(description="until the answer began; null: none did")]
DurationMs = Annotated[int | None, Field(description="until the answer ended, or there was to be none")]
Output = Annotated[str, Field(description="the start of the target's answer")]
