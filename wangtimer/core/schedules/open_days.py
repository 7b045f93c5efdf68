"""Finds the next open day on which a rule may fire: it steps by days, however often the rule fires."""

from datetime import date

from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.time.zones import DAY_S, Stretch, stretches_from
from wangtimer.core.work_budget import refuse_more

DAY_ZERO = date(1970, 1, 1).toordinal()


def next_open(rule: Rule, excluded: Calendar, closed_ms: int, until_ms: int) -> int | None:
    """Return the moment from which to ask the rule again, after `closed_ms`, a moment on an excluded day.

    Between the two the rule has no moment on an open day; None means that it has none up to `until_ms`. All moments are
    ms since epoch. Each stretch of constant offset is searched by itself, because a clock change may lead back to the
    day before.
    """
    from_s, until_s = closed_ms // 1_000, until_ms // 1_000
    for stretch in stretches_from(rule.timezone, from_s):
        from_s = max(from_s, stretch.start_s)
        if from_s > until_s:
            return None
        last = _day_of(min(stretch.end_s - 1, until_s), stretch)
        day = _first_common_day(rule, excluded, stretch, _day_of(from_s, stretch), last)
        if day is not None:
            return max(from_s, day * DAY_S - stretch.offset_s) * 1_000
        from_s = stretch.end_s
    return None


def _first_common_day(rule: Rule, excluded: Calendar, stretch: Stretch, first: int, last: int) -> int | None:
    """Return the first day from `first` to `last` that is open and may have a moment; None if there is none."""
    day: int | None = first
    while day is not None and day <= last:
        open_day = excluded.next_open_day(DAY_ZERO + day) - DAY_ZERO
        if open_day > last:
            return None
        day = rule.next_day(open_day, stretch)
        if day == open_day:
            return day
        refuse_more()
    return None


def _day_of(second: int, stretch: Stretch) -> int:
    return (second + stretch.offset_s) // DAY_S
