"""What a schedule comes to: its next moments, in words, and what may surprise about it."""

from datetime import UTC, tzinfo
from functools import lru_cache
from typing import Any

from wangtimer.api.answers import Moment, WarningData, Words
from wangtimer.core.cron import END_MS
from wangtimer.core.moment_text import show_moment
from wangtimer.core.schedule import Once, Schedule
from wangtimer.core.warnings import warnings_of
from wangtimer.core.words import Language, describe
from wangtimer.core.zones import DAY_S, read_zone

DAY_MS = DAY_S * 1_000


def preview(schedule: Schedule, now: int, count: int) -> dict[str, Any]:
    """Return the fields of a `Preview`: the next `count` moments after `now` (ms UTC), words and warnings."""
    if isinstance(schedule, Once):
        # Hardly two are alike.
        return {"next_moments": [_moment(schedule.at_ms, UTC)], "words": _describe(schedule), "warnings": []}
    zone = read_zone(schedule.timezone)
    moments = [_moment(moment, zone) for moment in schedule.moments(now, END_MS, count)]
    # What may surprise takes ms to find out, and changes from day to day; that nothing is left, at any moment.
    warnings = (
        _warnings_of_day(schedule, now // DAY_MS, moments[-1].at_ms // DAY_MS)
        if moments
        else _warnings(schedule, now)
    )
    return {"next_moments": moments, "words": _words(schedule), "warnings": warnings}


def _moment(moment_ms: int, zone: tzinfo) -> Moment:
    return Moment(at=show_moment(moment_ms, zone), at_ms=moment_ms, utc=show_moment(moment_ms))


def _describe(schedule: Schedule) -> Words:
    return Words(en=describe(schedule, Language.EN), zh=describe(schedule, Language.ZH))


def _warnings(schedule: Schedule, now: int, shown_until: int = 0) -> list[WarningData]:
    found = warnings_of(schedule, now, shown_until)
    return [WarningData(code=one.code, text=one.text, text_zh=one.text_zh) for one in found]


@lru_cache(maxsize=4_096)
def _words(schedule: Schedule) -> Words:
    return _describe(schedule)


@lru_cache(maxsize=4_096)
def _warnings_of_day(schedule: Schedule, day: int, last_day: int) -> list[WarningData]:
    return _warnings(schedule, day * DAY_MS, (last_day + 1) * DAY_MS)
