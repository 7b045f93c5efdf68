"""Timers, schedules and calendars as the service sends them. A newer service may send further keys.

Wherever a change has `countsWithinMs`: it counts for every moment later than so many ms after the answer, 1,000 as
a rule, 8,000 where Redis could not be told at once. Absent where the answer was lost, and of an older service.
"""

from typing import NotRequired, TypedDict

from wangtimer.client.rule_types import RuleShown


class MomentShown(TypedDict):
    """A moment in the timer's zone, in UTC, and in ms since 1970."""

    at: str
    atMs: int
    utc: str


class Words(TypedDict):
    """A schedule in words."""

    en: str
    zh: str


class WarningShown(TypedDict):
    """What may surprise about a schedule."""

    code: str
    text: str
    textZh: str


class Preview(TypedDict):
    """What a schedule comes to."""

    nextMoments: list[MomentShown]
    words: Words
    warnings: list[WarningShown]


class Notify(TypedDict):
    """The HTTP call a timer makes."""

    url: str
    method: str
    header: dict[str, list[str]]
    body: str


class Timer(RuleShown, TypedDict):
    """A timer; its rule is in the fields of `RuleShown`."""

    id: int
    app: str
    name: str
    status: int
    statusName: str
    timezone: str
    startAt: NotRequired[str]
    endAt: NotRequired[str]
    maxFirings: NotRequired[int]
    jitterMs: NotRequired[int]
    excludeCalendar: NotRequired[str]
    tags: NotRequired[list[str]]
    retentionDays: NotRequired[int]
    deleteAfterFinish: NotRequired[bool]
    notifyHTTPParam: Notify
    misfire: str
    misfireGraceMs: int
    catchupWindowMs: int
    nextFireAt: str | None
    version: int
    createdAt: str
    updatedAt: str


class StoppedMoment(TypedDict):
    """The next moment of a timer that was disabled or deleted, and whether that came in time.

    `state`: `cancelled` (no call of it is made any more), `in_flight` (a call may be on its way; its record will say),
    `already_fired` (a call was sent, and there is no later moment).
    """

    at: str
    atMs: int
    state: str


class StoppedOne(StoppedMoment):
    """The same of one of several timers."""

    id: int


class StoppedTimer(Timer):
    """A timer that was disabled; `stopped` None: no moment was left, or it could not be told."""

    stopped: StoppedMoment | None
    countsWithinMs: NotRequired[int]


class Deletion(TypedDict):
    """What becomes of the next moment of a timer that was deleted.

    `stopped` None: no moment was left, or it could not be told, as where an answer was lost.
    """

    stopped: StoppedMoment | None
    countsWithinMs: NotRequired[int]


class PlannedTimer(Timer):
    """A timer just made or edited, with what its schedule comes to."""

    nextMoments: list[MomentShown]
    words: Words
    warnings: list[WarningShown]


class EditedTimer(PlannedTimer):
    """A timer just edited."""

    countsWithinMs: NotRequired[int]


class PutTimer(TypedDict):
    """A timer as it is now, and whether it was made by this call."""

    id: int
    data: PlannedTimer
    created: bool
    countsWithinMs: NotRequired[int]


class LastOutcome(TypedDict):
    """What became of a timer's latest firing that has an outcome."""

    runTimer: str
    statusName: str
    latenessMs: int | None
    httpStatus: int | None
    error: str


class ListedTimer(Timer):
    """A timer in a list; `lastOutcome` is None until something fired."""

    lastOutcome: LastOutcome | None


class TimersPage(TypedDict):
    """A page of timers; `nextCursor` None: the last. `total` only where pages are numbered."""

    data: list[ListedTimer]
    nextCursor: str | None
    total: NotRequired[int]


class MadeTimer(TypedDict):
    """What became of one of several timers: `code` 0 where it was made, else an error's.

    `existingId` is there where another timer has the name: which. `warnings` is there where the text of its cron may
    surprise; a preview tells more.
    """

    index: int
    code: int
    msg: str
    field: str
    id: int | None
    created: bool
    existingId: NotRequired[int]
    warnings: NotRequired[list[WarningShown]]


class MadeTimers(TypedDict):
    """What became of each, in order, and counts."""

    data: list[MadeTimer]
    created: int
    failed: int


class FailedChange(TypedDict):
    """A timer that could not be changed, and why."""

    id: int
    name: str | None
    code: int
    msg: str


class TimersChange(TypedDict):
    """What one round of a change of many did; where some remain, `lastId` is the next round's `after_id`.

    `unknownNames` is there where names were asked for: those that no timer had when the round began.
    `wasInDoubt` is the client's: an earlier try got no answer, and what it did is not counted here.
    """

    matched: int
    done: int
    failed: list[FailedChange]
    remaining: int
    lastId: int | None
    stopped: NotRequired[list[StoppedOne]]
    unknownNames: NotRequired[list[str]]
    countsWithinMs: NotRequired[int]
    wasInDoubt: bool


class Following(TypedDict):
    """Of the timers that name a calendar: all, those still to take over its days, and those that cannot."""

    followers: int
    left: int
    refused: int
    refusedIds: list[int]


class Calendar(TypedDict):
    """Days on which nothing fires."""

    name: str
    weekdays: list[int]
    days: list[str]
    working: list[str]
    firstYear: int | None
    lastYear: int | None
    isBuiltIn: bool
    following: Following | None


class PutCalendar(TypedDict):
    """A calendar, and how many timers will follow it: within seconds, `get_calendar` tells how far they are."""

    data: Calendar
    edited: int


class MinuteLoad(TypedDict):
    """Firings planned for a minute, in all and by app."""

    minute: str
    minuteMs: int
    total: int
    apps: dict[str, int]


class Load(TypedDict):
    """The coming minutes that have firings; after `plannedUntilMs` there may be more than are counted."""

    data: list[MinuteLoad]
    total: int
    plannedUntilMs: int
