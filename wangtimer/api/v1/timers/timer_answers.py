"""A timer as v1 shows it."""

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import MethodWord
from wangtimer.api.v1.timers.declared_fields import (
    OF_CALLS,
    OF_TIMERS_ALONE,
    call_fields_shown,
    showing,
    showing_rules,
    showing_timers,
    shown_rule,
    shown_values,
)
from wangtimer.api.v1.timers.retry_models import ShownRetry, shown_retry
from wangtimer.api.v1.value_types import Span, Text
from wangtimer.core.flow.stopped_moment import StoppedMoment, StopState
from wangtimer.core.previews.previews import preview_of
from wangtimer.core.previews.warnings import warnings_of_call
from wangtimer.core.schedules.schedule import Schedule as Moments
from wangtimer.core.schedules.schedule import as_bounded, rule_of
from wangtimer.core.time.durations import show_duration
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.timers.call_options import CallForm, Timeouts
from wangtimer.core.timers.change_delay import COUNTS_WITHIN_MS
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule
from wangtimer.core.timers.secret_parts import masked
from wangtimer.core.timers.timer import Notify, Timer
from wangtimer.core.words.warning import Warning, WarningCode
from wangtimer.core.words.words import Language

MOMENTS_SHOWN = 5

Status = Literal["enabled", "disabled", "finished", "deleted"]


@showing_rules
class ShownSchedule(Sent):
    """When: {shown}; and what bounds them."""

    timezone: Annotated[str | None, Field(examples=["Asia/Shanghai"])] = None
    start_at: Text | None = None
    end_at: Text | None = None
    max_firings: int | None = None
    jitter: Span | None = None
    exclude_calendar: Annotated[str | None, Field(examples=["weekends"])] = None


class ShownMarks(Sent):
    """Which parts of an HTTP call were marked as secret."""

    secret_headers: Annotated[list[str] | None, Field(examples=[["x-tenant"]])] = None
    """headers that were marked as secret"""
    secret_query: bool | None = None
    """true: all of the URL's query was marked as secret"""
    secret_body: bool | None = None
    """true: the body was marked as secret"""


@partial(showing, fields=(*OF_CALLS, *OF_TIMERS_ALONE))
class _ShownCall(Sent):
    """An HTTP call without its marks."""

    url: Annotated[str | None, Field(examples=["https://shop.example/orders/expire"])] = None
    """not there: the call goes through a named target"""
    name: Annotated[str | None, Field(examples=["shop"])] = None
    """the named target of the app"""
    path: Annotated[str | None, Field(examples=["/orders/expire?order=7"])] = None
    """what stands behind the URL of the target"""
    method: MethodWord | None = None
    """not there: that of the named target"""
    headers: dict[str, list[str]]
    """each name with its values"""
    body: str


class ShownTarget(ShownMarks, _ShownCall):
    """The HTTP call a timer makes; `***` stands in place of each secret.

    With a `name` it goes through that target of the app, and has what the timer gives itself.
    """


class ShownMisfire(Sent):
    """What happens to firings that are found late."""

    policy: MisfirePolicy
    grace: Span
    catchup_window: Annotated[
        Span, Field(description="firings found later than this are never made; 0s: no limit")
    ]


class ShownWords(Sent):
    """A schedule in words."""

    en: Annotated[str, Field(examples=["every 5 minutes"])]
    zh: Annotated[str, Field(examples=["每 5 分钟"])]


class ShownWarning(Sent):
    """What may surprise about a schedule in the 13 months after its first moment, or about a call's body."""

    code: WarningCode
    text: str
    text_zh: str


class ShownMoment(Sent):
    """A moment of a schedule, in its zone and in UTC."""

    at: Annotated[str, Field(examples=["2026-11-21T02:16:51.123+08:00"])]
    """in the schedule's zone"""
    utc: Text


class ShownPreview(Sent):
    """A schedule's next moments, the schedule in words, and warnings."""

    next_moments: list[ShownMoment]
    words: ShownWords
    warnings: list[ShownWarning]


@showing_timers
class ShownTimer(Sent):
    """A timer."""

    id: Annotated[int, Field(examples=[890342217101453])]
    key: Annotated[str, Field(examples=["order-42"])]
    app: Annotated[str, Field(examples=["shop"])]
    status: Annotated[Status, Field(description="finished: enabled, and no moment is left")]
    enabled: bool
    schedule: ShownSchedule
    target: ShownTarget
    misfire: ShownMisfire
    retry: Annotated[
        ShownRetry | None,
        Field(description="not there: as its target says, else as its app does, else as the deployment does"),
    ] = None
    next_fire_at: Annotated[Text | None, Field(description="null while disabled, or when no moment is left")]
    version: Annotated[int, Field(description="grows with every change; the ETag holds it")]
    created_at: Text
    updated_at: Text


