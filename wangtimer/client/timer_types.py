"""The service's answers about timers, schedules, calendars and load. A newer service may send more keys.

`countsWithin` of a change: it takes effect for every moment later than this after the answer. It is usually `1s`, and
`8s` where Redis could not be told at once.
"""

from typing import Generic, Literal, NotRequired, TypedDict, TypeVar

from .errors import Problem
from .timer_fields import KeepOutput, MessageQueue, ShownCall, ShownRetry, Timer
from .transport import Listed, Round

StopState = Literal["cancelled", "in_flight", "already_fired"]
Minute = TypeVar("Minute")
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
    """A schedule's next moments, the schedule in words, and warnings."""

    nextMoments: list[MomentShown]
    words: Words
    warnings: list[WarningShown]


class ChangedTimer(Timer, TypedDict):
    """A timer just made or changed, with the preview of its schedule."""

    preview: Preview
    countsWithin: str


class PutTimer(ChangedTimer):
    """A timer that was put. The client adds `created`: also False where a try with a lost answer made the timer."""

    created: bool


class Stop(TypedDict):
    """The next moment of a disabled or deleted timer, and whether it was stopped.

    `state`: `cancelled` (no call of it is made any more), `in_flight` (its call may be on its way; its record will
    say), `already_fired` (its call was sent, and there is no later moment).
    """

    at: str
    state: StopState


class SwitchedOffTimer(TypedDict):
    """A timer that was disabled; `stopped` None: no moment was left, or it is not known."""

    timer: Timer
    stopped: Stop | None
    countsWithin: str


class Deletion(TypedDict):
    """A timer that was deleted. `timer` None without `countsWithin`: an earlier try with a lost answer deleted it."""

    timer: Timer | None
    stopped: Stop | None
    countsWithin: NotRequired[str]


class ShownCelery(TypedDict):
    """Which of the app's own Celery workers run tasks."""

    broker: str
    queue: str


class ShownConsumers(TypedDict):
    """The group of consumers that gets firings; `fallbackUrl` is called while none is connected."""

    group: str
    fallbackUrl: NotRequired[str]


class NamedTarget(ShownCall, TypedDict):
    """A target that timers name; `timers`: how many name it, not in lists."""

    name: str
    queue: NotRequired[MessageQueue]
    celery: NotRequired[ShownCelery]
    consumers: NotRequired[ShownConsumers]
    keepOutput: NotRequired[KeepOutput]
    retry: NotRequired[ShownRetry]
    timers: NotRequired[int]
    version: int
    createdAt: str
    updatedAt: str


class ChangedTarget(NamedTarget):
    """A target as it is now."""

    countsWithin: str


class LastOutcome(TypedDict):
    """What came of a timer's latest firing that was called or has ended; accepted: its target is at it."""

    fireAt: str
    status: Literal["accepted", "succeeded", "failed", "skipped"]
    latenessMs: int | None
    httpStatus: int | None
    error: str


class ListedTimer(Timer, TypedDict):
    """A timer that is read or listed; `lastOutcome` is None until it has fired."""

    lastOutcome: LastOutcome | None


class NewTimerOutcome(TypedDict):
    """The result of one of several new timers; `problem` None: it was made, else it was not.

    `warnings` are those of the text of its cron alone; a preview has all.
    """

    index: int
    id: int | None
    key: str | None
    created: bool
    problem: Problem | None
    warnings: list[WarningShown]


class NewTimersOutcome(TypedDict):
    """The result of each timer, in order, and counts."""

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


class ManyTimersOutcome(Round, TypedDict):
    """The result of one round of a change of many timers. Where some are left, `lastId` is the next `afterId`.

    `unknownKeys`, if keys were named, has the keys that no timer had when the round began.
    """

    done: int
    failed: list[UnchangedTimer]
    lastId: int | None
    stopped: list[StoppedTimer]
    unknownKeys: NotRequired[list[str]]
    countsWithin: str


class Following(TypedDict):
    """Timers that name a calendar: all, those still without its latest days, and those that cannot use them."""

    followers: int
    left: int
    refused: int
    refusedIds: list[int]


class Calendar(TypedDict):
    """Days on which nothing fires; `following` is None in a list, and for a built-in calendar."""

    name: str
    weekdays: list[Weekday]
    days: list[str]
    working: list[str]
    firstYear: int | None
    lastYear: int | None
    isBuiltIn: bool
    following: Following | None


class SigningSecret(TypedDict):
    """A secret that signs callbacks, without its value; `endsAt` None: until another replaces it.

    `wasShown` False: it was made at the first callback, and nobody has got its value.
    """

    id: int
    createdAt: str
    endsAt: str | None
    wasShown: bool


class Signing(TypedDict):
    """How an app's callbacks are signed: `secrets` are those that sign now, oldest first."""

    app: str
    enabled: bool
    secrets: list[SigningSecret]


class ChangedSigning(Signing):
    """How they are signed from now on; that takes effect `countsWithin` after the answer."""

    countsWithin: str


class Rotation(ChangedSigning):
    """The new `secret`: no other answer shows its value."""

    secret: str


class MinuteOfLoad(TypedDict):
    """Firings planned for a minute."""

    minute: str
    firings: int


class MinuteOfAllApps(MinuteOfLoad):
    """The same, in all and by app."""

    apps: dict[str, int]


class Load(Listed[Minute], TypedDict, Generic[Minute]):
    """The future minutes that have firings. After `plannedUntil` there may be more than are counted."""

    firings: int
    plannedUntil: str
