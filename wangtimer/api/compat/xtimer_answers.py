"""The data of each operation's answer, and a timer as it is shown in it.

`status` numbers, `header`, `runTimer` and `costTime` are xTimer's; names with `Name`, `At` or `Ms` are our own.
"""

from typing import Annotated, Any

from pydantic import Field

from wangtimer.api.compat.xtimer_requests import (
    ScheduleFields,
    naming_rules,
    showing_fields,
    showing_rules,
    shown_values,
)
from wangtimer.api.compat.xtimer_words import in_xtimers_words
from wangtimer.api.http.api_models import Answer, Sent
from wangtimer.api.timer_terms.timer_field_types import (
    LastOutput,
    Lateness,
    ShownKind,
    ShownMoment,
    WaitedFor,
)
from wangtimer.core.flow.stopped_moment import StoppedMoment, StopState
from wangtimer.core.kinds.clock_changes import warnings_of_moment
from wangtimer.core.kinds.kinds import kind_of
from wangtimer.core.previews.previews import preview_of
from wangtimer.core.schedules.schedule import Schedule, as_bounded, rule_of
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.timers.change_delay import COUNTS_WITHIN_MS
from wangtimer.core.timers.secret_parts import masked
from wangtimer.core.timers.timer import Notify, Timer, TimerStatus
from wangtimer.core.words.warning import WarningCode
from wangtimer.core.words.words import Language


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
    state: StopState
    """cancelled: no call of this moment is made any more. in_flight: the moment is near, or past without an outcome, so
    its call may be on its way; its record will say. already_fired: its call was sent, and there is no later moment"""


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


MOMENTS_SHOWN = 5

# xTimer's numbers; the last is ours.
_STATUS = {TimerStatus.DISABLED: 1, TimerStatus.ENABLED: 2}
FINISHED = 3


def planned_timer(timer: Timer, now: int, asked: ScheduleFields) -> PlannedTimerData:
    """Return a timer with the preview of its schedule from `now` (ms UTC), as if it were enabled."""
    ending = timer.ending
    count = min(MOMENTS_SHOWN, ending.most or MOMENTS_SHOWN) if ending.must_be_counted else MOMENTS_SHOWN
    preview = _preview(timer.definition.schedule, now, count, asked)
    return PlannedTimerData.of(**timer_fields(timer, now), **preview)


def timer_fields(timer: Timer, now: int) -> dict[str, Any]:
    """Return the fields of a `TimerData` as they are at `now` (ms UTC)."""
    definition, is_finished = timer.definition, timer.is_finished(now)
    rule, bounds = rule_of(definition.schedule), as_bounded(definition.schedule)
    return (
        kind_of(rule).shown(rule)
        | shown_values(timer)
        | {
            "id": timer.id,
            "app": definition.app,
            "name": timer.name,
            "status": FINISHED if is_finished else _STATUS[definition.status],
            "status_name": "finished" if is_finished else definition.status.value,
            "timezone": rule.timezone,
            "start_at": bounds.start_ms,
            "end_at": timer.ending.end_ms,
            "max_firings": timer.ending.most,
            "jitter_ms": bounds.jitter_ms,
            "exclude_calendar": None if bounds.excluded is None else bounds.excluded.name,
            "notify": _notify_data(definition.notify),
            "next_fire_at": definition.schedule.first_after(now) if definition.is_enabled else None,
            "version": definition.version,
            "created_at": timer.created_at,
            "updated_at": timer.updated_at,
        }
    )


def stopped_data(stopped: StoppedMoment | None) -> StoppedData | None:
    """Return a stopped moment as answers show it."""
    return None if stopped is None else StoppedData.of(stopped, at=stopped.at_ms)


def _preview(schedule: Schedule, now: int, count: int, asked: ScheduleFields) -> dict[str, Any]:
    """Return the fields of a `Preview` of `count` moments after `now` (ms UTC); `asked` is the request's schedule."""
    found = preview_of(schedule, now, count)
    warnings = (*found.warnings, *warnings_of_moment(vars(asked).get("at"), asked.timezone))
    return {
        "next_moments": [
            {"at": show_moment(moment, found.zone), "at_ms": moment, "utc": moment}
            for moment in found.moments
        ],
        "words": Words(en=found.words[Language.EN], zh=found.words[Language.ZH]),
        "warnings": [
            WarningData(
                code=warning.code,
                text=in_xtimers_words(warning.text),
                text_zh=in_xtimers_words(warning.text_zh),
            )
            for warning in warnings
        ],
    }


def _notify_data(notify: Notify) -> NotifyData:
    notify = masked(notify)
    header: dict[str, list[str]] = {}
    for name, value in notify.headers:
        header.setdefault(name, []).append(value)
    # These paths know no named targets: such a text is no URL, so nobody sends it back by mistake.
    url = f"target:{notify.target}{notify.url}" if notify.target else notify.url
    return NotifyData(url=url, method=notify.method, header=header, body=notify.body)
