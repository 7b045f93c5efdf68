"""From what a request says of a timer, to the timer it is to be."""

from dataclasses import replace

from wangtimer.api.asked_schedule import FindCalendar, edited_schedule, replaced_schedule, schedule_of
from wangtimer.api.timer_models import EditTimer, NotifyParam, TermFields, TimerTerms
from wangtimer.core.misfire import USUAL, MisfirePolicy, MisfireRule
from wangtimer.core.timer import Notify, Timer
from wangtimer.store.sql.timer_rows import terms
from wangtimer.store.sql.timers import NewTimer
from wangtimer.store.sql.widths import refuse_wide


def new_timer(app: str, asked: TimerTerms, now: int, find: FindCalendar) -> NewTimer:
    """Return the timer to create at `now` (ms UTC); raises `InvalidInput`."""
    schedule = schedule_of(asked, now, find)
    new = NewTimer(
        app,
        asked.name,
        schedule.schedule,
        _notify(asked.notify),
        _misfire(asked, USUAL),
        schedule.limits,
        _tags(asked.tags),
    )
    refuse_wide(terms(new.schedule, new.limits, new.notify, new.misfire, new.tags))
    return new


def edited_timer(asked: EditTimer, timer: Timer, now: int, find: FindCalendar) -> Timer:
    """Return the timer as an edit asks for it; raises `InvalidInput`."""
    schedule = edited_schedule(asked, timer, now, find)
    definition = timer.definition._replace(
        schedule=schedule.schedule,
        notify=timer.definition.notify if asked.notify is None else _notify(asked.notify),
        misfire=_misfire(asked, timer.definition.misfire),
    )
    edited = replace(
        timer,
        definition=definition,
        name=timer.name if asked.name is None else asked.name,
        limits=schedule.limits,
        tags=_tags(asked.tags) if "tags" in asked.model_fields_set else timer.tags,
    )
    return _fitting(edited)


def replaced_timer(asked: TimerTerms, timer: Timer, now: int, find: FindCalendar) -> Timer:
    """Return the timer as it is to be whatever it was; raises `InvalidInput`."""
    schedule = replaced_schedule(asked, timer, now, find)
    definition = timer.definition._replace(
        schedule=schedule.schedule,
        notify=_notify(asked.notify),
        misfire=_misfire(asked, USUAL),
    )
    return _fitting(replace(timer, definition=definition, limits=schedule.limits, tags=_tags(asked.tags)))


def _fitting(timer: Timer) -> Timer:
    one = timer.definition
    refuse_wide(terms(one.schedule, timer.limits, one.notify, one.misfire, timer.tags))
    return timer


def _notify(asked: NotifyParam) -> Notify:
    return Notify(asked.url, asked.method, asked.header, asked.body or "")


def _misfire(asked: TermFields, usual: MisfireRule) -> MisfireRule:
    return MisfireRule(
        usual.policy if asked.misfire is None else MisfirePolicy(asked.misfire),
        usual.grace_ms if asked.misfire_grace_ms is None else asked.misfire_grace_ms,
        usual.window_ms if asked.catchup_window_ms is None else asked.catchup_window_ms,
    )


def _tags(asked: list[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(asked or ()))
