"""Types of requests that change many timers or firings, and of their counts, on all paths."""

from typing import Annotated, Any, Literal

from pydantic import Field

from wangtimer.api.asked.many_timers import MOST_CHANGED, Changed
from wangtimer.api.http.envelope import Sent
from wangtimer.api.http.field_types import MOST_ID, GivenMoment, Id, moment
from wangtimer.on_demand import MOST_AT_ONCE, MOST_COUNTED

# The most firings that one request may name.
MOST_NAMED = 1_000
MOST_PER_SECOND = 1_000

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

PerSecond = Annotated[
    int, Field(alias="perSecond", ge=1, le=MOST_PER_SECOND, description="how many a second", examples=[50])
]
OnlyCountFirings = Annotated[
    bool, Field(alias="dryRun", description="only count the matches; nothing is changed")
]
ReplayedSince = Annotated[GivenMoment, moment("else: scheduled at this moment or later")]
ReplayedUntil = Annotated[GivenMoment, moment("else: scheduled at this moment or earlier; now by default")]
ReplayedStatuses = Annotated[
    list[Literal["failed", "skipped"]] | None,
    Field(min_length=1, max_length=2, description="else: with these statuses; failed by default"),
]
BackfilledSince = Annotated[GivenMoment, moment("moments after this one")]
BackfilledUntil = Annotated[
    GivenMoment, moment("up to this moment, which must be past; at most 366 days after since")
]
LeftToReplay = Annotated[
    int,
    Field(
        description=f"firings left, as a request replays {MOST_AT_ONCE} at most, and an app so many an hour as its "
        "limit says; repeat it for the rest"
    ),
]
MatchedMoments = Annotated[
    int, Field(description=f"moments in this request; with dryRun in the whole range, up to {MOST_COUNTED}")
]
LeftToBackfill = Annotated[
    int,
    Field(
        description=f"moments left, as a request makes {MOST_AT_ONCE} at most, and an app so many an hour as its "
        f"limit says, counted up to {MOST_COUNTED}; with dryRun the matched moments without a record"
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
