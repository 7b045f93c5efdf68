"""What a cron expression means, as values: the same ones however it is written."""

from dataclasses import dataclass, replace
from typing import Any

from croniter.croniter import DAY_FIELD, DOW_FIELD, MONTH_FIELD, YEAR_FIELD

from wangtimer.core.cron_fields import FIELD_NAMES, MACROS, read_fields

DAYS_OF_MONTH, DAYS_OF_WEEK, MONTHS = 31, 7, 12
EVERY_HOUR = tuple(range(24))
EVERY_60 = tuple(range(60))
# What stands for "the last Friday" beside "the second Friday".
LAST = 0


@dataclass(frozen=True, slots=True)
class Days:
    """The days of a month: empty parts were not given, and without any part it is every day.

    `month_days` and `is_last_day` are days of the month, `nearest_to` one of them moved to Monday to Friday;
    `weekdays` count from 1, Monday, to 7, Sunday; `nth_weekdays` are pairs of a weekday and its place in the month
    (`LAST`: the last one). Day of the month and weekday are both given only with
    `is_either`: one of them is enough.
    """

    month_days: tuple[int, ...] = ()
    is_last_day: bool = False
    nearest_to: int | None = None
    weekdays: tuple[int, ...] = ()
    nth_weekdays: tuple[tuple[int, int], ...] = ()
    is_either: bool = False

    @property
    def is_every_day(self) -> bool:
        """Whether no part restricts the days."""
        return self == Days()


@dataclass(frozen=True, slots=True)
class Meaning:
    """Which values of each field match, ascending; `months` and `years` are empty where all of them do."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: Days
    months: tuple[int, ...]
    years: tuple[int, ...]


def meaning_of(expression: str) -> Meaning:
    """Return what an expression means; InvalidSchedule if it cannot be read."""
    fields = read_fields(expression)
    expanded = fields.midnights[0].expanded
    return Meaning(
        seconds=tuple(sorted({second % 60 for second in fields.seconds_of_hour})),
        minutes=tuple(sorted({second // 60 for second in fields.seconds_of_hour})),
        hours=fields.hours,
        days=_days_of(fields.midnights),
        months=_numbers(expanded[MONTH_FIELD], MONTHS),
        years=_numbers(expanded[YEAR_FIELD], None) if len(expanded) > YEAR_FIELD else (),
    )


def field_count(expression: str) -> int:
    """Return how many fields an expression is written with: 5, 6 or 7; 0 for a macro."""
    return 0 if expression.lower() in MACROS else len(expression.split())


def field_texts(expression: str) -> dict[str, str]:
    """Return the fields of a readable expression as they are written, by name."""
    texts = MACROS.get(expression.lower(), expression).split()
    return dict(zip(FIELD_NAMES[len(texts)], texts, strict=True))


def _days_of(croniters: tuple[Any, ...]) -> Days:
    """Return the days of one croniter, or those that either of two finds: a day of the month, or a weekday."""
    parts = [_part(one) for one in croniters]
    if len(parts) == 1:
        return parts[0]
    if any(part.is_every_day for part in parts):
        return Days()
    month_days, weekdays = parts
    return replace(month_days, weekdays=weekdays.weekdays, nth_weekdays=weekdays.nth_weekdays, is_either=True)


def _part(days: Any) -> Days:
    """Return the days of one croniter; it does not look at plain values beside `W`, or beside `#` and `L5`."""
    day_values, weekday_values = days.expanded[DAY_FIELD], days.expanded[DOW_FIELD]
    nearest_to = next(iter(days.nearest_weekday), None)
    nth_weekdays = _nth_weekdays(days.nth_weekday_of_month)
    has_month_days = nearest_to is None and "*" not in day_values
    month_days = _numbers(day_values, DAYS_OF_MONTH) if has_month_days else ()
    weekdays = () if nth_weekdays else _numbers(weekday_values, DAYS_OF_WEEK)
    return Days(
        month_days=month_days,
        is_last_day=has_month_days and "l" in day_values and (len(day_values) == 1 or bool(month_days)),
        nearest_to=nearest_to,
        weekdays=tuple(sorted(day or DAYS_OF_WEEK for day in weekdays)),
        nth_weekdays=nth_weekdays,
    )


def _nth_weekdays(places: dict[int, set[int | str]]) -> tuple[tuple[int, int], ...]:
    pairs = [
        (day or DAYS_OF_WEEK, LAST if place == "l" else int(place))
        for day, several in places.items()
        for place in several
    ]
    return tuple(sorted(pairs, key=lambda pair: (pair[0], pair[1] or 6)))


def _numbers(values: list[int | str], count: int | None) -> tuple[int, ...]:
    """Return the numbers of a field, ascending, none where all `count` match."""
    if "*" in values:
        return ()
    numbers = tuple(sorted(int(value) for value in values if value != "l"))
    return () if len(numbers) == count else numbers
