"""Types of requests that change many timers, and of their counts, on all paths."""

from typing import Annotated, Any

from pydantic import Field

from wangtimer.api.asked.many_timers import MOST_CHANGED, Changed
from wangtimer.api.http.envelope import Sent
from wangtimer.api.http.field_types import MOST_ID, Id

Ids = Annotated[
    list[Id] | None, Field(min_length=1, max_length=MOST_CHANGED, fail_fast=True, examples=[[1, 2]])
]
OnlyCount = Annotated[bool, Field(alias="dryRun", description="only count")]
MostTimers = Annotated[
    int, Field(ge=1, le=MOST_CHANGED, description="at most this many timers in this request")
]
AfterId = Annotated[
    int,
    Field(
        alias="afterId",
        ge=0,
        le=MOST_ID,
        description="only timers with a larger id: lastId of the previous answer",
    ),
]


class ChangedCounts(Sent):
    """How many timers matched, and how many are left to change."""

    matched: Annotated[int, Field(description="how many timers matched")]
    done: int
    remaining: Annotated[int, Field(description="how many of them are left: repeat the request")]
    last_id: Annotated[
        int | None, Field(description="the largest timer id of this request; null: it had no timer")
    ]


def counts_of(done: Changed) -> dict[str, Any]:
    """Return the fields of a `ChangedCounts`."""
    return {
        "matched": done.chosen.matched,
        "done": len(done.changed),
        "remaining": done.remaining,
        "last_id": done.last_id,
    }
