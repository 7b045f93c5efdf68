"""Reads a Quartz cron expression as Quartz and the copies of its reader (XXL-JOB) do.

Source: the CronTrigger tutorial; where that says nothing, the behaviour of Quartz 2.3.2, which made
tests/cli/importing/quartz_moments.txt. Weekdays are 1 to 7 from SUNDAY, and exactly one of day and weekday is `?`. A
time that the clock skips in spring does not run that day. In a repeated hour only the second pass runs.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from wangtimer.cli.importing.entries import NotTaken
from wangtimer.cli.importing.their_moments import WallSchedule, last_pass_of

FIELDS = ("seconds", "minutes", "hours", "day of month", "month", "day of week", "year")
BOUNDS = {
    "seconds": (0, 59),
    "minutes": (0, 59),
    "hours": (0, 23),
    "day of month": (1, 31),
    "month": (1, 12),
    "day of week": (1, 7),
    "year": (1970, 2099),
}
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
NAMES = {
    "month": {name: number for number, name in enumerate(MONTHS, 1)},
    "day of week": {name: number for number, name in enumerate(WEEKDAYS, 1)},
}
SATURDAY, SUNDAY = 6, 7
# Every month has at least this many days.
SHORTEST_MONTH = 28
ONE_DAY = timedelta(days=1)

_PART = re.compile(r"(?P<low>\*|[0-9]{1,9}|[A-Z]+)?(-(?P<high>[0-9]{1,9}|[A-Z]+))?(/(?P<step>[0-9]{1,9}))?")
_FROM_END = re.compile(r"L(-(?P<back>[0-9]{1,9}))?(?P<nearest>W)?")
_NEAREST = re.compile(r"(?P<day>[0-9]{1,9})W")
_NTH = re.compile(r"(?P<weekday>[0-9]|[A-Z]{3})(#(?P<place>[1-5])|(?P<last>L))")

IsDay = Callable[[date], bool]


def read_quartz(expression: str, zone: ZoneInfo) -> WallSchedule:
    """Return the wall times at which Quartz fires; raises `NotTaken` for an expression that Quartz refuses."""
    parts = expression.upper().split()
    if len(parts) not in (6, 7):
        raise NotTaken(f"{expression!r} has {len(parts)} fields; Quartz has 6 or 7")
    texts = dict(zip(FIELDS, [*parts, "*"][:7], strict=True))
    months = _values("month", texts["month"])
    # Without a year, the last one depends on when Quartz was started.
    years = None if texts["year"] == "*" else _values("year", texts["year"])
    is_day_in_month = _day_test(texts["day of month"], texts["day of week"])

    def is_day(day: date) -> bool:
        return day.month in months and (years is None or day.year in years) and is_day_in_month(day)

    seconds, minutes, hours = (_values(name, texts[name]) for name in FIELDS[:3])
    return WallSchedule(zone, is_day, hours, minutes, last_pass_of, sorted(seconds))


def _day_test(of_month: str, of_week: str) -> IsDay:
    if (of_month == "?") is (of_week == "?"):
        raise NotTaken(f"day {of_month!r} and weekday {of_week!r}: Quartz wants ? for exactly one of them")
    return _of_month(of_month) if of_week == "?" else _of_week(of_week)


def _of_month(text: str) -> IsDay:
    tests = [_one_of_month(part) for part in text.split(",")]
    return lambda day: any(test(day) for test in tests)


def _one_of_month(part: str) -> IsDay:
    if found := _FROM_END.fullmatch(part):
        back = int(found["back"] or 0)
        if back >= SHORTEST_MONTH:
            raise NotTaken(
                f"day {part!r}: what Quartz does in a month that short differs between its versions"
            )
        if found["nearest"]:
            return lambda day: day == _nearest_weekday(_last_of_month(day) - back * ONE_DAY)
        return lambda day: day == _last_of_month(day) - back * ONE_DAY
    if found := _NEAREST.fullmatch(part):
        wanted = _number("day of month", part, found["day"])
        if wanted > SHORTEST_MONTH:
            raise NotTaken(f"day {part!r}: what Quartz does in a shorter month differs between its versions")
        return lambda day: day == _nearest_weekday(day.replace(day=wanted))
    days = _part("day of month", part)
    return lambda day: day.day in days


def _of_week(text: str) -> IsDay:
    tests = [_one_of_week(part) for part in text.split(",")]
    return lambda day: any(test(day) for test in tests)


def _one_of_week(part: str) -> IsDay:
    if part == "L":
        return lambda day: _weekday(day) == SATURDAY + 1
    if found := _NTH.fullmatch(part):
        weekday = _number("day of week", part, found["weekday"])
        if found["last"]:
            return lambda day: _weekday(day) == weekday and (day + 7 * ONE_DAY).month != day.month
        place = int(found["place"])
        return lambda day: _weekday(day) == weekday and (day.day - 1) // 7 + 1 == place
    weekdays = _part("day of week", part)
    return lambda day: _weekday(day) in weekdays


def _weekday(day: date) -> int:
    """Return the weekday as Quartz counts: 1 is Sunday."""
    return day.isoweekday() % 7 + 1


def _last_of_month(day: date) -> date:
    while (day + ONE_DAY).month == day.month:
        day += ONE_DAY
    return day


def _nearest_weekday(day: date) -> date:
    """Return the Monday to Friday nearest to a day, within its month."""
    if day.isoweekday() == SATURDAY:
        return day - ONE_DAY if day.day > 1 else day + 2 * ONE_DAY
    if day.isoweekday() == SUNDAY:
        return day + ONE_DAY if (day + ONE_DAY).month == day.month else day - 2 * ONE_DAY
    return day


def _values(name: str, text: str) -> set[int]:
    return {value for part in text.split(",") for value in _part(name, part)}


def _part(name: str, part: str) -> set[int]:
    found = _PART.fullmatch(part)
    if found is None or not part:
        raise NotTaken(f"{name} {part!r} is none that Quartz reads")
    lowest, highest = BOUNDS[name]
    step = 1 if found["step"] is None else int(found["step"])
    if found["low"] in (None, "*"):
        if found["high"] is not None or not 0 < step <= highest:
            raise NotTaken(f"{name} {part!r} is none that Quartz reads")
        return set(range(lowest, highest + 1, step))
    low = _number(name, part, found["low"])
    if found["step"] is not None and found["low"].isalpha():
        raise NotTaken(f"{name} {part!r}: Quartz ignores a step after a name")
    high = highest if found["step"] is not None else low
    if found["high"] is not None:
        high = _number(name, part, found["high"])
    if not 0 < step <= highest or (high < low and name == "year"):
        raise NotTaken(f"{name} {part!r} is none that Quartz reads")
    if low <= high:
        return set(range(low, high + 1, step))
    # A backward range continues from the field's end at its beginning.
    size = highest - lowest + 1
    return {(value - lowest) % size + lowest for value in range(low, high + size + 1, step)}


def _number(name: str, part: str, text: str) -> int:
    low, high = BOUNDS[name]
    value = int(text) if text.isdecimal() else NAMES.get(name, {}).get(text, -1)
    if not low <= value <= high:
        raise NotTaken(f"{name} {part!r} is none that Quartz reads: it takes {low}-{high}")
    return value
