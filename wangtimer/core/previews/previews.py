"""The preview of a schedule: its next moments, its description in words, and what may surprise."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import lru_cache

from wangtimer.core.cron.cron import END_MS
from wangtimer.core.kinds.kinds import describe
from wangtimer.core.previews.warnings import warnings_of
from wangtimer.core.schedules.schedule import Schedule
from wangtimer.core.time.zones import DAY_MS, read_zone
from wangtimer.core.words.warning import Warning
from wangtimer.core.words.words import Language


@dataclass(frozen=True, slots=True)
class Preview:
    """Moments (ms UTC), the `zone` in which to show them, the schedule in words, and what may surprise."""

    moments: tuple[int, ...]
    zone: tzinfo
    words: Mapping[Language, str]
    warnings: tuple[Warning, ...] = ()


def preview_of(schedule: Schedule, now: int, count: int) -> Preview:
    """Return a preview of at most `count` moments after `now` (ms UTC); a single moment is shown even if it is past.

    InvalidSchedule if a cron expression cannot be read.
    """
    if schedule.only_moment is not None:
        # Not cached: hardly two are equal.
        return Preview((schedule.only_moment,), UTC, _describe(schedule))
    moments = tuple(schedule.moments(now, END_MS, count))
    # Warnings take ms to find and change only from day to day, so they are cached. That no moment is left may change at
    # any moment.
    warnings = (
        _warnings_of_day(schedule, now // DAY_MS, moments[-1] // DAY_MS)
        if moments
        else warnings_of(schedule, now)
    )
    return Preview(moments, read_zone(schedule.timezone), _words(schedule), warnings)


def _describe(schedule: Schedule) -> Mapping[Language, str]:
    return {language: describe(schedule, language) for language in Language}


@lru_cache(maxsize=4_096)
def _words(schedule: Schedule) -> Mapping[Language, str]:
    return _describe(schedule)


@lru_cache(maxsize=4_096)
def _warnings_of_day(schedule: Schedule, day: int, last_day: int) -> tuple[Warning, ...]:
    return warnings_of(schedule, day * DAY_MS, (last_day + 1) * DAY_MS)
