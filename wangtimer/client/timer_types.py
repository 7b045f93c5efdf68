"""What the service answers about timers, schedules, calendars and load. A newer service may send further keys.

`countsWithin` of a change: it counts for every moment later than so long after the answer, `1s` as a rule, `8s` where
Redis could not be told at once.
"""

from typing import Literal, NotRequired, TypedDict

from .errors import Problem
from .timer_fields import Timer

StopState = Literal["cancelled", "in_flight", "already_fired"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class MomentShown(TypedDict):
    """A moment in the schedule's zone, and in UTC."""

    at: str
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


class ChangedTimer(Timer, TypedDict):
    """A timer just made or changed, and what its schedule comes to."""

    preview: Preview
    countsWithin: str


class PutTimer(ChangedTimer):
    """A timer that was put; `created` is the client's: False too where an earlier try without an answer made it."""

    created: bool


class Stop(TypedDict):
    """The next moment of a timer that was switched off, and whether that came in time.

    `state`: `cancelled` (no call of it is made any more), `in_flight` (a call may be on its way; its record will say),
    `already_fired` (a call was sent, and there is no later moment).
    """

    at: str
    state: StopState


class SwitchedOffTimer(TypedDict):
    """A timer that was disabled; `stopped` None: no moment was left, or it could not be told."""

    timer: Timer
    stopped: Stop | None
    countsWithin: str


class Deletion(TypedDict):
    """A timer that was deleted. `timer` None, and no `countsWithin`: an earlier try without an answer deleted it."""

    timer: Timer | None
    stopped: Stop | None
    countsWithin: NotRequired[str]


class LastOutcome(TypedDict):
    """What became of a timer's latest firing that has an outcome."""

    fireAt: str
    status: Literal["succeeded", "failed", "skipped"]
    latenessMs: int | None
    httpStatus: int | None
    error: str


class ListedTimer(Timer, TypedDict):
    """A timer in a list; `lastOutcome` is None until something fired."""

    lastOutcome: LastOutcome | None


class TimersPage(TypedDict):
    """A page of timers; `nextCursor` None: the last."""

    items: list[ListedTimer]
    nextCursor: str | None


class NewTimerOutcome(TypedDict):
    """What became of one of several new timers; `problem` None: it was done.

    With both an `id` and a `problem`, it is made and could not be enabled.
    """

    index: int
    id: int | None
    key: str | None
    created: bool
    problem: Problem | None


class NewTimersOutcome(TypedDict):
    """What became of each, in order, and counts."""

    items: list[NewTimerOutcome]
    created: int
    failed: int


class UnchangedTimer(TypedDict):
    """A timer that was not changed, and why; `key` None: there is no such timer."""

    id: int
    key: str | None
    problem: Problem


class StoppedTimer(Stop):
    """The stopped moment of one of several timers."""

    id: int


class ManyTimersOutcome(TypedDict):
    """What one round of a change of many did; where some remain, `lastId` is the next round's `afterId`.

    `unknownKeys` is there where keys were named: those that no timer had when the round began.
    `wasInDoubt` is the client's: an earlier try got no answer, and what it did is not counted here.
    """

    matched: int
    done: int
    failed: list[UnchangedTimer]
    remaining: int
    lastId: int | None
    stopped: list[StoppedTimer]
    unknownKeys: NotRequired[list[str]]
    countsWithin: str
    wasInDoubt: bool


class Following(TypedDict):
    """Of the timers that name a calendar: all, those still to take over its days, and those that cannot."""

    followers: int
    left: int
    refused: int
    refusedIds: list[int]


class Calendar(TypedDict):
    """Days on which nothing fires; `following` None in a list, and of a calendar that is always there."""

    name: str
    weekdays: list[Weekday]
    days: list[str]
    working: list[str]
    firstYear: int | None
    lastYear: int | None
    isBuiltIn: bool
    following: Following | None


class CalendarsPage(TypedDict):
    """A page of calendars; `nextCursor` None: the last."""

    items: list[Calendar]
    nextCursor: str | None


class MinuteOfLoad(TypedDict):
    """Firings planned for a minute."""

    minute: str
    firings: int


class Load(TypedDict):
    """The coming minutes that have firings; after `plannedUntil` there may be more than are counted."""

    items: list[MinuteOfLoad]
    firings: int
    plannedUntil: str


class MinuteOfAllApps(TypedDict):
    """Firings planned for a minute, in all and by app."""

    minute: str
    firings: int
    apps: dict[str, int]


class LoadOfAllApps(TypedDict):
    """The coming minutes that have firings of any app; after `plannedUntil` there may be more than are counted."""

    items: list[MinuteOfAllApps]
    firings: int
    plannedUntil: str
