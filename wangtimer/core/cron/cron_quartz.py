"""The quartz dialect: the expressions of the Java scheduler Quartz, which XXL-JOB and PowerJob read too.

Source: the CronTrigger tutorial and CronExpression of Quartz 2.5. If Quartz ignores a part of the expression, it is
refused; if Quartz takes a day of the next month, that day is left out.
"""

import re
from functools import lru_cache

from wangtimer.core.cron.cron_meaning import DAYS_OF_WEEK, LAST, Days, Meaning
from wangtimer.core.errors import InvalidSchedule

BOUNDS = {
    "second": (0, 59),
    "minute": (0, 59),
    "hour": (0, 23),
    "day": (1, 31),
    "month": (1, 12),
    "weekday": (1, 7),
    "year": (1970, 2099),
}
FIELD_RANGES = {
    "second": "0-59",
    "minute": "0-59",
    "hour": "0-23",
    "day": "1-31, L, L-3, LW, 15W or ?",
    "month": "1-12 or JAN-DEC",
    "weekday": "1-7 or SUN-SAT (1 is Sunday), 6L, 6#2 or ?",
    "year": "1970-2099",
}
MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
NUMBERS = {
    "month": {name: number for number, name in enumerate(MONTH_NAMES, 1)},
    "weekday": {name: number for number, name in enumerate(WEEKDAY_NAMES, 1)},
}
MOST_BEFORE_LAST = 30
PART = re.compile(r"(?P<low>\*|[a-z0-9]+)?(-(?P<high>[a-z0-9]+))?(/(?P<step>[0-9]+))?")
NEAREST = re.compile(r"(?P<day>[0-9]+)w")
FROM_END = re.compile(r"l(-(?P<before>[0-9]+))?(?P<is_moved>w)?")
# No dialect has it.
BEFORE_LAST_WEEKDAY = re.compile(r"lw-([0-9]{1,2})")
NTH = re.compile(r"(?P<weekday>[a-z]{3}|[0-9]+)(#(?P<place>[1-5])|l)")


def read_quartz(by_name: dict[str, str]) -> Meaning:
    """Return the meaning of the six or seven fields; InvalidSchedule if one cannot be read."""
    by_name = {name: text.lower() for name, text in by_name.items()}
    if (by_name["day"] == "?") is (by_name["weekday"] == "?"):
        raise InvalidSchedule(
            "schedule.cron",
            f"day {by_name['day']!r} and weekday {by_name['weekday']!r}: the quartz dialect wants one ? of the two",
            "write ? for the one that does not matter, as in 0 0 9 ? * MON-FRI",
        )
    return Meaning(
        seconds=_values("second", by_name["second"]),
        minutes=_values("minute", by_name["minute"]),
        hours=_values("hour", by_name["hour"]),
        days=_month_days(by_name["day"]) if by_name["weekday"] == "?" else _weekdays(by_name["weekday"]),
        months=_values_or_all("month", by_name["month"]),
        years=_values_or_all("year", by_name["year"]) if "year" in by_name else (),
        is_fixed=not any(by_name[name].startswith(("*", "/")) for name in ("minute", "hour")),
    )


def _month_days(text: str) -> Days:
    if found := NEAREST.fullmatch(text):
        return Days(nearest_to=_within("day", text, found["day"]), skips_short_months=True)
    plain: list[str] = []
    from_end: set[int] = set()
    for part in text.split(","):
        if not (found := FROM_END.fullmatch(part)):
            plain.append(part)
            continue
        before = int(found["before"] or 0)
        if before > MOST_BEFORE_LAST or (found["is_moved"] and part != text):
            raise _unreadable("day", part)
        if found["is_moved"]:
            return Days(nearest_to_end=before)
        from_end.add(before)
    if not plain:
        return Days(from_end=tuple(sorted(from_end, reverse=True)))
    month_days = _values_or_all("day", ",".join(plain))
    return Days(month_days, tuple(sorted(from_end, reverse=True))) if month_days else Days()


def _weekdays(text: str) -> Days:
    # A single L is the seventh day of the week.
    parts = ["7" if part == "l" else part for part in text.split(",")]
    nth = [found for part in parts if (found := NTH.fullmatch(part))]
    if not nth:
        return Days(weekdays=tuple(sorted(map(_from_monday, _values_or_all("weekday", ",".join(parts))))))
    if len(nth) < len(parts):
        raise InvalidSchedule(
            "schedule.cron",
            f"weekday {text!r} mixes every week with weeks of the month",
            "make it two timers",
        )
    pairs = {
        (_from_monday(_within("weekday", text, found["weekday"])), int(found["place"] or LAST))
        for found in nth
    }
    return Days(nth_weekdays=tuple(sorted(pairs, key=lambda pair: (pair[0], pair[1] or 6))))


def _from_monday(weekday: int) -> int:
    """Convert a weekday counted from 1, Sunday, to one counted from 1, Monday."""
    return (weekday - 2) % DAYS_OF_WEEK + 1


def _values_or_all(name: str, text: str) -> tuple[int, ...]:
    values = _values(name, text)
    low, high = BOUNDS[name]
    return () if len(values) == high - low + 1 else values


# Thousands of expressions share their fields.
@lru_cache(maxsize=4_096)
def _values(name: str, text: str) -> tuple[int, ...]:
    return tuple(sorted({value for part in text.split(",") for value in _part_values(name, part)}))


def _part_values(name: str, part: str) -> list[int]:
    found = PART.fullmatch(part)
    if found is None or not part:
        raise _unreadable(name, part)
    lowest, highest = BOUNDS[name]
    low_text, high_text, step_text = found["low"], found["high"], found["step"]
    if step_text is not None and (low_text or "0").isalpha():
        raise InvalidSchedule(
            "schedule.cron",
            f"{name} {part!r} steps from a name, and Quartz overlooks such a step",
            "write the numbers",
        )
    step = 1 if step_text is None else int(step_text)
    is_open = low_text in (None, "*")
    if step == 0 or (is_open and high_text is not None):
        raise _unreadable(name, part)
    low = lowest if is_open else _within(name, part, low_text)
    if high_text is None:
        high = low if step_text is None and not is_open else highest
    else:
        high = _within(name, part, high_text)
    if high < low and name == "year":
        raise _unreadable(name, part)
    # A range and its step go on from the highest value to the lowest.
    size = highest - lowest + 1
    last = high if low <= high else high + size
    return [(value - lowest) % size + lowest for value in range(low, last + 1, step)]


def _within(name: str, part: str, text: str) -> int:
    value = NUMBERS.get(name, {}).get(text, -1) if text.isalpha() else int(text) if text.isdecimal() else -1
    low, high = BOUNDS[name]
    if not low <= value <= high:
        raise _unreadable(name, part)
    return value


def _unreadable(name: str, part: str) -> InvalidSchedule:
    near = f"; there is {found}" if (found := nearest_before_last(name, part)) else ""
    return InvalidSchedule(
        "schedule.cron",
        f"{name} {part!r} cannot be read in the quartz dialect",
        f"{name} takes {FIELD_RANGES[name]}, with * , - and /{near}",
    )


def nearest_before_last(field: str, text: str) -> str:
    """Return what is near LW-1, as people write the last working day but one; "" for any other text."""
    found = BEFORE_LAST_WEEKDAY.fullmatch(text) if field == "day" else None
    if found is None:
        return ""
    return f"L-{found[1]}W, the Monday to Friday nearest to the last day but {found[1]}"
