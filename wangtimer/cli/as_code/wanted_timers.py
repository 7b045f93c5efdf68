"""The timers that files ask for, read by the API's own rules: what the service would make of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import orjson

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.reading import MOST_BODY_BYTES, read_model, read_object
from wangtimer.api.http.refusals import Refused, bad_schedule, missing_field, shown
from wangtimer.api.timer_terms.schedule_reading import FindCalendar
from wangtimer.api.timer_terms.timer_reading import new_timer
from wangtimer.api.v1.timers.timer_answers import ShownTimer, timer_fields
from wangtimer.api.v1.timers.timer_models import NewTimerBody
from wangtimer.cli.as_code.timer_files import BadFiles, Fault, TimerInFile
from wangtimer.client import NewTimer, TimerBody
from wangtimer.core.errors import InvalidInput
from wangtimer.core.numbers_as_written import json_bytes, json_text
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.schedules.schedule import Schedule
from wangtimer.core.timers.fields import FIELDS
from wangtimer.core.timers.secret_parts import has_open_secrets
from wangtimer.core.timers.timer import Definition, Timer, TimerStatus
from wangtimer.core.timers.timer import NewTimer as TimerToMake

# Every schedule has moments after it.
LONG_AGO = 0


@dataclass(frozen=True, slots=True)
class WantedTimer:
    """A timer that is to be: `document` is the body of a request for it, `shown` is what an answer shows of it then.

    `schedule` has its moments, an ending being counted from `now`. `is_over`: it has no moment left. `has_secrets`: its
    call has secrets, written out and not as `***`.
    """

    key: str
    document: NewTimer
    shown: Mapping[str, Any]
    schedule: Schedule
    is_over: bool
    has_secrets: bool

    @property
    def body(self) -> TimerBody:
        """The body of a request that changes the timer of this key."""
        return cast(TimerBody, {name: value for name, value in self.document.items() if name != "key"})


def read_wanted(document: Any, app: str, now: int, find_calendar: FindCalendar) -> WantedTimer:
    """Return the timer that a document of v1 (POST /v1/timers) asks for at `now` (ms UTC).

    Raises `InvalidInput`, its field by the name it has in the document. Beside what the service refuses, a file may not
    leave out `key`, and may not have what counts anew from each request: `delay`, and `maxFirings` without `startAt`.
    """
    document = _as_sent(document)
    body: NewTimerBody = read_model(NewTimerBody, document)
    _refuse_unrepeatable(body)
    new, is_over = _new_timer(body, app, now, find_calendar)
    timer = _timer_of(new, body.enabled, now)
    fields = ShownTimer.of(**timer_fields(timer, now)).model_dump(mode="json", by_alias=True)
    schedule = replace(new.ending, counted_from=now).applied_to(new.schedule)
    has_secrets = has_open_secrets(new.notify)
    document = cast(NewTimer, _with_its_digits(document))
    return WantedTimer(new.name, document, fields, schedule, is_over, has_secrets)


def any_calendar(name: str) -> Calendar:
    """Return a calendar by its name, one without days where it is none that is always there."""
    return built_in().get(name) or Calendar(name)


def one_of(names: frozenset[str]) -> FindCalendar:
    """Return what finds calendars of these names, beside those that are always there."""

    def find(name: str) -> Calendar:
        if name in names or name in built_in():
            return any_calendar(name)
        raise bad_schedule(
            "schedule.excludeCalendar",
            f"there is no calendar {shown(name)}",
            f"name one of {', '.join(sorted({*built_in(), *names}))}, or upload it first",
        )

    return find


def _as_sent(document: Any) -> dict[str, Any]:
    """Return a document as the service reads it from a request; raises `InvalidInput` for what it cannot read."""
    try:
        raw = json_bytes(document, orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        reason, mend = "it is nested too deep", "nest it less"
        if "UTF-8" in str(error):
            reason, mend = "a text is not Unicode", "escape no half of a sign"
        raise Refused(ErrorCode.BROKEN_JSON, "", reason, mend) from None
    if len(raw) > MOST_BODY_BYTES:
        raise Refused(ErrorCode.BODY_TOO_LARGE, "", "this timer is over 64 KiB", "shorten it")
    return read_object(raw)


def _with_its_digits(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the JSON of its call as text, as the service stores it: the client writes no digits."""
    target = document["target"]
    if target.get("json") is None:
        return document
    body, given = json_text(target["json"]), target.get("headers") or {}
    has_type = any(name.lower() == "content-type" for name in given)
    headers = given if has_type else {**given, "Content-Type": "application/json"}
    kept = {name: value for name, value in target.items() if name != "json"}
    return {**document, "target": {**kept, "headers": headers, "body": body}}


