"""The five fields of a crontab, read as Vixie cron and cronie read them.

Source: crontab(5), and entry.c and cron.c of cronie 1.5.

* Day of the month and day of the week: one of them is enough where neither begins with `*`. Where one does, even as
  `*/2`, both have to match.
* A number with a step (`5/10`) and a backward range are errors.
* Clock changes: times in the hour skipped in spring run right after it, and times in the repeated hour run once.
  Exception: minute or hour begins with `*`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from wangtimer.cli.importing.entries import NotTaken
from wangtimer.cli.importing.their_moments import (
    MomentsOfWall,
    WallSchedule,
    first_pass_of,
    first_pass_or_end_of_gap,
    passes_of,
)

FIELDS = ("minute", "hour", "day of month", "month", "day of week")
BOUNDS = {
    "minute": (0, 59),
    "hour": (0, 23),
    "day of month": (1, 31),
    "month": (1, 12),
    "day of week": (0, 7),
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
NAMES = {
    "month": {name: number for number, name in enumerate(MONTHS, 1)},
    "day of week": {name: number for number, name in enumerate(WEEKDAYS)},
}
MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_PART = re.compile(r"(?P<low>\*|[0-9]{1,9}|[a-z]+)(-(?P<high>[0-9]{1,9}|[a-z]+))?(/(?P<step>[0-9]{1,9}))?")


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
    texts = dict(zip(FIELDS, MACROS.get(expression, expression).lower().split(" "), strict=True))
    values = {name: _values(name, text) for name, text in texts.items()}
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


def _values(name: str, text: str) -> set[int]:
    return {value for part in text.split(",") for value in _part(name, part)}


def _part(name: str, part: str) -> range:
    found = _PART.fullmatch(part)
    if found is None:
        raise NotTaken(f"{name} {part!r} is none that cron reads")
    lowest, highest = BOUNDS[name]
    low_text, high_text, step_text = found["low"], found["high"], found["step"]
    if low_text == "*":
        low, high = lowest, highest
        if high_text is not None:
            raise NotTaken(f"{name} {part!r} is none that cron reads")
    else:
        low = _number(name, part, low_text)
        high = low if high_text is None else _number(name, part, high_text)
        if high_text is None and step_text is not None:
            mend = f"write {low}-{highest}/{step_text} or {low}"
            raise NotTaken(f"{name} {part!r} has a step and no range: crons differ in what it means; {mend}")
    step = 1 if step_text is None else int(step_text)
    if high < low or step == 0:
        raise NotTaken(f"{name} {part!r} is none that cron reads: it refuses the line")
    return range(low, high + 1, step)


def _number(name: str, part: str, text: str) -> int:
    low, high = BOUNDS[name]
    value = int(text) if text.isdecimal() else NAMES.get(name, {}).get(text, -1)
    if not low <= value <= high:
        raise NotTaken(f"{name} {part!r} is none that cron reads: it takes {low}-{high}")
    return value
