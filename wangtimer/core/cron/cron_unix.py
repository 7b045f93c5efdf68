"""The unix dialect: croniter reads its fields; what croniter reads otherwise than people mean it is refused."""

import re
from collections.abc import Sequence
from functools import lru_cache

from croniter import CroniterError, croniter
from croniter.croniter import (
    DAY_FIELD,
    DOW_ALPHAS,
    DOW_FIELD,
    HOUR_FIELD,
    M_ALPHAS,
    MINUTE_FIELD,
    MONTH_FIELD,
    SECOND_FIELD,
    YEAR_FIELD,
)

from wangtimer.core.cron.cron_meaning import DAYS_OF_WEEK, LAST, Days, Meaning
from wangtimer.core.cron.cron_quartz import nearest_before_last
from wangtimer.core.errors import InvalidSchedule

DAYS_OF_MONTH, MONTHS = 31, 12
FIELD_RANGES = {
    "second": "0-59",
    "minute": "0-59",
    "hour": "0-23",
    "day": "1-31, L or 15W",
    "month": "1-12 or jan-dec",
    "weekday": "0-7 or sun-sat (0 and 7 are Sunday), L5 or 5#2",
    "year": "1970-2099",
}
# In English, whatever the machine's language.
FULL_NAMES = {
    "weekday": ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"),
    "month": (
        *("january", "february", "march", "april", "may", "june", "july"),
        *("august", "september", "october", "november", "december"),
    ),
}
_NAMES = re.compile(r"[A-Za-z]{2,}")
NAMED_VALUES = {"month": M_ALPHAS, "weekday": DOW_ALPHAS, "day": {"l": 31}}
RANDOM_OR_HASHED = re.compile(r"[hr]($|\(|/)")
RANGE = re.compile(r"(?P<low>\w+)-(?P<high>\w+)(?P<step>/\w+)?(#\w+)?")
# Days that only the quartz dialect can read.
ONLY_QUARTZ = {"day": re.compile(r"lw|l-[0-9]+w?"), "weekday": re.compile(r"([1-7]|[a-z]{3})l")}
# Where croniter puts a field that it expands, and what stands before and after it if all others are `*`.
ALONE = {
    "second": (SECOND_FIELD, "", " * * * * *"),
    "minute": (MINUTE_FIELD, "", " * * * *"),
    "hour": (HOUR_FIELD, "* ", " * * *"),
    "month": (MONTH_FIELD, "* * * ", " *"),
    "year": (YEAR_FIELD, "* * * * * * ", ""),
}
# The time of day that croniter gets when only the days are needed.
MIDNIGHT = "0 0 0"


def read_unix(by_name: dict[str, str]) -> Meaning:
    """Return the meaning of the fields; InvalidSchedule if one cannot be read."""
    for name, text in by_name.items():
        _refuse_misread(name, text.lower())
    try:
        return Meaning(
            seconds=_all_values("second", by_name["second"], 60) if "second" in by_name else (0,),
            minutes=_all_values("minute", by_name["minute"], 60),
            hours=_all_values("hour", by_name["hour"], 24),
            days=_days(by_name),
            months=_numbers(_expanded("month", by_name["month"]), MONTHS),
            years=_numbers(_expanded("year", by_name["year"]), None) if "year" in by_name else (),
            is_fixed=not by_name["minute"].startswith("*") and not by_name["hour"].startswith("*"),
        )
    except (CroniterError, ValueError, TypeError, KeyError) as error:
        raise _unreadable(by_name) from error


# croniter reads each field by itself, at 0.2 ms an expression: thousands of expressions share their fields.
@lru_cache(maxsize=4_096)
def _expanded(name: str, text: str) -> tuple[int | str, ...]:
    """Return what croniter makes of a field other than those of days, all others being `*`."""
    place, before, after = ALONE[name]
    return tuple(croniter(f"{before}{text}{after}", second_at_beginning=True).expanded[place])


def _all_values(name: str, text: str, count: int) -> tuple[int, ...]:
    """Return the numbers of a field; `*` anywhere in it means all `count`."""
    expanded = _expanded(name, text)
    return tuple(range(count)) if "*" in expanded else tuple(sorted(map(int, expanded)))


def _numbers(expanded: Sequence[int | str], count: int | None) -> tuple[int, ...]:
    """Return the numbers of a field, ascending; none if all `count` match."""
    if "*" in expanded:
        return ()
    numbers = tuple(sorted(int(value) for value in expanded if value != "l"))
    return () if len(numbers) == count else numbers


def _days(by_name: dict[str, str]) -> Days:
    """Return the days of both day fields; either is enough if both restrict the days.

    croniter reads each field by itself: given both, it requires both or ignores one, in `13 * 5#2`, `15W * 1` and
    `1-31 * */2`.
    """
    day, weekday = by_name["day"], by_name["weekday"]
    if not (_says_something(day) and _says_something(weekday)):
        return _days_of(f"{day} * {weekday}")
    month_days, weekdays = _days_of(f"{day} * *"), _days_of(f"* * {weekday}")
    if month_days.is_every_day or weekdays.is_every_day:
        return Days()
    return Days(
        month_days=month_days.month_days,
        from_end=month_days.from_end,
        nearest_to=month_days.nearest_to,
        weekdays=weekdays.weekdays,
        nth_weekdays=weekdays.nth_weekdays,
        is_either=True,
    )


