"""Celery's schedules: their moments by Celery's own code, and the same schedules in v1.

`day_of_week` counts from 0, Sunday. Day of the month and day of the week both have to match.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from celery import Celery
from celery.schedules import ParseException, crontab

from wangtimer.cli.importing.entries import NotTaken, TheirMoments
from wangtimer.cli.importing.their_moments import ms_of

DAYS_OF_WEEK, DAYS_OF_MONTH = 7, 31
ONE_SECOND = timedelta(seconds=1)
# From this many consecutive values on, they are written as a range.
FEWEST_OF_RANGE = 3


@dataclass(slots=True)
class _Beat:
    """The clock that Celery's schedule reads."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def time(self) -> datetime:
        return self.now


def read_celery_crontab(fields: dict[str, Any], zone: str) -> tuple[dict[str, Any], TheirMoments]:
    """Return the schedule of v1 and the moments of a `crontab` with these arguments; raises `NotTaken`."""
    beat = _Beat()
    app = Celery("import", set_as_current=False)
    app.conf.timezone, app.conf.enable_utc = zone, True
    try:
        found = crontab(**fields, nowfun=beat.time, app=app)
    except (ValueError, TypeError, ParseException) as error:
        raise NotTaken(f"Celery does not read it: {error}") from None

    def moments(after_ms: int, count: int) -> list[int]:
        return _moments(found, beat, datetime.fromtimestamp(after_ms / 1_000, UTC), count)

    return {"cron": _cron_of(found), "timezone": zone}, moments


def _moments(schedule: Any, beat: _Beat, last: datetime, count: int) -> list[int]:
    """Return when beat finds it due, where beat runs it at each of these moments."""
    found: list[int] = []
    while len(found) < count:
        beat.now = last
        left = schedule.remaining_estimate(last)
        last += max(left, ONE_SECOND)
        if left > timedelta():
            found.append(ms_of(last))
    return found


def _cron_of(schedule: Any) -> str:
    """Return a crontab as an expression of the unix dialect; raises `NotTaken`."""
    of_month, of_week = schedule.day_of_month, schedule.day_of_week
    day, weekday = _field(of_month, 1, DAYS_OF_MONTH), _field(of_week, 0, DAYS_OF_WEEK - 1)
    if day != "*" and weekday != "*":
        day, weekday = "*", _weeks_of_month(of_month, of_week)
    minute, hour = _field(schedule.minute, 0, 59), _field(schedule.hour, 0, 23)
    return f"{minute} {hour} {day} {_field(schedule.month_of_year, 1, 12)} {weekday}"


def _weeks_of_month(of_month: Collection[int], of_week: Collection[int]) -> str:
    """Return weekdays within one of a month's first four weeks as `1#2`, the only both-of that cron can say."""
    week, odd_day = divmod(min(of_month) - 1, DAYS_OF_WEEK)
    first = week * DAYS_OF_WEEK + 1
    if odd_day or set(of_month) != set(range(first, first + DAYS_OF_WEEK)):
        raise NotTaken(
            "day of month and day of week both have to match in Celery, and cron can say that only for whole weeks "
            "of a month (1-7, 8-14, 15-21, 22-28): write one of the two, and let the called service check the other"
        )
    return ",".join(f"{day}#{week + 1}" for day in sorted(of_week))


def _field(values: Collection[int], low: int, high: int) -> str:
    """Return values as a field of a cron expression."""
    found = sorted(values)
    if len(found) == high - low + 1:
        return "*"
    steps = {later - earlier for earlier, later in pairwise(found)}
    if len(found) > 1 and len(steps) == 1 and found[0] == low and found[-1] + min(steps) > high:
        return f"*/{min(steps)}"
    return ",".join(_run_text(run) for run in _runs(found))


def _runs(values: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][-1] == value - 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return runs


def _run_text(run: list[int]) -> str:
    return f"{run[0]}-{run[-1]}" if len(run) >= FEWEST_OF_RANGE else ",".join(map(str, run))