class ShownTimerChange(ShownTimer):
    """A timer just made or changed: the preview of its schedule, and how soon the change takes effect."""

    counts_within: Annotated[
        Span,
        Field(
            description="the change takes effect for moments later than this after the answer: usually 1s; "
            f"{show_duration(COUNTS_WITHIN_MS)} where Redis could not be told at once",
            examples=["1s"],
        ),
    ]
    preview: ShownPreview


class ShownStop(Sent):
    """What became of the timer's next moment when the timer was disabled or deleted."""

    at: Text
    state: StopState
    """cancelled: no call of this moment is made any more. in_flight: its call may be on its way; its record will say.
    already_fired: its call was sent, and there is no later moment"""


class SwitchedOffTimer(Sent):
    """A disabled or deleted timer, and what became of its next moment."""

    timer: ShownTimer
    stopped: ShownStop | None
    """null: there is no moment to stop, or it is not known"""
    counts_within: Span


def timer_fields(timer: Timer, now: int) -> dict[str, Any]:
    """Return the fields of a `ShownTimer` as they are at `now` (ms UTC)."""
    definition = timer.definition
    return shown_values(timer) | {
        "id": timer.id,
        "key": timer.name,
        "app": definition.app,
        "status": "finished" if timer.is_finished(now) else definition.status.value,
        "enabled": definition.is_enabled,
        "schedule": _schedule_fields(timer),
        "target": call_fields(definition.notify, definition.timeouts, definition.form),
        "misfire": _misfire(definition.misfire),
        "retry": shown_retry(definition.retry),
        "next_fire_at": definition.schedule.first_after(now) if definition.is_enabled else None,
        "version": definition.version,
        "created_at": timer.created_at,
        "updated_at": timer.updated_at,
    }


def changed_timer(
    timer: Timer, now: int, counts_within_ms: int, warnings: Iterable[Warning]
) -> ShownTimerChange:
    """Return a timer with its preview from `now` (ms UTC), as if enabled. `warnings` are the request's own."""
    definition = timer.definition
    of_call = warnings_of_call(
        definition.notify, definition.form, is_once=definition.schedule.only_moment is not None
    )
    ending = timer.ending
    count = min(MOMENTS_SHOWN, ending.most or MOMENTS_SHOWN) if ending.must_be_counted else MOMENTS_SHOWN
    return ShownTimerChange.of(
        **timer_fields(timer, now),
        counts_within=counts_within_ms,
        preview=preview(definition.schedule, now, count, (*warnings, *of_call)),
    )


def preview(schedule: Moments, now: int, count: int, warnings: Iterable[Warning]) -> ShownPreview:
    """Return the next `count` moments after `now` (ms UTC), words and the schedule's warnings before the others."""
    found = preview_of(schedule, now, count)
    moments = [{"at": show_moment(moment, found.zone), "utc": moment} for moment in found.moments]
    words = ShownWords(en=found.words[Language.EN], zh=found.words[Language.ZH])
    return ShownPreview.of(next_moments=moments, words=words, warnings=[*found.warnings, *warnings])


def shown_stop(stopped: StoppedMoment | None) -> ShownStop | None:
    """Return a stopped moment as answers show it."""
    return None if stopped is None else ShownStop.of(stopped, at=stopped.at_ms)


def _schedule_fields(timer: Timer) -> dict[str, Any]:
    schedule, ending = timer.definition.schedule, timer.ending
    bounds = as_bounded(schedule)
    return shown_rule(rule_of(schedule)) | {
        "start_at": bounds.start_ms,
        "jitter": bounds.jitter_ms,
        "exclude_calendar": None if bounds.excluded is None else bounds.excluded.name,
        "end_at": ending.end_ms,
        "max_firings": ending.most,
    }


def call_fields(notify: Notify, timeouts: Timeouts, form: CallForm) -> dict[str, Any]:
    """Return the fields of a `ShownTarget`."""
    notify, marks = masked(notify), notify.marks
    headers: dict[str, list[str]] = {}
    for name, value in notify.headers:
        headers.setdefault(name, []).append(value)
    fields: dict[str, Any] = {"method": notify.method or None, "body": notify.body}
    if notify.target:
        fields |= {"name": notify.target, "path": notify.url or None}
    else:
        fields["url"] = notify.url
    return fields | {
        "headers": headers,
        **call_fields_shown(timeouts, form),
        "secret_headers": list(marks.headers) or None,
        "secret_query": marks.query or None,
        "secret_body": marks.body or None,
    }


def _misfire(rule: MisfireRule) -> dict[str, Any]:
    return {"policy": rule.policy, "grace": rule.grace_ms, "catchup_window": rule.window_ms}
