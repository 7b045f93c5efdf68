"""The fields of a cron expression as croniter reads them, and the refusal of what it reads as nobody means it."""

import re
from array import array
from dataclasses import dataclass
from functools import lru_cache

from croniter import CroniterError, croniter
from croniter.croniter import DOW_ALPHAS, HOUR_FIELD, M_ALPHAS, MINUTE_FIELD, SECOND_FIELD

from wangtimer.core.errors import InvalidSchedule

MAX_LENGTH = 128
# How far a year field is searched: all of croniter's range, 1970 to 2099. Without one croniter gives up after
# 50 years, enough for a 29 February that is a fifth Monday; a search in vain takes 0.2 s.
YEARS_SEARCHED = 130

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
FIELD_RANGES = {
    "second": "0-59",
    "minute": "0-59",
    "hour": "0-23",
    "day": "1-31, L or 15W",
    "month": "1-12 or jan-dec",
    "weekday": "0-7 or sun-sat (0 and 7 are Sunday), L5 or 5#2",
    "year": "1970-2099",
}
FIELD_NAMES = {
    5: ("minute", "hour", "day", "month", "weekday"),
    6: ("second", "minute", "hour", "day", "month", "weekday"),
    7: ("second", "minute", "hour", "day", "month", "weekday", "year"),
}
NAMED_VALUES = {"month": M_ALPHAS, "weekday": DOW_ALPHAS, "day": {"l": 31}}
RANDOM_OR_HASHED = re.compile(r"[hr]($|\(|/)")
RANGE = re.compile(r"(?P<low>\w+)-(?P<high>\w+)(?P<step>/\w+)?(#\w+)?")


@dataclass(frozen=True, slots=True)
class Fields:
    """A read expression: which days, hours, and seconds within an hour match.

    The days that match are those of any of `midnights`.
    `is_fixed`: neither minute nor hour starts with `*`, so the schedule names times of day.
    """

    midnights: tuple[croniter, ...]
    hours: tuple[int, ...]
    seconds_of_hour: "array[int]"
    is_fixed: bool


# Daily schedules are of 1,440 minutes: with fewer places, going through them all would read each anew, 0.2 ms each.
@lru_cache(maxsize=2_048)
def read_fields(expression: str) -> Fields:
    """Return the fields of an expression; InvalidSchedule if it cannot be read."""
    texts = _fields_of(expression)
    names = FIELD_NAMES[len(texts)]
    for name, text in zip(names, texts, strict=True):
        _refuse_misread(name, text.lower())
    try:
        values = croniter(" ".join(texts), second_at_beginning=True).expanded
    except (CroniterError, ValueError, TypeError, KeyError) as error:
        raise _unreadable(expression, texts) from error
    minutes = _values(values[MINUTE_FIELD], 60)
    seconds = _values(values[SECOND_FIELD], 60) if len(texts) > 5 else (0,)
    by_name = dict(zip(names, texts, strict=True))
    return Fields(
        midnights=_midnights(by_name),
        hours=_values(values[HOUR_FIELD], 24),
        seconds_of_hour=array("H", (minute * 60 + second for minute in minutes for second in seconds)),
        is_fixed=not by_name["minute"].startswith("*") and not by_name["hour"].startswith("*"),
    )


def _midnights(by_name: dict[str, str]) -> tuple[croniter, ...]:
    """Return croniters that fire at midnight of each matching day, together.

    Day and weekday both given are two: croniter itself wants both, or overlooks one, in `13 * 5#2`, `15W * 1` and
    `1-31 * */2`.
    """
    if _says_something(by_name["day"]) and _says_something(by_name["weekday"]):
        return _days_only(by_name | {"weekday": "*"}), _days_only(by_name | {"day": "*"})
    return (_days_only(by_name),)


def _says_something(text: str) -> bool:
    """Tell whether a day field leaves any day out by its writing: neither `*`, alone or in a list, nor `?`."""
    return not {"*", "?"} & set(text.split(","))


