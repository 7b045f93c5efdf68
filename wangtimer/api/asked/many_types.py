"""What requests of all paths have that change many timers or firings, and what their answers count."""

from typing import Annotated, Any, Literal

from pydantic import Field

from wangtimer.api.asked.many_timers import MOST_CHANGED, Changed
from wangtimer.api.http.envelope import Sent
from wangtimer.api.http.field_types import MOST_ID, GivenMoment, Id, moment
from wangtimer.on_demand import MOST_AT_ONCE, MOST_COUNTED

# Firings that one request names.
MOST_NAMED = 1_000
MOST_PER_SECOND = 1_000

Ids = Annotated[
    list[Id] | None, Field(min_length=1, max_length=MOST_CHANGED, fail_fast=True, examples=[[1, 2]])
]
OnlyCount = Annotated[bool, Field(alias="dryRun", description="only count")]
MostTimers = Annotated[int, Field(ge=1, le=MOST_CHANGED, description="timers of this request, at most")]
AfterId = Annotated[
    int,
    Field(
        alias="afterId",
        ge=0,
        le=MOST_ID,
        description="only those with a larger id: lastId of the answer before",
    ),
]

PerSecond = Annotated[
    int, Field(alias="perSecond", ge=1, le=MOST_PER_SECOND, description="so many a second", examples=[50])
]
OnlyCountFirings = Annotated[
    bool, Field(alias="dryRun", description="only count how many there are; nothing is changed")
]
ReplayedSince = Annotated[GivenMoment, moment("else: scheduled at this moment or later")]
ReplayedUntil = Annotated[GivenMoment, moment("else: scheduled at this moment or earlier; now by default")]
ReplayedStatuses = Annotated[
    list[Literal["failed", "skipped"]] | None,
    Field(min_length=1, max_length=2, description="else: with these outcomes; failed by default"),
]
BackfilledSince = Annotated[GivenMoment, moment("moments after this one")]
BackfilledUntil = Annotated[
    GivenMoment, moment("up to this one, which is past; at most 366 days after since")
]
LeftToReplay = Annotated[
    int,
    Field(description=f"left to be replayed, beyond the {MOST_AT_ONCE} or the work of a request: ask again"),
]
MatchedMoments = Annotated[
    int, Field(description=f"moments of this request; with dryRun of the range, up to {MOST_COUNTED}")
]
LeftToBackfill = Annotated[
    int,
    Field(
        description=f"moments left, beyond the {MOST_AT_ONCE} of a request, counted up to {MOST_COUNTED}; with "
        "dryRun those of matched that have no record"
    ),
]


class ChangedCounts(Sent):
    """How many timers there were, and how far a change of them is."""

    matched: Annotated[int, Field(description="how many there were")]
    done: int
    remaining: Annotated[int, Field(description="how many of them are left to do: ask again")]
    last_id: Annotated[int | None, Field(description="the largest id of this request; null: there was none")]


def counts_of(done: Changed) -> dict[str, Any]:
    """Return the fields of a `ChangedCounts`."""
    return {
        "matched": done.chosen.matched,
        "done": len(done.changed),
        "remaining": done.remaining,
        "last_id": done.last_id,
    }
