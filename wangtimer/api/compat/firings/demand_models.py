"""What callers may ask of single firings, and what they are told."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from wangtimer.api.asked.many_types import (
    MOST_NAMED,
    BackfilledSince,
    BackfilledUntil,
    LeftToBackfill,
    LeftToReplay,
    MatchedMoments,
    OnlyCountFirings,
    PerSecond,
    ReplayedSince,
    ReplayedStatuses,
    ReplayedUntil,
)
from wangtimer.api.compat.answers import ChangeAnswer, RecordData
from wangtimer.api.http.envelope import Answer, Sent
from wangtimer.api.http.field_types import App, Given, GivenMoment, Id, moment
from wangtimer.api.http.refusals import NAMED_BY_ID

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

    per_second: PerSecond = 50
    start_at: Annotated[
        GivenMoment,
        moment(
            "the first is due at this moment; now by default. The next part's: the lastDueAtMs of the one before"
        ),
        Field(alias="startAt"),
    ] = None
    dry_run: OnlyCountFirings = False


class ReplayFirings(SpreadFields):
    """Which firings to attempt once more: those of `firings`, or all of `statuses` since a moment."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    firings: Annotated[
        list[FiringKey] | None,
        Field(min_length=1, max_length=MOST_NAMED, fail_fast=True, description="these, failed or skipped"),
    ] = None
    id: Annotated[Id | None, Field(description="else: of this timer only")] = None
    since: ReplayedSince = None
    until: ReplayedUntil = None
    statuses: ReplayedStatuses = None


class BackfillFirings(SpreadFields):
    """Of which past range a timer's moments are to fire."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    id: Id
    since: BackfilledSince
    until: BackfilledUntil


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
    remaining: LeftToReplay


class ReplayAnswer(Answer):
    """What a replay comes to; GET /firings shows how it goes on."""

    data: ReplayData


class BackfillData(_Dues):
    """How many moments there are, and how many of them had no record and are now to fire."""

    matched: MatchedMoments
    planned: int
    remaining: LeftToBackfill
    next_since: Annotated[
        str | None,
        Field(
            description="since of the next part, of a dryRun that was not counted to its end too; null: it was the last"
        ),
    ]


class BackfillAnswer(Answer):
    """What a backfill comes to; GET /records shows how it goes on."""

    data: BackfillData
