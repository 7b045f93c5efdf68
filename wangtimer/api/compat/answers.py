"""The data of each operation's answer.

`status` numbers, `header`, `runTimer` and `costTime` are xTimer's; names with `Name`, `At` or `Ms` are our own.
"""

from typing import Annotated

from pydantic import Field

from wangtimer.api.asked.field_models import ShownMoment
from wangtimer.api.asked.shared_types import LastOutput, Lateness, ShownKind, WaitedFor
from wangtimer.api.compat.timers.declared_fields import naming_rules, showing_fields, showing_rules
from wangtimer.api.http.api_models import Answer, Sent
from wangtimer.core.flow.stopped_moment import StopState
from wangtimer.core.timers.told import COUNTS_WITHIN_MS
from wangtimer.core.words.warning import WarningCode


class Moment(Sent):
    """A moment of a schedule: as text in the timer's zone and in UTC, and in ms since 1970."""

    at: ShownMoment
    at_ms: int
    utc: ShownMoment


class Words(Sent):
    """A schedule in words."""

    en: str
    zh: str


class WarningData(Sent):
    """What may surprise about a schedule: in the 13 months after its first moment, or in the moments shown."""

    code: WarningCode
    text: str
    text_zh: str


class Preview(Sent):
    """A schedule's next moments, the schedule in words, and warnings."""

    next_moments: list[Moment]
    words: Words
    warnings: list[WarningData]


class NotifyData(Sent):
    """The HTTP call a timer makes."""

    url: Annotated[str, Field(description="target:NAME where the timer names a target of its app")]
    method: Annotated[str, Field(description="empty where the named target says it")]
    header: dict[str, list[str]]
    body: str


@showing_rules
class TimerAndRule(Sent):
    """A timer's name, status and rule."""

    id: int
    app: str
    name: str
    status: Annotated[int, Field(description="1 disabled, 2 enabled, 3 finished: no moment left")]
    status_name: str


@showing_fields
class TimerAndTerms(TimerAndRule):
    """The same, with the other fields that its owner gives."""

    timezone: str
    start_at: ShownMoment | None = None
    end_at: ShownMoment | None = None
    max_firings: int | None = None
    jitter_ms: int | None = None
    exclude_calendar: str | None = None


@naming_rules
class TimerData(TimerAndTerms):
    """A timer; it has either {shown}."""

    notify: Annotated[NotifyData, Field(alias="notifyHTTPParam")]
    next_fire_at: Annotated[
        ShownMoment | None, Field(description="null while disabled, or when no moment is left")
    ]
    version: Annotated[int, Field(description="grows with every change")]
    created_at: ShownMoment
    updated_at: ShownMoment


class PlannedTimerData(TimerData, Preview):
    """A timer just created or edited, with the next five moments at which it fires when enabled."""


class ChangeAnswer(Answer):
    """A change, and how soon it takes effect."""

    counts_within_ms: Annotated[
        int,
        Field(
            description="it takes effect for moments later than this many ms after the answer: usually lead_ms (1000); "
            f"{COUNTS_WITHIN_MS} where Redis could not be told at once"
        ),
    ]


class CreateAnswer(Answer):
    """The new timer; it is disabled until it is enabled."""

    id: int
    data: PlannedTimerData


class EditAnswer(ChangeAnswer):
    """The timer as it is now."""

    data: PlannedTimerData


class TimerAnswer(Answer):
    """A timer."""

    data: TimerData


class StoppedData(Sent):
    """What became of the timer's next moment when the timer was disabled or deleted."""

    at: ShownMoment
    at_ms: int
    state: Annotated[
        StopState,
        Field(
            description="cancelled: no call of this moment is made any more. in_flight: the moment is near, or past "
            "without an outcome, so its call may be on its way; its record will say. already_fired: its call was sent, "
            "and there is no later moment"
        ),
    ]


StoppedField = Annotated[
    StoppedData | None,
    Field(
        description="null: there is no moment to stop, or the last one has failed and was never sent, or the next one "
        "is near and the timer was off already, or it is not known"
    ),
]


class StopAnswer(TimerAnswer, ChangeAnswer):
    """A disabled timer, and what became of its next moment."""

    stopped: StoppedField


class DeleteAnswer(ChangeAnswer):
    """A deleted timer, and what became of its next moment."""

    stopped: StoppedField


class LastOutcome(Sent):
    """The outcome of a timer's latest firing that has one."""

    run_timer: Annotated[ShownMoment, Field(description="its scheduled moment")]
    status_name: str
    lateness_ms: int | None
    http_status: int | None
    error: str


class ListedTimerData(TimerData):
    """A timer in a list."""

    last_outcome: Annotated[LastOutcome | None, Field(description="null: nothing has fired yet")]


class TimersAnswer(Answer):
    """A page of timers."""

    data: list[ListedTimerData]
    next_cursor: Annotated[str | None, Field(description="null: this was the last page")]
    total: Annotated[int | None, Field(description="with pageIndex: how many timers there are")] = None


class RecordData(Sent):
    """A firing; moments in ms since 1970 UTC where the name ends in Ms."""

    timer_id: Annotated[int, Field(alias="timerID")]
    app: str
    run_timer: Annotated[ShownMoment, Field(description="its scheduled moment")]
    fire_at_ms: Annotated[int, Field(description="its scheduled moment")]
    first_sent_at_ms: int | None
    lateness_ms: Lateness
    cost_time: Annotated[
        int, Field(description="ms of the last attempt's call, connecting included; 0: no attempt yet")
    ]
    attempt: int
    status: Annotated[int, Field(description="0 pending, 1 accepted, 2 succeeded, 3 failed, 4 skipped")]
    status_name: str
    http_status: int | None
    output: LastOutput
    error: str
    webhook_id: Annotated[
        str, Field(description="the header webhook-id of its callbacks, the same on every attempt")
    ]
    kind: ShownKind
    waited_for: WaitedFor


class RecordsAnswer(Answer):
    """A page of a timer's firings, latest first."""

    data: list[RecordData]
    next_cursor: Annotated[str | None, Field(description="null: this was the last page")]
    total: Annotated[int | None, Field(description="with pageIndex: how many firings there are")] = None
