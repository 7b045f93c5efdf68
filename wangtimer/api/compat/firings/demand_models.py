"""What callers may ask of single firings, and what they are told."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from wangtimer.api.compat.answers import ChangeAnswer, RecordData
from wangtimer.api.http.envelope import Answer, Sent
from wangtimer.api.http.field_types import App, Given, GivenMoment, Id, moment
from wangtimer.api.http.refusals import NAMED_BY_ID
from wangtimer.on_demand import MOST_AT_ONCE, MOST_COUNTED

MOST_NAMED = 1_000
MOST_PER_SECOND = 1_000

_FireAt = Annotated[GivenMoment, moment("its scheduled moment"), Field(alias="fireAt")]


class FiringKey(Given):
    """Which firing."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    id: Id
    fire_at: _FireAt


class CancelFiring(Given):
    """Which coming firing is not to be made."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    id: Id
    fire_at: _FireAt


class SpreadFields(Given):
    """How firings asked for together are spread."""

    per_second: Annotated[
        int,
        Field(alias="perSecond", ge=1, le=MOST_PER_SECOND, description="so many a second", examples=[50]),
    ] = 50
    start_at: Annotated[
        GivenMoment,
        moment(
            "the first is due at this moment; now by default. The next part's: the lastDueAtMs of the one before"
        ),
        Field(alias="startAt"),
    ] = None
    dry_run: Annotated[
        bool, Field(alias="dryRun", description="only count how many there are; nothing is changed")
    ] = False


class ReplayFirings(SpreadFields):
    """Which firings to attempt once more: those of `firings`, or all of `statuses` since a moment."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    firings: Annotated[
        list[FiringKey] | None,
        Field(min_length=1, max_length=MOST_NAMED, fail_fast=True, description="these, failed or skipped"),
    ] = None
    id: Annotated[Id | None, Field(description="else: of this timer only")] = None
    since: Annotated[GivenMoment, moment("else: scheduled at this moment or later")] = None
    until: Annotated[GivenMoment, moment("else: scheduled at this moment or earlier; now by default")] = None
    statuses: Annotated[
        list[Literal["failed", "skipped"]] | None,
        Field(min_length=1, max_length=2, description="else: with these outcomes; failed by default"),
    ] = None


class BackfillFirings(SpreadFields):
    """Of which past range a timer's moments are to fire."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    id: Id
    since: Annotated[GivenMoment, moment("moments after this one")]
    until: Annotated[GivenMoment, moment("up to this one, which is past; at most 366 days after since")]


class AskedFiringAnswer(Answer):
    """The firing as it is now."""

    data: RecordData


class CancelAnswer(AskedFiringAnswer, ChangeAnswer):
    """The firing as it is now."""


class NotReplayedData(Sent):
    """A firing that is not replayed."""

    id: Annotated[int, Field(description="its timer")]
    fire_at_ms: int
    msg: str


class _Dues(Sent):
    first_due_at_ms: Annotated[int | None, Field(description="null: nothing is due")]
    last_due_at_ms: int | None


class ReplayData(_Dues):
    """How many firings can be replayed, and were."""

    matched: int
    replayed: int
    not_replayed: list[NotReplayedData]
    remaining: Annotated[
        int,
        Field(
            description=f"left to be replayed, beyond the {MOST_AT_ONCE} or the work of a request: call again"
        ),
    ]


class ReplayAnswer(Answer):
    """What a replay comes to; GET /firings shows how it goes on."""

    data: ReplayData


class BackfillData(_Dues):
    """How many moments there are, and how many of them had no record and are now to fire."""

    matched: Annotated[
        int, Field(description=f"moments of this request; with dryRun of the range, up to {MOST_COUNTED}")
    ]
    planned: int
    remaining: Annotated[
        int,
        Field(
            description=f"moments left, beyond the {MOST_AT_ONCE} of a request, counted up to {MOST_COUNTED}; "
            "with dryRun those of matched that have no record"
        ),
    ]
    next_since: Annotated[
        str | None,
        Field(
            description="since of the next part, of a dryRun that was not counted to its end too; null: it was the last"
        ),
    ]


class BackfillAnswer(Answer):
    """What a backfill comes to; GET /records shows how it goes on."""

    data: BackfillData
