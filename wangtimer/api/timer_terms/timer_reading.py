"""Reads the timer that a request asks for, its call and how long that may take.

No time-out may be longer than the operator allows: a call that hangs holds a connection.
"""

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from flask import has_app_context

from wangtimer.api.http.allowed_targets import check_way_out
from wangtimer.api.http.notify_rules import (
    HeaderChanges,
    check_headers,
    check_path,
    check_same_place,
    check_url,
)
from wangtimer.api.http.refusals import bad_callback, bad_value
from wangtimer.api.http.request_context import settings_in_use
from wangtimer.api.timer_terms.schedule_reading import (
    FindCalendar,
    edited_schedule,
    replaced_schedule,
    schedule_of,
)
from wangtimer.core.errors import InvalidInput
from wangtimer.core.time.durations import show_duration
from wangtimer.core.timers.call_options import AS_DEPLOYED, UNTOUCHED, CallForm, Timeouts
from wangtimer.core.timers.field import TimerField
from wangtimer.core.timers.fields import FIELDS
from wangtimer.core.timers.secret_parts import MASK, masked
from wangtimer.core.timers.templates import refuse_bad_placeholders
from wangtimer.core.timers.timer import Definition, NewTimer, Notify, SecretMarks, Timer
from wangtimer.store.seals import Seals
from wangtimer.store.sql.timer_rows import refuse_wide, terms


def refuse_bad_form(call: Notify, form: CallForm, *, may_have_seq: bool | None = None) -> None:
    """Raise `InvalidInput` where a call cannot be written so. `may_have_seq`: `{{seq}}` may stand in it."""
    if form == UNTOUCHED:
        return
    if form.body_is_base64 and call.body != MASK:
        _refuse_no_base64(call.body)
    if form.templates:
        asked = call._replace(body="") if form.body_is_base64 else call
        refuse_bad_placeholders(asked, may_have_seq=form.numbered if may_have_seq is None else may_have_seq)


def _refuse_no_base64(body: str) -> None:
    try:
        b64decode(body, validate=True)
    except ValueError as error:
        reason = f"it is no Base64 ({str(error)[:80]}), and bodyIsBase64 is true"
        mend = "give body (not json) by RFC 4648, with padding, or leave bodyIsBase64 out"
        raise InvalidInput("target.body", reason, mend) from None


# In the order of `Timeouts`, the first three of them.
CALL_FIELDS = ("target.timeout", "target.connectTimeout", "target.firstByteTimeout")
ACK_FIELD = "target.ackTimeout"


def refuse_longer(given: Timeouts, was: Timeouts = AS_DEPLOYED) -> None:
    """Raise `Refused` for a time-out that is longer than this deployment allows.

    One that was there before stays, although the deployment may allow less since. A file of timers is checked without a
    deployment, and so without its settings.
    """
    if given == AS_DEPLOYED or not has_app_context():
        return
    settings = settings_in_use()
    most_ms = settings.callback_longest_timeout_ms
    if given.ack_ms is not None and given.ack_ms != was.ack_ms and not settings.secret_key_ring:
        raise bad_value(
            ACK_FIELD,
            "this deployment has no key, by which targets could say that they are done",
            "let its operator set WANGTIMER_SECRET_KEYS_FILE (`wangtimer secrets key` makes a key)",
        )
    # While a target works on what it has accepted, no connection is held.
    for field, timeout_ms, before in zip(CALL_FIELDS, given, was, strict=False):
        if timeout_ms is None or timeout_ms <= most_ms or timeout_ms == before:
            continue
        most = show_duration(most_ms)
        raise bad_value(
            field,
            f"it is {show_duration(timeout_ms)}, and this deployment allows {most} "
            "(WANGTIMER_CALLBACK_LONGEST_TIMEOUT_MS)",
            f"write {most} or less, or leave it out",
        )


_Headers = tuple[tuple[str, str], ...]


def changed_call(given: Mapping[str, Any], was: Notify) -> Notify:
    """Return the call as it is shown, `***` in place of each secret, with the changes merged in (RFC 7396).

    `given` has values by the names in `Notify`, its marks as `secret_headers`, `secret_query` and `secret_body`, and as
    `path` what is to stand behind the URL of the target; None stands for null. Raises `Refused`.
    """
    call = masked(was)
    target, url = _changed_place(given, call)
    method = (given["method"] or "") if "method" in given else call.method
    return Notify(
        url,
        # Only a target has one of its own.
        method or ("" if target else "POST"),
        _merged(call.headers, given["headers"]) if "headers" in given else call.headers,
        (given["body"] or "") if "body" in given else call.body,
        _changed_marks(given, call.marks),
        target=target,
    )


def _changed_place(given: Mapping[str, Any], was: Notify) -> tuple[str, str]:
    """Return the target and the URL of the changed call; raises `Refused`."""
    if given.get("url") is not None:
        return "", given["url"]
    target = given.get("target") or was.target
    if "path" not in given:
        return target, was.url if target == was.target or was.target else ""
    if not target:
        raise bad_callback(
            "target.path", "the timer has a URL of its own", "change url, or name a target too"
        )
    return target, given["path"] or ""


def _changed_marks(given: Mapping[str, Any], was: SecretMarks) -> SecretMarks:
    return SecretMarks(
        tuple(given["secret_headers"] or ()) if "secret_headers" in given else was.headers,
        bool(given.get("secret_query", was.query)),
        bool(given.get("secret_body", was.body)),
    )


def _merged(held: _Headers, changes: HeaderChanges | None) -> _Headers:
    """Return the headers after the changes. A changed header keeps its place."""
    if changes is None:
        return ()
    headers = tuple(_replaced(held, _by_name(changes)))
    check_headers(headers)
    return headers


def _by_name(changes: HeaderChanges) -> dict[str, _Headers]:
    """Return the new values of each changed header, by its name in lower case; raises `Refused`."""
    wanted: dict[str, _Headers] = {}
    for name, values in changes:
        before = wanted.get(name.lower())
        if before is not None and not (before and values):
            raise bad_callback(
                f"target.headers.{name[:64]}",
                "one spelling of it is null, another has a value",
                "give it once: upper and lower case name the same header",
            )
        wanted[name.lower()] = (before or ()) + tuple((name, value) for value in values)
    return wanted


def _replaced(held: _Headers, wanted: dict[str, _Headers]) -> Iterator[tuple[str, str]]:
    left = dict(wanted)
    for name, value in held:
        if name.lower() in wanted:
            yield from left.pop(name.lower(), ())
        else:
            yield name, value
    for headers in left.values():
        yield from headers


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
    """Return the timer with all terms replaced, `***` its secret. Raises `InvalidInput`, `UnopenedSecrets`."""
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
