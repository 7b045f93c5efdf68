"""What a schedule comes to: its next moments, in words, and what may surprise about it."""

from functools import lru_cache
from typing import Any

from wangtimer.api.answers import Moment, WarningData, Words
from wangtimer.api.rfc3339 import show_moment
from wangtimer.core.cron import END_MS
from wangtimer.core.schedule import Once, Schedule
from wangtimer.core.warnings import warnings_of
from wangtimer.core.words import Language, describe
from wangtimer.core.zones import DAY_S, read_zone

DAY_MS = DAY_S * 1_000


def preview(schedule: Schedule, now: int, count: int) -> dict[str, Any]:
    """Return the fields of a `Preview`: the next `count` moments after `now` (ms UTC), words and warnings."""
    if isinstance(schedule, Once):
        moments = [
            Moment(at=show_moment(schedule.at_ms), at_ms=schedule.at_ms, utc=show_moment(schedule.at_ms))
        ]
        return {"next_moments": moments, "words": _words.__wrapped__(schedule), "warnings": []}
    zone = read_zone(schedule.timezone)
    moments = [
        Moment(at=show_moment(moment, zone), at_ms=moment, utc=show_moment(moment))
        for moment in schedule.moments(now, END_MS, count)
    ]
    # What may surprise changes with the days, and takes ms to find out.
    return {
        "next_moments": moments,
        "words": _words(schedule),
        "warnings": _warnings(schedule, now // DAY_MS)
        if moments
        else _warnings.__wrapped__(schedule, now / DAY_MS),
    }


@lru_cache(maxsize=4_096)
def _words(schedule: Schedule) -> Words:
    return Words(en=describe(schedule, Language.EN), zh=describe(schedule, Language.ZH))


@lru_cache(maxsize=4_096)
def _warnings(schedule: Schedule, day: float) -> list[WarningData]:
    found = warnings_of(schedule, int(day * DAY_MS))
    return [WarningData(code=one.code, text=one.text, text_zh=one.text_zh) for one in found]
