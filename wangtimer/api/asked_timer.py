"""From what a request says of a timer, to the timer it is to be."""

from dataclasses import replace

from wangtimer.api.asked_notify import changed_notify, new_notify
from wangtimer.api.asked_schedule import FindCalendar, edited_schedule, replaced_schedule, schedule_of
from wangtimer.api.timer_models import EditTimer, TermFields, TimerTerms
from wangtimer.core.misfire import USUAL, MisfirePolicy, MisfireRule
from wangtimer.core.timer import Timer
from wangtimer.store.sql.timers import NewTimer


def new_timer(app: str, asked: TimerTerms, now: int, find: FindCalendar) -> NewTimer:
    """Return the timer to create at `now` (ms UTC); raises `InvalidInput`."""
    schedule = schedule_of(asked, now, find)
    return NewTimer(
        app,
        asked.name,
        schedule.schedule,
        new_notify(asked.notify),
        _misfire(asked, USUAL),
        schedule.limits,
        _tags(asked.tags),
    )


def edited_timer(asked: EditTimer, timer: Timer, now: int, find: FindCalendar) -> Timer:
    """Return the timer as an edit asks for it; raises `InvalidInput`."""
    schedule = edited_schedule(asked, timer, now, find)
    definition = timer.definition._replace(
        schedule=schedule.schedule,
        notify=changed_notify(asked.notify, timer.definition.notify),
        misfire=_misfire(asked, timer.definition.misfire),
    )
    return replace(
        timer,
        definition=definition,
        name=timer.name if asked.name is None else asked.name,
        limits=schedule.limits,
        tags=_tags(asked.tags) if "tags" in asked.model_fields_set else timer.tags,
    )


def replaced_timer(asked: TimerTerms, timer: Timer, now: int, find: FindCalendar) -> Timer:
    """Return the timer as it is to be whatever it was; raises `InvalidInput`."""
    schedule = replaced_schedule(asked, timer, now, find)
    definition = timer.definition._replace(
        schedule=schedule.schedule,
        notify=new_notify(asked.notify),
        misfire=_misfire(asked, USUAL),
    )
    return replace(timer, definition=definition, limits=schedule.limits, tags=_tags(asked.tags))


def _misfire(asked: TermFields, usual: MisfireRule) -> MisfireRule:
    return MisfireRule(
        usual.policy if asked.misfire is None else MisfirePolicy(asked.misfire),
        usual.grace_ms if asked.misfire_grace_ms is None else asked.misfire_grace_ms,
        usual.window_ms if asked.catchup_window_ms is None else asked.catchup_window_ms,
    )


def _tags(asked: list[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(asked or ()))
