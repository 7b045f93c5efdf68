"""From the `cron`, `at` or `delayMs` of a request to a schedule."""

from typing import Any

from wangtimer.api.codes import ErrorCode
from wangtimer.api.refusals import Refused, shown
from wangtimer.api.request_models import CreateTimer
from wangtimer.api.rfc3339 import read_moment
from wangtimer.core.cron import END_MS, Cron
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.schedule import Once, Schedule
from wangtimer.core.zones import zone_names

# Whole numbers below this are moments of before 1973 in ms, and of up to the year 5138 in seconds.
LOOKS_LIKE_SECONDS = 10**11


def schedule_of(asked: CreateTimer, now: int) -> Schedule:
    """Return the schedule a new timer asks for; `now` (ms UTC) is when it is created.

    Raises `InvalidInput` where not exactly one is given, or it cannot be read or never fires.
    """
    given = [asked.cron is not None, asked.at is not None, asked.delay_ms is not None]
    if sum(given) != 1:
        raise _bad("cron", f"{sum(given)} of cron, at and delayMs are given", "give exactly one of them")
    timezone = "UTC" if asked.timezone is None else asked.timezone
    if asked.cron is not None:
        return Cron.parse(asked.cron, timezone, now)
    if timezone not in zone_names():
        raise InvalidSchedule("timezone", f"{shown(timezone)} is not an IANA time zone", "leave it out")
    return Once(_delayed(asked.delay_ms, now) if asked.delay_ms is not None else _moment(asked.at))


def _delayed(delay_ms: int, now: int) -> int:
    if not 0 <= delay_ms < END_MS - now:
        raise _bad(
            "delayMs", f"{str(delay_ms)[:30]} ms lead out of the years 1970 to 2199", "write 0 or more"
        )
    return now + delay_ms


def _moment(at: Any) -> int:
    if isinstance(at, str):
        return _within_range(_read(at))
    if not isinstance(at, int) or isinstance(at, bool):
        raise Refused(
            ErrorCode.WRONG_TYPE, "at", "wrong type", "write text in RFC 3339, or a whole number of ms"
        )
    if 0 <= at < LOOKS_LIKE_SECONDS:
        raise _bad("at", f"{at} ms is a moment of before 1973", "write milliseconds since 1970, not seconds")
    return _within_range(at)


def _read(text: str) -> int:
    try:
        return read_moment(text)
    except ValueError:
        raise _bad(
            "at",
            f"{shown(text)} is not a moment in RFC 3339 with its offset",
            "write it as in 2026-11-20T18:16:51.123Z",
        ) from None


def _within_range(moment: int) -> int:
    if not 0 <= moment < END_MS:
        raise _bad("at", "it lies outside the years 1970 to 2199", "write a moment to come")
    return moment


def _bad(field: str, reason: str, mend: str) -> Refused:
    return Refused(ErrorCode.BAD_SCHEDULE, field, reason, mend)
