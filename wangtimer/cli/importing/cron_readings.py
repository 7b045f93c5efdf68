"""Cron expressions as other schedulers read them: a crontab's five fields, and those of Quartz (XXL-JOB copies it).

Crontab: as Vixie cron and cronie read it. Source: crontab(5), and entry.c and cron.c of cronie 1.5.

* Day of the month and day of the week: one of them is enough where neither begins with `*`. Where one does, even as
  `*/2`, both have to match.
* A number with a step (`5/10`) and a backward range are errors.
* Clock changes: times in the hour skipped in spring run right after it, and times in the repeated hour run once.
  Exception: minute or hour begins with `*`.

Quartz. Source: the CronTrigger tutorial; where that says nothing, the behaviour of Quartz 2.3.2, which made
tests/cli/importing/quartz_moments.txt. Weekdays are 1 to 7 from SUNDAY, and exactly one of day and weekday is `?`. A
time that the clock skips in spring does not run that day. In a repeated hour only the second pass runs.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from wangtimer.cli.importing.entries import (
    MomentsOfWall,
    NotTaken,
    WallSchedule,
    first_pass_of,
    first_pass_or_end_of_gap,
    last_pass_of,
    passes_of,
)

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class _Dialect(NamedTuple):
    """Who reads an expression, the bounds of its fields in order, and the number of Sunday."""

    reader: str
    bounds: Mapping[str, tuple[int, int]]
    sunday: int

    def number(self, name: str, part: str, text: str) -> int:
        names = {"month": (MONTHS, 1), "day of week": (WEEKDAYS, self.sunday)}
        named, first = names.get(name, ((), 0))
        word, (low, high) = text.upper(), self.bounds[name]
        value = int(text) if text.isdecimal() else named.index(word) + first if word in named else -1
        if not low <= value <= high:
            raise NotTaken(f"{name} {part!r} is none that {self.reader} reads: it takes {low}-{high}")
        return value


CRONTAB = _Dialect(
    "cron",
    {"minute": (0, 59), "hour": (0, 23), "day of month": (1, 31), "month": (1, 12), "day of week": (0, 7)},
    sunday=0,
)
QUARTZ = _Dialect(
    "Quartz",
    {
        "seconds": (0, 59),
        "minutes": (0, 59),
        "hours": (0, 23),
        "day of month": (1, 31),
        "month": (1, 12),
        "day of week": (1, 7),
        "year": (1970, 2099),
    },
    sunday=1,
)
_PART = re.compile(
    r"(?P<low>\*|[0-9]{1,9}|[A-Za-z]+)?(-(?P<high>[0-9]{1,9}|[A-Za-z]+))?(/(?P<step>[0-9]{1,9}))?"
)

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True, slots=True)
class CrontabZone:
    """The zone of a line: the daemon's own (None: not known), or the zone that `CRON_TZ` names."""

    daemon: ZoneInfo | None
    cron_tz: ZoneInfo | None = None

    @property
    def zone(self) -> ZoneInfo:
        """The zone whose wall clock the line follows; raises `NotTaken` where none is known."""
        found = self.cron_tz or self.daemon
        if found is None:
            raise NotTaken("its zone is not known; name the zone of its machine with --timezone")
        return found


def read_crontab(expression: str, where: CrontabZone) -> WallSchedule:
    """Return the wall times at which cron runs a line; raises `NotTaken` for a line that cron itself refuses."""
    texts = dict(zip(CRONTAB.bounds, MACROS.get(expression, expression).lower().split(" "), strict=True))
    values = {name: _values(name, text, _crontab_part) for name, text in texts.items()}
    is_either = not texts["day of month"].startswith("*") and not texts["day of week"].startswith("*")

    def is_day(day: date) -> bool:
        if day.month not in values["month"]:
            return False
        of_month = day.day in values["day of month"]
        of_week = not values["day of week"].isdisjoint({day.isoweekday(), day.isoweekday() % 7})
        return (of_month or of_week) if is_either else (of_month and of_week)

    moments_of = _moments_of(texts, where)
    return WallSchedule(where.zone, is_day, values["hour"], values["minute"], moments_of)


def _moments_of(texts: Mapping[str, str], where: CrontabZone) -> MomentsOfWall:
    follows_clock = texts["minute"].startswith("*") or texts["hour"].startswith("*")
    if where.cron_tz is None:
        return passes_of if follows_clock else first_pass_or_end_of_gap
    # The daemon adjusts only for changes of its own clock.
    return passes_of if follows_clock or where.cron_tz != where.daemon else first_pass_of


def _values(name: str, text: str, values_of: Callable[[str, str], Iterable[int]]) -> set[int]:
    return {value for part in text.split(",") for value in values_of(name, part)}


