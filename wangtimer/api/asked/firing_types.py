"""Types of firings and attempts in requests and answers of all paths."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from wangtimer.api.http.field_types import GivenMoment, moment, number

StatusWord = Literal["pending", "accepted", "succeeded", "failed", "skipped"]
OutcomeWord = Literal["succeeded", "failed", "skipped"]
KindWord = Literal["scheduled", "manual", "backfill"]
LATER_THAN = "first sent later than this after their moment"

_Moment = Annotated[GivenMoment, BeforeValidator(number)]
OfKind = Annotated[
    KindWord | None,
    Field(description="planned by a timer's schedule, or requested; any by default"),
]
Since = Annotated[_Moment, moment("scheduled at this moment or later")]
Until = Annotated[_Moment, moment("scheduled at this moment or earlier; now by default")]

ShownKind = Annotated[KindWord, Field(description="planned by its timer's schedule, or requested")]
Lateness = Annotated[int | None, Field(description="first send minus scheduled moment")]
LastOutput = Annotated[str, Field(description="the start of the target's last answer")]
WaitedFor = Annotated[
    str,
    Field(
        description="what its last attempt waits or waited for: a place at its target (`host:` with the host, the "
        "part of it that is called and the app), a connection of its app's share (`app:` and the app), or a limit of "
        "callbacks (`limit:` and the app, "
        "`host-limit:` and the host, `app-at-host:` with both): "
        "then it was throttled, and `latenessMs` says for how long; `pause:all`, or `pause:` with `app:`, `host:` or "
        "`timer:` and a name: an operator had paused that; empty: it did not wait"
    ),
]
HostFailingMs = Annotated[
    int | None,
    Field(
        description="while its last attempt waited to be sent, how long its host was failing, in ms: calls to a host "
        "that is failing wait, and one at a time tries it; null: not at all"
    ),
]

# Of an attempt.
Number = Annotated[int, Field(description="from 1")]
AttemptStatus = Annotated[
    Literal["accepted", "succeeded", "failed", "skipped"],
    Field(
        description="failed, even when another attempt follows; accepted: its target has still to say that it is done"
    ),
]
AttemptLateness = Annotated[int | None, Field(description="its send minus the firing's scheduled moment")]
ConnectMs = Annotated[
    int | None,
    Field(description="until the connection was open, 0 where it was open before; null: it never was"),
]
FirstByteMs = Annotated[int | None, Field(description="until the answer began; null: there was no answer")]
DurationMs = Annotated[
    int | None, Field(description="until the answer ended, or the attempt failed without one")
]
Output = Annotated[str, Field(description="the start of the target's answer")]
