"""The meaning of a cron expression as values: the same however it is written, in any dialect."""

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass

DAYS_OF_WEEK = 7
SATURDAY, SUNDAY = 6, 7
EVERY_HOUR = tuple(range(24))
EVERY_60 = tuple(range(60))
# The place in the month that means "the last Friday", where 2 means "the second Friday".
LAST = 0


@dataclass(frozen=True, slots=True)
class Days:
    """The days of a month: empty parts were not given; without any part it is every day.

    * `month_days` count from the first day, `from_end` from the last, which is 0.
    * `nearest_to` and `nearest_to_end` are one such day, moved to the nearest Monday to Friday of its month. In a month
      without that day `nearest_to` means the last day, or no day if it `skips_short_months`.
    * `weekdays` count from 1, Monday, to 7, Sunday. `nth_weekdays` are pairs of a weekday and its place in the month
      (`LAST`: the last one).
    * Day of the month and weekday are both given only with `is_either`: one of them is enough.
    """

    month_days: tuple[int, ...] = ()
    from_end: tuple[int, ...] = ()
    nearest_to: int | None = None
    nearest_to_end: int | None = None
    skips_short_months: bool = False
    weekdays: tuple[int, ...] = ()
    nth_weekdays: tuple[tuple[int, int], ...] = ()
    is_either: bool = False

    @property
    def is_every_day(self) -> bool:
        """Whether no part restricts the days."""
        return self == Days()

    def of_month(self, year: int, month: int) -> list[int]:
        """Return the days of a month, ascending, from 1."""
        weekday_before, length = monthrange(year, month)
        if self.is_every_day:
            return list(range(1, length + 1))
        weekdays = [(weekday_before + day) % DAYS_OF_WEEK + 1 for day in range(length)]
        found = {day for day in self.month_days if day <= length}
        found |= {length - back for back in self.from_end if back < length}
        found |= {day for day, weekday in enumerate(weekdays, 1) if weekday in self.weekdays}
        found |= {day for pair in self.nth_weekdays for day in _nth_weekday(weekdays, *pair)}
        found |= {_nearest_open_day(weekdays, day) for day in self._days_to_move(length)}
        return sorted(found)

    def _days_to_move(self, length: int) -> list[int]:
        """Return the days that are moved to the nearest Monday to Friday, in a month of this length."""
        days: list[int] = []
        if self.nearest_to is not None and not (self.skips_short_months and self.nearest_to > length):
            days.append(min(self.nearest_to, length))
        if self.nearest_to_end is not None and self.nearest_to_end < length:
            days.append(length - self.nearest_to_end)
        return days


@dataclass(frozen=True, slots=True)
class Meaning:
    """Which values of each field match, ascending; `months` and `years` are empty if all match.

    `is_fixed`: neither minute nor hour was written with `*` first, so the schedule names times of day.
    """

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: Days
    months: tuple[int, ...]
    years: tuple[int, ...]
    is_fixed: bool


def _nth_weekday(weekdays: Sequence[int], wanted: int, place: int) -> list[int]:
    """Return the day with the given place among the month's days of this weekday, in a list; empty if there is none."""
    days = [day for day, weekday in enumerate(weekdays, 1) if weekday == wanted]
    return days[-1:] if place == LAST else days[place - 1 : place]


def _nearest_open_day(weekdays: Sequence[int], day: int) -> int:
    weekday = weekdays[day - 1]
    if weekday == SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == SUNDAY:
        return day + 1 if day < len(weekdays) else day - 2
    return day
