"""A timer as the API shows it."""

from typing import Any

from wangtimer.api.compat.answers import NotifyData, PlannedTimerData, StoppedData, WarningData, Words
from wangtimer.api.compat.timers.declared_fields import shown_values
from wangtimer.api.compat.timers.terms import ScheduleFields
from wangtimer.api.compat.words import in_xtimers_words
from wangtimer.core.flow.stopped_moment import StoppedMoment
from wangtimer.core.kinds.clock_changes import warnings_of_moment
from wangtimer.core.kinds.kinds import kind_of
from wangtimer.core.previews.previews import preview_of
from wangtimer.core.schedules.schedule import Schedule, as_bounded, rule_of
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.timers.secret_parts import masked
from wangtimer.core.timers.timer import Notify, Timer, TimerStatus
from wangtimer.core.words.words import Language

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
    """Return the fields of a `Preview`: the next `count` moments after `now` (ms UTC), words and warnings.

    `asked` is the request's schedule.
    """
    found = preview_of(schedule, now, count)
    warnings = (*found.warnings, *warnings_of_moment(vars(asked).get("at"), asked.timezone))
    return {
        "next_moments": [
            {"at": show_moment(moment, found.zone), "at_ms": moment, "utc": moment}
            for moment in found.moments
        ],
        "words": Words(en=found.words[Language.EN], zh=found.words[Language.ZH]),
        "warnings": [
            WarningData(code=one.code, text=in_xtimers_words(one.text), text_zh=in_xtimers_words(one.text_zh))
            for one in warnings
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