def _refuse_unrepeatable(body: NewTimerBody) -> None:
    if body.key is None:
        mend = "give each timer a key of your own: a file is applied by it"
        raise missing_field("key", "missing", mend)
    if body.schedule.given().get("delay_ms") is not None:
        mend = "write the moment itself, as in at: 2027-01-01T08:00:00+08:00"
        reason = "a delay counts from each request, and a file is applied again and again"
        raise bad_schedule("schedule.delay", reason, mend)
    schedule = body.schedule
    if schedule.max_firings is not None and schedule.start_at is None:
        mend = "add startAt, as in startAt: 2027-01-01T08:00:00+08:00: they are counted from there"
        reason = "once they are over and the timer is deleted, the next run would make it again"
        raise bad_schedule("schedule.maxFirings", reason, mend)


def _new_timer(
    body: NewTimerBody, app: str, now: int, find_calendar: FindCalendar
) -> tuple[TimerToMake, bool]:
    """Return the timer, and whether it has no moment left: one that had some is no mistake in a file."""
    terms = body.asked(str(body.key))
    try:
        new = new_timer(app, terms, now, find_calendar)
    except InvalidInput:
        return new_timer(app, terms, LONG_AGO, find_calendar), True
    return new, new.schedule.first_after(now) is None


def _timer_of(new: TimerToMake, is_enabled: bool, now: int) -> Timer:
    status = TimerStatus.ENABLED if is_enabled else TimerStatus.DISABLED
    definition = Definition(1, new.app, 1, status, new.schedule, new.notify)
    timer = Timer(definition, new.name, now, None, now, now, new.ending)
    return timer.with_values({field.name: new.value_of(field) for field in FIELDS})


# What marks a timer that `apply` made, with the name of its set behind it.
SET = "set="


@dataclass(frozen=True, slots=True)
class Wanted:
    """A timer of a file, and where it stands."""

    timer: WantedTimer
    written: TimerInFile

    @property
    def place(self) -> str:
        """The file and line."""
        return f"{self.written.file}:{self.written.line}"


def read_wanted_set(
    written: Sequence[TimerInFile], app: str, set_name: str | None, now: int, find_calendar: FindCalendar
) -> list[Wanted]:
    """Return what the timers of files ask for at `now` (ms UTC), each marked with its set; raises `BadFiles`."""
    faults: list[Fault] = []
    found: dict[str, Wanted] = {}
    for source in written:
        try:
            _refuse_set_tag(source.document)
            timer = read_wanted(_marked(source.document, set_name), app, now, find_calendar)
        except InvalidInput as error:
            meant = "" if error.meant is None or error.meant in str(error) else f"; meant: {error.meant}"
            faults.append(Fault(source.file, source.line_of(error.field), source.key, f"{error}{meant}"))
            continue
        if earlier := found.get(timer.key):
            faults.append(
                Fault(
                    source.file, source.line, timer.key, f"the key is given twice, first at {earlier.place}"
                )
            )
        found.setdefault(timer.key, Wanted(timer, source))
    if faults:
        raise BadFiles(faults)
    return list(found.values())


def own_calendars(written: Sequence[TimerInFile]) -> set[str]:
    """Return the names of calendars that timers of files name, and that are not always there."""
    schedules = [timer.document.get("schedule") for timer in written if isinstance(timer.document, dict)]
    names = {schedule.get("excludeCalendar") for schedule in schedules if isinstance(schedule, dict)}
    return {name for name in names if isinstance(name, str)} - built_in().keys()


def set_of(tags: Sequence[str]) -> str | None:
    """Return the set that marked a timer; None where none did."""
    return next((tag.removeprefix(SET) for tag in tags if tag.startswith(SET)), None)


def _marked(document: Any, set_name: str | None) -> Any:
    if set_name is None or not isinstance(document, dict):
        return document
    tags = document.get("tags") or []
    return document | {"tags": [*tags, SET + set_name]} if isinstance(tags, list) else document


def _refuse_set_tag(document: Any) -> None:
    tags = document.get("tags") if isinstance(document, dict) else None
    if isinstance(tags, list) and any(isinstance(tag, str) and tag.startswith(SET) for tag in tags):
        raise InvalidInput(
            "tags", f"a tag begins with {SET}", "leave it out: --set NAME gives it to each timer"
        )
