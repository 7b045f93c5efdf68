"""Previews of schedules as the compatible paths show them."""

from collections.abc import Iterable
from typing import Any

from wangtimer.api.asked.terms import ScheduleFields
from wangtimer.api.compat.answers import Moment, WarningData, Words
from wangtimer.core.kinds.clock_warnings import warnings_of_moment
from wangtimer.core.previews.previews import preview_of
from wangtimer.core.schedules.schedule import Schedule
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.words.warning import Warning
from wangtimer.core.words.words import Language


def preview(schedule: Schedule, now: int, count: int, asked: ScheduleFields) -> dict[str, Any]:
    """Return the fields of a `Preview`: the next `count` moments after `now` (ms UTC), words and warnings.

    `asked` is the request's schedule.
    """
    of_moment = warnings_of_moment(vars(asked).get("at"), asked.timezone)
    found = preview_of(schedule, now, count)
    return {
        "next_moments": [
            Moment(at=show_moment(moment, found.zone), at_ms=moment, utc=show_moment(moment))
            for moment in found.moments
        ],
        "words": Words(en=found.words[Language.EN], zh=found.words[Language.ZH]),
        "warnings": shown_warnings((*found.warnings, *of_moment)),
    }


def shown_warnings(found: Iterable[Warning]) -> list[WarningData]:
    """Return warnings as answers show them."""
    return [WarningData(code=one.code, text=one.text, text_zh=one.text_zh) for one in found]
