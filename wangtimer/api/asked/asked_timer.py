"""Reads the timer that a request asks for."""

from dataclasses import replace

from wangtimer.api.asked.asked_notify import changed_notify, new_notify
from wangtimer.api.asked.asked_schedule import (
    FindCalendar,
    edited_schedule,
    replaced_schedule,
    schedule_of,
)
from wangtimer.api.asked.call_forms import refuse_bad_form
from wangtimer.api.asked.owned_fields import asked_values, default_of
from wangtimer.api.asked.terms import ChangedTerms, TimerTerms
from wangtimer.api.http.allowed_targets import check_way_out
from wangtimer.api.http.notify_rules import check_headers, check_path, check_same_place, check_url
from wangtimer.core.timers.secret_parts import masked
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.store.seals import Seals
from wangtimer.store.sql.timer_rows import terms
from wangtimer.store.sql.widths import refuse_wide


def new_timer(app: str, asked: TimerTerms, now: int, find: FindCalendar) -> NewTimer:
    """Return the timer to create at `now` (ms UTC); raises `InvalidInput`."""
    schedule = schedule_of(asked, now, find)
    notify = new_notify(asked.notify)
    _check_way_out(notify, app)
    new = NewTimer(
        app,
        asked.name,
        schedule.schedule,
        notify,
        ending=schedule.ending,
        **asked_values(asked, default_of),
    )
    refuse_bad_form(new.notify, new.form)
    refuse_wide(terms(new))
    return new


def edited_timer(asked: ChangedTerms, timer: Timer, now: int, find: FindCalendar, seals: Seals) -> Timer:
    """Return the edited timer, its secrets sealed; raises `InvalidInput`, `UnopenedSecrets`."""
    schedule = edited_schedule(asked, timer, now, find)
    was = timer.definition
    notify, call = was.notify, masked(was.notify)
    if asked.notify is not None:
        call = changed_notify(asked.notify, notify)
        _check_way_out(call, was.app)
        notify = seals.changed(call, was, _check)
    edited = replace(
        timer,
        definition=was._replace(schedule=schedule.schedule, notify=notify),
        name=timer.name if asked.name is None else asked.name,
        ending=schedule.ending,
    )
    return _fitting(edited.with_values(asked_values(asked, timer.value_of)), call)


def replaced_timer(asked: TimerTerms, timer: Timer, now: int, find: FindCalendar, seals: Seals) -> Timer:
    """Return the timer with all its terms replaced, its secrets sealed; raises `InvalidInput`, `UnopenedSecrets`.

    `***` stands for the secret that the timer has there.
    """
    schedule = replaced_schedule(asked, timer, now, find)
    was = timer.definition
    call = new_notify(asked.notify)
    _check_way_out(call, was.app)
    notify = seals.changed(call, was, _check)
    replaced = replace(
        timer, definition=was._replace(schedule=schedule.schedule, notify=notify), ending=schedule.ending
    )
    return _fitting(replaced.with_values(asked_values(asked, default_of)), call)


def _check_way_out(call: Notify, app: str) -> None:
    """Raise `Refused` where the call may not go; a named target was judged when it was set."""
    if not call.target:
        check_way_out(call.url, app)


def _check(call: Notify, kept_from: Notify | None) -> None:
    """Raise `Refused` where the masks stood for so much that the call is too long, or for another host's secrets."""
    check_headers(call.headers)
    if call.target:
        check_path(call.url)
    else:
        check_url(call.url)
    if kept_from is not None:
        check_same_place(call, kept_from)


def _fitting(timer: Timer, asked: Notify) -> Timer:
    """Return the timer if it can be stored, and its call, as asked for, can be written so; raises `InvalidInput`."""
    refuse_bad_form(asked, timer.definition.form)
    refuse_wide(terms(timer))
    return timer