def _says_something(text: str) -> bool:
    """Tell whether a day field restricts the days as it is written: it has neither `*`, alone or in a list, nor `?`."""
    return not {"*", "?"} & set(text.split(","))


@lru_cache(maxsize=1_024)
def _days_of(days: str) -> Days:
    """Return the days of `day month weekday`; croniter ignores plain values beside `W`, or beside `#` and `L5`."""
    read = croniter(f"{MIDNIGHT} {days}", second_at_beginning=True)
    day_values, weekday_values = read.expanded[DAY_FIELD], read.expanded[DOW_FIELD]
    nearest_to = next(iter(read.nearest_weekday), None)
    nth_weekdays = _nth_weekdays(read.nth_weekday_of_month)
    has_month_days = nearest_to is None and "*" not in day_values
    month_days = _numbers(day_values, DAYS_OF_MONTH) if has_month_days else ()
    is_last_day = has_month_days and "l" in day_values and (len(day_values) == 1 or bool(month_days))
    weekdays = () if nth_weekdays else _numbers(weekday_values, DAYS_OF_WEEK)
    return Days(
        month_days=month_days,
        from_end=(0,) if is_last_day else (),
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


@lru_cache(maxsize=4_096)
def _refuse_misread(name: str, text: str) -> None:
    """Refuse what croniter accepts but reads otherwise than people mean it."""
    if RANDOM_OR_HASHED.match(text):
        raise InvalidSchedule(
            "schedule.cron",
            f"{name} {text!r} is random or hashed",
            f"write the {name} itself ({FIELD_RANGES[name]})",
        )
    parts = text.split(",")
    if name == "weekday" and len({"#" in part or part.startswith("l") for part in parts}) == 2:
        # croniter refuses it too, except `5,5#2` and `*,5#2`, where it ignores the first part.
        raise InvalidSchedule(
            "schedule.cron",
            f"weekday {text!r} mixes every week with weeks of the month",
            "make it two timers",
        )
    for part in parts:
        if found := RANGE.fullmatch(part):
            _refuse_misread_range(name, found)


def _refuse_misread_range(name: str, found: re.Match[str]) -> None:
    """Refuse equal ends (croniter: the whole field) and steps past the end (croniter: wrong phase)."""
    low, high = _number(name, found["low"]), _number(name, found["high"])
    if name == "weekday" and (low, high) == (7, 0):
        low = 0
    if low is not None and low == high:
        raise InvalidSchedule(
            "schedule.cron",
            f"{name} {found[0]!r} is a range from a value to itself",
            f"write {found['low']} or *",
        )
    if found["step"] and low is not None and high is not None and low > high:
        raise InvalidSchedule(
            "schedule.cron",
            f"{name} {found[0]!r} is a step through a backward range",
            "list the values, with commas",
        )


def _number(name: str, text: str) -> int | None:
    value = NAMED_VALUES.get(name, {}).get(text, text)
    return int(value) if str(value).isdecimal() else None


def _unreadable(by_name: dict[str, str]) -> InvalidSchedule:
    """Return the error for what croniter refused; it names the field at fault if there is only one."""
    for name, text in by_name.items():
        if not _croniter_reads(dict.fromkeys(by_name, "*") | {name: text}):
            meant = {field: _with_short_names(field, written) for field, written in by_name.items()}
            is_meant = meant != by_name and _croniter_reads(meant)
            return InvalidSchedule(
                "schedule.cron",
                f"{name} {text!r} cannot be read",
                f"{name} takes {FIELD_RANGES[name]}, with * , - and /{_known_to_quartz(name, text.lower())}",
                " ".join(meant.values()) if is_meant else None,
            )
    return InvalidSchedule(
        "schedule.cron",
        f"{' '.join(by_name.values())!r} cannot be read",
        "try a simpler one, such as */5 9-17 * * 1-5",
    )


def _with_short_names(field: str, text: str) -> str:
    """Return a field with the names of three letters in place of names that are written out, or with two letters."""

    def short(word: re.Match[str]) -> str:
        names = [name for name in FULL_NAMES.get(field, ()) if name.startswith(word[0].lower())]
        return names[0][:3] if len(names) == 1 else word[0]

    return _NAMES.sub(short, text)


def _known_to_quartz(name: str, text: str) -> str:
    """Return the end of a mend that names the quartz dialect, if only that can read the day; else ""."""
    if near := nearest_before_last(name, text):
        return f'; "dialect": "quartz" has {near}'
    if not (pattern := ONLY_QUARTZ.get(name)) or not pattern.fullmatch(text):
        return ""
    meaning = " (6L is the last Friday there)" if text == "6l" else ""
    return f'; "dialect": "quartz" knows it, with seconds first and one ?{meaning}'


def _croniter_reads(by_name: dict[str, str]) -> bool:
    try:
        croniter(" ".join(by_name.values()), second_at_beginning=True)
    except (CroniterError, ValueError, TypeError, KeyError):
        return False
    return True
