"""Moments as callers write them: RFC 3339, or ms since 1970."""

import re
from typing import Any

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.core.cron.cron import END_MS
from wangtimer.core.time.rfc3339 import read_moment

# A time, and an offset whose + has become a space.
_LOST_PLUS = re.compile(r"\d\d:\d\d(?:\.\d+)? \d\d:\d\d\Z", re.ASCII)
# Whole numbers below this are moments before 1973 in ms, or up to the year 5138 in seconds.
LOOKS_LIKE_SECONDS = 10**11


def read_range(since: Any, until: Any) -> tuple[int | None, int | None]:
    """Return both ends of a range in ms UTC, None for an absent one; raises `Refused`, also for a reversed range."""
    first = None if since is None else read_moment_field(since, "since")
    last = None if until is None else read_moment_field(until, "until")
    if first is not None and last is not None and first > last:
        raise Refused(ErrorCode.BAD_VALUE, "since", "it is after until", "write an earlier moment")
    return first, last


def read_moment_field(given: Any, field: str) -> int:
    """Return a moment in ms UTC; raises `Refused`, naming the field."""
    if isinstance(given, str):
        return _within_range(_read_text(given, field), field)
    if not isinstance(given, int) or isinstance(given, bool):
        raise Refused(
            ErrorCode.WRONG_TYPE, field, "wrong type", "write text in RFC 3339, or a whole number of ms"
        )
    if 0 <= given < LOOKS_LIKE_SECONDS:
        raise _bad(field, f"{given} ms is a moment before 1973", "write milliseconds since 1970, not seconds")
    return _within_range(given, field)


def _read_text(text: str, field: str) -> int:
    try:
        return read_moment(text)
    except ValueError:
        mend = (
            "in a URL a + stands for a space: write + as %2B, or use Z"
            if _LOST_PLUS.search(text)
            else "write it as in 2026-11-20T18:16:51.123Z"
        )
        raise _bad(field, f"{shown(text)} is not a moment in RFC 3339 with its offset", mend) from None


def _within_range(moment: int, field: str) -> int:
    if not 0 <= moment < END_MS:
        raise _bad(field, "it lies outside the years 1970 to 2199", "write one within them")
    return moment


def _bad(field: str, reason: str, mend: str) -> Refused:
    return Refused(ErrorCode.BAD_SCHEDULE, field, reason, mend)
