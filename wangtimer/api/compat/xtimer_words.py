"""xTimer's names for what a timer of `/v1` has, in errors and warnings."""

import re
from collections.abc import Mapping
from dataclasses import replace

from flask import Response

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.failures import Fault, in_envelope
from wangtimer.api.http.refusals import AsWritten

# By the place in a timer of `/v1`. What has another name here stands before what it is part of.
_NAMES: Mapping[str, str] = {
    "key": "name",
    "schedule.every": "everyMs",
    "schedule.delay": "delayMs",
    "schedule.dialect": "cronDialect",
    "schedule.jitter": "jitterMs",
    "schedule": "",
    "misfire.policy": "misfire",
    "misfire.grace": "misfireGraceMs",
    "misfire.catchupWindow": "catchupWindowMs",
    "target.url": "notifyHTTPParam.url",
    "target.method": "notifyHTTPParam.method",
    "target.headers": "notifyHTTPParam.header",
    "target.body": "notifyHTTPParam.body",
    "target.templates": "templates",
}
_FIELD = re.compile(rf"({'|'.join(map(re.escape, _NAMES))})(?:\.|\Z)")
_WORDS = {"every": "everyMs", "delay": "delayMs", "dialect": "cronDialect"}
# Where texts about schedules name one of these fields; they are plain words too. What callers wrote, in quotes, stays.
_WORD = re.compile(
    r"(?<!\w)'[^']*'|\bevery(?=,|\Z| and everyDays| or everyDays)|\bdelay(?= (?:and \w+ )?are given)|"
    r'(?<=")dialect(?=")|\bdialect(?= quartz if| 为)'
)


def tell_in_xtimers_words(fault: Fault) -> Response:
    """Return the envelope that tells of a fault, with xTimer's name of its field."""
    if not isinstance(fault.cause, AsWritten):
        fault = replace(fault, field=xtimers_name(fault.field))
    if fault.code is ErrorCode.BAD_SCHEDULE:
        fault = replace(fault, text=in_xtimers_words(fault.text))
    return in_envelope(fault)


def xtimers_name(place: str) -> str:
    """Return the dotted name of what stands at a place in a timer of `/v1`."""
    found = _FIELD.match(place)
    if found is None:
        return place
    return f"{_NAMES[found[1]]}.{place[found.end() :]}".strip(".")


def in_xtimers_words(text: str) -> str:
    """Return a text about a schedule with the names that its fields have here, as in `everyMs` for `every`."""
    return _WORD.sub(lambda found: _WORDS.get(found[0], found[0]), text)
