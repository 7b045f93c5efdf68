"""Models of firings on demand: which are replayed or backfilled, and what became of it."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given, GivenMoment, moment
from wangtimer.api.http.moments import read_moment_field
from wangtimer.api.v1.firings.firing_answers import ShownFiring
from wangtimer.api.v1.shown import Span, Text
from wangtimer.core.errors import Subject
from wangtimer.on_demand import MOST_AT_ONCE, MOST_COUNTED, Rate

# The most firings that one request may name.
MOST_NAMED = 1_000
MOST_PER_SECOND = 1_000

OnlyCountFirings = Annotated[bool, Field(description="only count the matches; nothing is changed")]
_FirstDueAt = Annotated[Text | None, Field(description="null: nothing is due")]


class CancelledFiring(ShownFiring):
    """A cancelled firing, and how soon that takes effect."""

    counts_within: Span


class SpreadBody(Given):
    """How the firings of one request are spread over time."""

    per_second: Annotated[
        int,
        Field(ge=1, le=MOST_PER_SECOND, description="how many a second", examples=[50]),
    ] = 50
    start_at: Annotated[
        GivenMoment,
        moment(
            "the first firing is due at this moment, at most 7 days ahead; now by default. For the next part: "
            "lastDueAt of the previous one"
        ),
    ] = None
    dry_run: OnlyCountFirings = False

    @property
    def rate(self) -> Rate:
        """How many firings a second, from which moment on; raises `Refused`."""
        start = None if self.start_at is None else read_moment_field(self.start_at, "startAt")
        return Rate(self.per_second, start)


class ReplayBody(SpreadBody):
    """Which firings to attempt once more: those in `ids`, or all with `statuses` since a moment."""

    named_by: ClassVar[Mapping[Subject, str]] = {Subject.TIMER: "timer"}

    ids: Annotated[
        list[str] | None,
        Field(
            min_length=1,
            max_length=MOST_NAMED,
            fail_fast=True,
            description="these firings, failed or skipped",
        ),
    ] = None
    timer: Annotated[
        str | None, Field(description="else: firings of this timer only: its id, or `key:` and its key")
    ] = None
    since: Annotated[GivenMoment, moment("else: scheduled at this moment or later")] = None
    until: Annotated[GivenMoment, moment("else: scheduled at this moment or earlier; now by default")] = None
    statuses: Annotated[
        list[Literal["failed", "skipped"]] | None,
        Field(min_length=1, max_length=2, description="else: with these statuses; failed by default"),
    ] = None


class BackfillBody(SpreadBody):
    """The past range in which a timer's moments are to fire now."""

    since: Annotated[GivenMoment, moment("moments after this one")]
    until: Annotated[
        GivenMoment, moment("up to this moment, which must be past; at most 366 days after since")
    ]


class NotReplayedFiring(Sent):
    """A firing that is not replayed."""

    id: str
    detail: Annotated[str, Field(description="why", examples=["it is succeeded"])]


class ReplayOutcome(Sent):
    """How many firings match, and how many of them are replayed."""

    matched: int
    replayed: int
    not_replayed: list[NotReplayedFiring]
    first_due_at: _FirstDueAt
    last_due_at: Text | None
    remaining: Annotated[
        int,
        Field(
            description=f"firings left, as a request replays {MOST_AT_ONCE} at most, and an app so many an hour as its "
            "limit says; repeat it for the rest"
        ),
    ]


class BackfillOutcome(Sent):
    """How many moments match, and how many of them had no record and fire now."""

    matched: Annotated[
        int,
        Field(description=f"moments in this request; with dryRun in the whole range, up to {MOST_COUNTED}"),
    ]
    planned: int
    first_due_at: _FirstDueAt
    last_due_at: Text | None
    remaining: Annotated[
        int,
        Field(
            description=f"moments left, as a request makes {MOST_AT_ONCE} at most, and an app so many an hour as its "
            f"limit says, counted up to {MOST_COUNTED}; with dryRun the matched moments without a record"
        ),
    ]
    next_since: Annotated[Text | None, Field(description="since of the next part; null: this was the last")]
