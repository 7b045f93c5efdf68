"""Moments as callers write them: RFC 3339, or ms since 1970."""

import re
from typing import Any

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused, bad_schedule, bad_value, shown
from wangtimer.core.cron.cron import END_MS
from wangtimer.core.time.rfc3339 import read_moment

# A time, and an offset whose + has become a space.
_LOST_PLUS = re.compile(r"\d\d:\d\d(?:\.\d+)? \d\d:\d\d\Z", re.ASCII)
_NUMBER = re.compile(r"\d{9,14}", re.ASCII)
# A moment in ISO 8601 or nearly: date, hours and minutes, seconds, offset.
_PARTS = re.compile(
    r"(\d{4}-\d\d-\d\d)?(?:[Tt ]|(?=\Z))(?:(\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)? ?([Zz]|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
NO_MOMENT = "is not a moment in RFC 3339 with its offset"
EXAMPLE = "2030-12-31T09:00:00+08:00"
# Whole numbers below this are moments before 1973 in ms, or up to the year 5138 in seconds.
LOOKS_LIKE_SECONDS = 10**11


def read_range(since: Any, until: Any) -> tuple[int | None, int | None]:
    """Return both ends of a range in ms UTC, None for an absent one; raises `Refused`, also for a reversed range."""
    first = None if since is None else read_moment_field(since, "since")
    last = None if until is None else read_moment_field(until, "until")
    if first is not None and last is not None and first > last:
        raise bad_value("since", "it is after until", "write an earlier moment")
    return first, last


def read_moment_field(given: Any, field: str, timezone: str | None = None) -> int:
    """Return a moment in ms UTC; raises `Refused`. Without an offset it is of `timezone`; "": the request has none."""
    if isinstance(given, str):
        return _within_range(_read_text(given, field, timezone), field)
    if not isinstance(given, int) or isinstance(given, bool):
        raise Refused(
            ErrorCode.WRONG_TYPE, field, "wrong type", "write text in RFC 3339, or a whole number of ms"
        )
    if 0 <= given < LOOKS_LIKE_SECONDS:
        raise bad_schedule(
            field, f"{given} ms is a moment before 1973", "write milliseconds since 1970, not seconds"
        )
    return _within_range(given, field)


def _read_text(text: str, field: str, timezone: str | None) -> int:
    try:
        return read_moment(text, timezone or "")
    except ValueError:
        reason, mend, meant = _fault_of(text, timezone)
        raise bad_schedule(field, f"{shown(text)} {reason}", mend, meant) from None


def _fault_of(text: str, timezone: str | None) -> tuple[str, str, str | None]:
    """Return what is wrong with a text that is not a moment, what to write, and the moment that was meant."""
    if _LOST_PLUS.search(text):
        return NO_MOMENT, "in a URL a + stands for a space: write + as %2B, or use Z", None
    if _NUMBER.fullmatch(text):
        meant = text if len(text) > len(str(LOOKS_LIKE_SECONDS)) else f"{text}000"
        return "is a number in quotes", f"write ms since 1970 without quotes, as in {meant}", None
    found = _PARTS.fullmatch(text.strip())
    if found is None:
        return NO_MOMENT, f"write it as in {EXAMPLE}", None
    date, time, seconds, offset = found.groups()
    if date is None:
        return "has no date", f"write it as in {EXAMPLE}", None
    if time is None:
        return "has no time of day", f"add it with its offset, as in {date}T09:00:00+08:00", None
    if offset is None and not timezone:
        mend = f"add its offset from UTC, as in {date}T{time}{seconds or ':00'}+08:00, or Z for UTC"
        return "has no offset", mend if timezone is None else f"give timezone beside it, or {mend}", None
    right = ""
    if offset is not None:
        right = "Z" if offset in "Zz" else f"{offset[:3]}:{offset[3:].lstrip(':') or '00'}"
    meant = f"{date}T{time}{seconds or ':00'}{right}"
    try:
        read_moment(meant, timezone or "")
    except ValueError:
        return "has a day, a time or an offset that there is not", f"write it as in {EXAMPLE}", None
    return "has no seconds" if seconds is None else "has its offset in another form", f"write {meant}", meant


def _within_range(moment: int, field: str) -> int:
    if not 0 <= moment < END_MS:
        raise bad_schedule(field, "it lies outside the years 1970 to 2199", "write one within them")
    return moment
