"""Reads the timer that a request asks for."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from wangtimer.api.asked.asked_schedule import (
    FindCalendar,
    edited_schedule,
    replaced_schedule,
    schedule_of,
)
from wangtimer.api.asked.call_forms import refuse_bad_form
from wangtimer.api.asked.changed_call import changed_call
from wangtimer.api.asked.longest_call import refuse_longer
from wangtimer.api.http.allowed_targets import check_way_out
from wangtimer.api.http.notify_rules import check_headers, check_path, check_same_place, check_url
from wangtimer.core.timers.field import TimerField
from wangtimer.core.timers.fields import FIELDS
from wangtimer.core.timers.secret_parts import masked
from wangtimer.core.timers.timer import Definition, NewTimer, Notify, Timer
from wangtimer.store.seals import Seals
from wangtimer.store.sql.timer_rows import refuse_wide, terms


class AskedTimer(NamedTuple):
    """A whole timer as a request gives it: values by the names of fields in core, None where it gives null.

    `schedule` has those of the rule and its bounds, `fields` those that `FIELDS` ask for.
    """

    name: str
    schedule: Mapping[str, Any]
    call: Notify
    fields: Mapping[str, Any]


class AskedChange(NamedTuple):
    """What a request gives of a timer that it changes: what is absent stays. `call` is as `changed_call` takes it."""

    name: str | None
    schedule: Mapping[str, Any]
    call: Mapping[str, Any] | None
    fields: Mapping[str, Any]


def new_timer(app: str, asked: AskedTimer, now: int, find: FindCalendar) -> NewTimer:
    """Return the timer to create at `now` (ms UTC); raises `InvalidInput`."""
    schedule = schedule_of(asked.schedule, now, find)
    _check_way_out(asked.call, app)
    new = NewTimer(
        app,
        asked.name,
        schedule.schedule,
        asked.call,
        ending=schedule.ending,
        **_values(asked.fields, _default_of),
    )
    refuse_bad_form(new.notify, new.form)
    refuse_wide(terms(new))
    refuse_longer(new.timeouts)
    return new


def edited_timer(asked: AskedChange, timer: Timer, now: int, find: FindCalendar, seals: Seals) -> Timer:
    """Return the edited timer, its secrets sealed; raises `InvalidInput`, `UnopenedSecrets`."""
    schedule = edited_schedule(asked.schedule, timer, now, find)
    was = timer.definition
    notify, call = was.notify, masked(was.notify)
    if asked.call is not None:
        call = changed_call(asked.call, notify)
        _check_way_out(call, was.app)
        notify = seals.changed(call, was, _check)
    edited = replace(
        timer,
        definition=was._replace(schedule=schedule.schedule, notify=notify),
        name=timer.name if asked.name is None else asked.name,
        ending=schedule.ending,
    )
    return _fitting(edited.with_values(_values(asked.fields, timer.value_of)), call, was)


def replaced_timer(asked: AskedTimer, timer: Timer, now: int, find: FindCalendar, seals: Seals) -> Timer:
    """Return the timer with all its terms replaced, its secrets sealed; raises `InvalidInput`, `UnopenedSecrets`.

    `***` stands for the secret that the timer has there.
    """
    schedule = replaced_schedule(asked.schedule, timer, now, find)
    was = timer.definition
    _check_way_out(asked.call, was.app)
    notify = seals.changed(asked.call, was, _check)
    replaced = replace(
        timer, definition=was._replace(schedule=schedule.schedule, notify=notify), ending=schedule.ending
    )
    return _fitting(replaced.with_values(_values(asked.fields, _default_of)), asked.call, was)


def _values(given: Mapping[str, Any], was: Callable[[TimerField[Any]], Any]) -> dict[str, Any]:
    """Return a timer's new values of all `FIELDS`, by name; raises `InvalidInput`."""
    return {field.name: field.read(given, was(field)) for field in FIELDS}


def _default_of(field: TimerField[Any]) -> Any:
    return field.default


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


def _fitting(timer: Timer, asked: Notify, was: Definition) -> Timer:
    """Return the timer if it can be stored, and its call, as asked for, can be made so; raises `InvalidInput`."""
    refuse_bad_form(asked, timer.definition.form)
    refuse_wide(terms(timer))
    refuse_longer(timer.definition.timeouts, was.timeouts)
    return timer
