"""Models of firings on demand: requests and answers."""

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
    """Which future firing to cancel."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    id: Id
    fire_at: _FireAt


class SpreadFields(Given):
    """How the firings of one request are spread over time."""

    per_second: PerSecond = 50
    start_at: Annotated[
        GivenMoment,
        moment(
            "the first firing is due at this moment, at most 7 days ahead; now by default. For the next part: "
            "lastDueAtMs of the previous one"
        ),
        Field(alias="startAt"),
    ] = None
    dry_run: OnlyCountFirings = False


class ReplayFirings(SpreadFields):
    """Which firings to attempt once more: those in `firings`, or all with `statuses` since a moment."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    firings: Annotated[
        list[FiringKey] | None,
        Field(
            min_length=1,
            max_length=MOST_NAMED,
            fail_fast=True,
            description="these firings, failed or skipped",
        ),
    ] = None
    id: Annotated[Id | None, Field(description="else: firings of this timer only")] = None
    since: ReplayedSince = None
    until: ReplayedUntil = None
    statuses: ReplayedStatuses = None


class BackfillFirings(SpreadFields):
    """The past range in which a timer's moments are to fire now."""

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
    """How many firings match, and how many of them are replayed."""

    matched: int
    replayed: int
    not_replayed: list[NotReplayedData]
    remaining: LeftToReplay


class ReplayAnswer(Answer):
    """The result of a replay; GET /firings shows its progress."""

    data: ReplayData


class BackfillData(_Dues):
    """How many moments match, and how many of them had no record and fire now."""

    matched: MatchedMoments
    planned: int
    remaining: LeftToBackfill
    next_since: Annotated[
        str | None,
        Field(
            description="since of the next part, also where a dryRun stopped counting; null: no part is left"
        ),
    ]


class BackfillAnswer(Answer):
    """The result of a backfill; GET /records shows its progress."""

    data: BackfillData
