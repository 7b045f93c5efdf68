"""Types of firings in answers of all paths."""

from typing import Annotated, Literal

from pydantic import Field

KindWord = Literal["scheduled", "manual", "backfill"]

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