def _days_only(by_name: dict[str, str]) -> croniter:
    """Return a croniter that fires at midnight of each matching day."""
    days = f"{by_name['day']} {by_name['month']} {by_name['weekday']}"
    if "year" not in by_name:
        return croniter(f"0 0 {days}", 0.0)
    dated = f"0 0 0 {days} {by_name['year']}"
    return croniter(dated, 0.0, second_at_beginning=True, max_years_between_matches=YEARS_SEARCHED)


def _values(expanded: list[int | str], count: int) -> tuple[int, ...]:
    """Return the numbers of a field as croniter expanded it; `*` anywhere in it means all `count`."""
    return tuple(range(count)) if "*" in expanded else tuple(sorted(map(int, expanded)))


def _fields_of(expression: str) -> list[str]:
    """Split an expression into its 5, 6 or 7 fields, macros written out."""
    if len(expression) > MAX_LENGTH:
        raise InvalidSchedule(
            "cron", f"longer than {MAX_LENGTH} characters", "shorten it with ranges (1-5) and steps (*/10)"
        )
    texts = MACROS.get(expression.lower(), expression).split()
    if len(texts) not in FIELD_NAMES:
        raise InvalidSchedule(
            "cron",
            f"{expression!r} has {len(texts)} fields",
            "write 5 fields (minute hour day month weekday), 6 or 7 with seconds first and the year last, "
            f"or one of {', '.join(MACROS)}",
        )
    return texts


def _refuse_misread(name: str, text: str) -> None:
    """Refuse what croniter accepts and reads as something nobody means."""
    if RANDOM_OR_HASHED.match(text):
        raise InvalidSchedule(
            "cron", f"{name} {text!r} is random or hashed", f"write the {name} itself ({FIELD_RANGES[name]})"
        )
    parts = text.split(",")
    if name == "weekday" and len({_is_of_month(part) for part in parts}) == 2:
        # croniter refuses it too, but not `5,5#2` or `*,5#2`, in which it overlooks the first.
        raise InvalidSchedule(
            "cron", f"weekday {text!r} mixes every week with weeks of the month", "make it two timers"
        )
    for part in parts:
        if found := RANGE.fullmatch(part):
            _refuse_misread_range(name, found)


def _is_of_month(part: str) -> bool:
    """Tell whether a part of the weekday field is `5#2` or `L5`."""
    return "#" in part or part.startswith("l")


def _refuse_misread_range(name: str, found: re.Match[str]) -> None:
    """Refuse equal ends (croniter: the whole field) and steps past the end (croniter: wrong phase)."""
    low, high = _number(name, found["low"]), _number(name, found["high"])
    if name == "weekday" and (low, high) == (7, 0):
        low = 0
    if low == high:
        raise InvalidSchedule(
            "cron", f"{name} {found[0]!r} is a range from a value to itself", f"write {found['low']} or *"
        )
    if found["step"] and low is not None and high is not None and low > high:
        raise InvalidSchedule(
            "cron", f"{name} {found[0]!r} is a step through a backward range", "list the values, with commas"
        )


def _number(name: str, text: str) -> int | None:
    """Return the number a value of the field stands for, None if croniter is to refuse it."""
    value = NAMED_VALUES.get(name, {}).get(text, text)
    return int(value) if str(value).isdecimal() else None


def _unreadable(expression: str, texts: list[str]) -> InvalidSchedule:
    """Return the error for what croniter refused, naming the field at fault where one alone is."""
    for position, name in enumerate(FIELD_NAMES[len(texts)]):
        alone = ["*"] * len(texts)
        alone[position] = texts[position]
        if not _croniter_reads(alone):
            return InvalidSchedule(
                "cron",
                f"{name} {texts[position]!r} cannot be read",
                f"{name} takes {FIELD_RANGES[name]}, with * , - and /",
            )
    return InvalidSchedule(
        "cron", f"{expression!r} cannot be read", "try a simpler one, such as */5 9-17 * * 1-5"
    )


def _croniter_reads(texts: list[str]) -> bool:
    try:
        croniter(" ".join(texts), second_at_beginning=True)
    except (CroniterError, ValueError, TypeError, KeyError):
        return False
    return True
