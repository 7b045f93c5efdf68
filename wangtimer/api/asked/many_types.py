"""Types of requests that change many firings, and of their counts, on all paths."""

from typing import Annotated, Literal

from pydantic import Field

from wangtimer.api.http.field_types import GivenMoment, moment
from wangtimer.on_demand import MOST_AT_ONCE, MOST_COUNTED

# The most firings that one request may name.
MOST_NAMED = 1_000
MOST_PER_SECOND = 1_000

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