def _crontab_part(name: str, part: str) -> range:
    found = _PART.fullmatch(part)
    if found is None or found["low"] is None:
        raise NotTaken(f"{name} {part!r} is none that cron reads")
    lowest, highest = CRONTAB.bounds[name]
    low_text, high_text, step_text = found["low"], found["high"], found["step"]
    if low_text == "*":
        low, high = lowest, highest
        if high_text is not None:
            raise NotTaken(f"{name} {part!r} is none that cron reads")
    else:
        low = CRONTAB.number(name, part, low_text)
        high = low if high_text is None else CRONTAB.number(name, part, high_text)
        if high_text is None and step_text is not None:
            mend = f"write {low}-{highest}/{step_text} or {low}"
            raise NotTaken(f"{name} {part!r} has a step and no range: crons differ in what it means; {mend}")
    step = 1 if step_text is None else int(step_text)
    if high < low or step == 0:
        raise NotTaken(f"{name} {part!r} is none that cron reads: it refuses the line")
    return range(low, high + 1, step)


SATURDAY, SUNDAY = 6, 7
# Every month has at least this many days.
SHORTEST_MONTH = 28
ONE_DAY = timedelta(days=1)

_FROM_END = re.compile(r"L(-(?P<back>[0-9]{1,9}))?(?P<nearest>W)?")
_NEAREST = re.compile(r"(?P<day>[0-9]{1,9})W")
_NTH = re.compile(r"(?P<weekday>[0-9]|[A-Z]{3})(#(?P<place>[1-5])|(?P<last>L))")

IsDay = Callable[[date], bool]


def read_quartz(expression: str, zone: ZoneInfo) -> WallSchedule:
    """Return the wall times at which Quartz fires; raises `NotTaken` for an expression that Quartz refuses."""
    parts = expression.upper().split()
    if len(parts) not in (6, 7):
        raise NotTaken(f"{expression!r} has {len(parts)} fields; Quartz has 6 or 7")
    texts = dict(zip(QUARTZ.bounds, [*parts, "*"][:7], strict=True))
    months = _values("month", texts["month"], _quartz_part)
    # Without a year, the last one depends on when Quartz was started.
    years = None if texts["year"] == "*" else _values("year", texts["year"], _quartz_part)
    is_day_in_month = _day_test(texts["day of month"], texts["day of week"])

    def is_day(day: date) -> bool:
        return day.month in months and (years is None or day.year in years) and is_day_in_month(day)

    seconds, minutes, hours = (
        _values(name, texts[name], _quartz_part) for name in ("seconds", "minutes", "hours")
    )
    return WallSchedule(zone, is_day, hours, minutes, last_pass_of, sorted(seconds))


def _day_test(of_month: str, of_week: str) -> IsDay:
    if (of_month == "?") is (of_week == "?"):
        raise NotTaken(f"day {of_month!r} and weekday {of_week!r}: Quartz wants ? for exactly one of them")
    text, test_of = (of_month, _of_month) if of_week == "?" else (of_week, _of_week)
    tests = [test_of(part) for part in text.split(",")]
    return lambda day: any(test(day) for test in tests)


def _of_month(part: str) -> IsDay:
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
        wanted = QUARTZ.number("day of month", part, found["day"])
        if wanted > SHORTEST_MONTH:
            raise NotTaken(f"day {part!r}: what Quartz does in a shorter month differs between its versions")
        return lambda day: day == _nearest_weekday(day.replace(day=wanted))
    days = _quartz_part("day of month", part)
    return lambda day: day.day in days


def _of_week(part: str) -> IsDay:
    if part == "L":
        return lambda day: _weekday(day) == SATURDAY + 1
    if found := _NTH.fullmatch(part):
        weekday = QUARTZ.number("day of week", part, found["weekday"])
        if found["last"]:
            return lambda day: _weekday(day) == weekday and (day + 7 * ONE_DAY).month != day.month
        place = int(found["place"])
        return lambda day: _weekday(day) == weekday and (day.day - 1) // 7 + 1 == place
    weekdays = _quartz_part("day of week", part)
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


def _quartz_part(name: str, part: str) -> set[int]:
    found = _PART.fullmatch(part)
    if found is None or not part:
        raise NotTaken(f"{name} {part!r} is none that Quartz reads")
    lowest, highest = QUARTZ.bounds[name]
    step = 1 if found["step"] is None else int(found["step"])
    if found["low"] in (None, "*"):
        if found["high"] is not None or not 0 < step <= highest:
            raise NotTaken(f"{name} {part!r} is none that Quartz reads")
        return set(range(lowest, highest + 1, step))
    low = QUARTZ.number(name, part, found["low"])
    if found["step"] is not None and found["low"].isalpha():
        raise NotTaken(f"{name} {part!r}: Quartz ignores a step after a name")
    high = highest if found["step"] is not None else low
    if found["high"] is not None:
        high = QUARTZ.number(name, part, found["high"])
    if not 0 < step <= highest or (high < low and name == "year"):
        raise NotTaken(f"{name} {part!r} is none that Quartz reads")
    if low <= high:
        return set(range(low, high + 1, step))
    # A backward range continues from the field's end at its beginning.
    size = highest - lowest + 1
    return {(value - lowest) % size + lowest for value in range(low, high + size + 1, step)}
