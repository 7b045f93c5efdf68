"""From what a request says of a timer, to the timer it is to be."""

from dataclasses import replace

from wangtimer.api.asked.asked_notify import changed_notify, new_notify
from wangtimer.api.asked.asked_schedule import (
    FindCalendar,
    edited_schedule,
    replaced_schedule,
    schedule_of,
)
from wangtimer.api.asked.terms import ChangedTerms, TermFields, TimerTerms
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused
from wangtimer.core.timers.misfire import USUAL, MisfirePolicy, MisfireRule
from wangtimer.core.timers.timer import Timer
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
        new_notify(asked.notify),
        _misfire(asked, USUAL),
        schedule.ending,
        _tags(asked.tags),
        _keep_days(asked, None),
    )
    refuse_wide(terms(new.schedule, new.ending, new.notify, new.misfire, new.tags, new.keep_days))
    return new


def edited_timer(asked: ChangedTerms, timer: Timer, now: int, find: FindCalendar) -> Timer:
    """Return the timer as an edit asks for it; raises `InvalidInput`."""
    schedule = edited_schedule(asked, timer, now, find)
    definition = timer.definition._replace(
        schedule=schedule.schedule,
        notify=changed_notify(asked.notify, timer.definition.notify),
        misfire=_misfire(asked, timer.definition.misfire),
    )
    edited = replace(
        timer,
        definition=definition,
        name=timer.name if asked.name is None else asked.name,
        ending=schedule.ending,
        tags=_tags(asked.tags) if "tags" in asked.model_fields_set else timer.tags,
        keep_days=_keep_days(asked, timer.keep_days),
    )
    return _fitting(edited)


def replaced_timer(asked: TimerTerms, timer: Timer, now: int, find: FindCalendar) -> Timer:
    """Return the timer as it is to be whatever it was; raises `InvalidInput`."""
    schedule = replaced_schedule(asked, timer, now, find)
    definition = timer.definition._replace(
        schedule=schedule.schedule,
        notify=new_notify(asked.notify),
        misfire=_misfire(asked, USUAL),
    )
    return _fitting(
        replace(
            timer,
            definition=definition,
            ending=schedule.ending,
            tags=_tags(asked.tags),
            keep_days=_keep_days(asked, None),
        )
    )


def _fitting(timer: Timer) -> Timer:
    one = timer.definition
    refuse_wide(terms(one.schedule, timer.ending, one.notify, one.misfire, timer.tags, timer.keep_days))
    return timer


def _misfire(asked: TermFields, usual: MisfireRule) -> MisfireRule:
    return MisfireRule(
        usual.policy if asked.misfire is None else MisfirePolicy(asked.misfire),
        usual.grace_ms if asked.misfire_grace_ms is None else asked.misfire_grace_ms,
        usual.window_ms if asked.catchup_window_ms is None else asked.catchup_window_ms,
    )


def _tags(asked: list[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(asked or ()))


def _keep_days(asked: TermFields, was: int | None) -> int | None:
    """Return the days for which the timer is to be kept once it is finished, 0: not at all; raises `Refused`.

    Of an edit, `retentionDays` and `deleteAfterFinish: true` each take the place of the other.
    """
    if asked.delete_after_finish:
        if asked.retention_days is not None:
            raise Refused(
                ErrorCode.BAD_VALUE,
                "retentionDays",
                "deleteAfterFinish is true: the timer is not kept",
                "give one of them",
            )
        return 0
    if asked.retention_days is not None:
        return asked.retention_days
    given = asked.model_fields_set
    is_taken_away = "delete_after_finish" in given if was == 0 else "retention_days" in given
    return None if is_taken_away else was
