"""Cron expressions: what is accepted, and at which moments one fires.

Dialect: `minute hour day month weekday`, or `second minute hour day month weekday [year]`, or a macro
(`@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`). Weekdays count 0 and 7
as Sunday. Day and weekday both given means either of them. `?` in a day field means `*`. `L` is the last
day of the month, `L5` the last Friday, `5#2` the second Friday, `15W` the weekday nearest to the 15th.

croniter reads the fields and finds the matching days; the moments within a day, and what happens when
the clocks change (`docs/decisions/0002-dst-rule.md`), are worked out here.
"""

import copy
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import takewhile

from croniter import CroniterError, croniter
from croniter.croniter import DOW_ALPHAS, HOUR_FIELD, M_ALPHAS, MINUTE_FIELD, SECOND_FIELD

from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.zones import DAY_S, LAST_YEAR, Stretch, read_zone, stretches_from

MAX_LENGTH = 128
HOUR_S = 3_600
# One cached block: long enough to be worth the look-up, short enough that a per-second one is 28.8 kB.
BLOCK_MS = HOUR_S * 1_000
# 28.8 kB each at most, so 30 MB a process if every one were of a per-second expression.
MAX_BLOCKS = 1_024
# How far a year field is searched: all of croniter's range, 1970 to 2099. Without one croniter gives up after
# 50 years, enough for a 29 February that is a fifth Monday; a search in vain takes 0.2 s.
YEARS_SEARCHED = 130
# Moments are those of 1970 to 2199.
END_MS = int(datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp()) * 1_000
# A moment lies less than this from its own wall time read as UTC, in every zone and across every gap.
MAX_SHIFT_S = DAY_S

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
class Cron:
    """The moments of a cron expression on the wall clock of an IANA zone; made by `Cron.parse`."""

    expression: str
    timezone: str

    @classmethod
    def parse(cls, expression: str, timezone: str = "UTC", after_ms: int = 0) -> "Cron":
        """Return the schedule, its white space normalised.

        InvalidSchedule (field "cron" or "timezone") if either cannot be read, or if the schedule has no
        moment after `after_ms` (ms since epoch).
        """
        try:
            read_zone(timezone)
        except KeyError:
            raise _unknown_zone(timezone) from None
        cron = cls(" ".join(expression.split()), timezone)
        _read(cron.expression)
        if cron.first_after(after_ms) is None:
            raise InvalidSchedule(
                "cron",
                f"{cron.expression!r} never fires",
                "name a day that its months have, and a year still to come",
            )
        return cron

    def moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Return the moments in (after_ms, until_ms], ascending, the first `limit` of them at most."""
        found: list[int] = []
        number = max(after_ms + 1, 0) // BLOCK_MS
        last = min(until_ms, END_MS - 1) // BLOCK_MS
        while number <= last and len(found) < limit:
            block = _block(self, number)
            if not block and number < last:
                number = _next_full_block(self, number + 1)
                continue
            low, high = bisect_right(block, after_ms), bisect_right(block, until_ms)
            found += block[low : min(high, low + limit - len(found))]
            number += 1
        return found

    def first_after(self, after_ms: int) -> int | None:
        """Return the first moment after `after_ms`, or None if there is none."""
        return next(iter(self.moments(after_ms, END_MS, 1)), None)

    def matches(self, moment_ms: int) -> bool:
        """Tell whether `moment_ms` is one of the moments."""
        return _is_moment(self, moment_ms)


@dataclass(frozen=True, slots=True)
class _Fields:
    """A read expression: which days (asked of `days`), hours, and seconds within an hour match.

    `is_fixed`: neither minute nor hour starts with `*`, so the schedule names times of day.
    """

    days: croniter
    hours: tuple[int, ...]
    seconds_of_hour: "array[int]"
    is_fixed: bool


@lru_cache(maxsize=65_536)
def _is_moment(cron: Cron, moment_ms: int) -> bool:
    return cron.moments(moment_ms - 1, moment_ms, 1) == [moment_ms]


@lru_cache(maxsize=MAX_BLOCKS)
def _block(cron: Cron, number: int) -> "array[int]":
    """Return the moments in ms of the hour `number` since epoch, ascending."""
    end_s = (number + 1) * HOUR_S
    return array("q", (at_s * 1_000 for at_s in takewhile(end_s.__gt__, _walk(cron, number * HOUR_S))))


@lru_cache(maxsize=16_384)
def _next_full_block(cron: Cron, number: int) -> int:
    """Return the number of the first block from `number` on that has a moment, or one past the end."""
    from_s = number * HOUR_S
    day = _next_day(cron.expression, (from_s - MAX_SHIFT_S) // DAY_S)
    if day is None:
        return END_MS // BLOCK_MS
    first = next(_walk(cron, max(from_s, day * DAY_S - MAX_SHIFT_S)), None)
    return END_MS // BLOCK_MS if first is None else first // HOUR_S


def _walk(cron: Cron, from_s: int) -> Iterator[int]:
    """Yield the moments from `from_s` on, in seconds since epoch, ascending."""
    fields = _read(cron.expression)
    for stretch in stretches_from(cron.timezone, from_s):
        first_s = max(from_s, stretch.start_s)
        if fields.is_fixed:
            yield from _fixed_moments(cron.expression, stretch, first_s)
        else:
            yield from _moments_between(cron.expression, stretch, first_s)
        from_s = stretch.end_s


def _moments_between(expression: str, stretch: Stretch, first_s: int) -> Iterator[int]:
    """Yield the moments from `first_s` to the end of the stretch, each match of the wall clock being one."""
    offset_s = stretch.offset_s
    for wall_s in _wall_matches(expression, first_s + offset_s, stretch.end_s + offset_s):
        yield wall_s - offset_s


def _fixed_moments(expression: str, stretch: Stretch, first_s: int) -> Iterator[int]:
    """Yield the moments of a fixed schedule: none in a second pass, one for all that a gap swallowed."""
    new_wall_s = stretch.start_s + stretch.offset_s
    old_wall_s = stretch.start_s + stretch.offset_before_s
    if first_s == stretch.start_s and old_wall_s < new_wall_s:
        # The instant after the gap is asked about along with the gap: one firing for both.
        if any(True for _ in _wall_matches(expression, old_wall_s, new_wall_s + 1)):
            yield first_s
        first_s += 1
    second_pass_end_s = old_wall_s - stretch.offset_s
    yield from _moments_between(expression, stretch, max(first_s, second_pass_end_s))


def _wall_matches(expression: str, from_s: int, until_s: int) -> Iterator[int]:
    """Yield the matching wall times in [from_s, until_s), as seconds since epoch if the zone were UTC."""
    fields = _read(expression)
    day = _next_day(expression, from_s // DAY_S)
    while day is not None and day * DAY_S < until_s:
        for hour in fields.hours:
            hour_s = day * DAY_S + hour * HOUR_S
            low = bisect_left(fields.seconds_of_hour, from_s - hour_s)
            high = bisect_left(fields.seconds_of_hour, until_s - hour_s)
            for second in fields.seconds_of_hour[low:high]:
                yield hour_s + second
        day = _next_day(expression, day + 1)


@lru_cache(maxsize=16_384)
def _next_day(expression: str, day: int) -> int | None:
    """Return the first matching day from `day` on, both counted from 1970-01-01, or None."""
    # A copy, because croniter keeps its place in itself and threads share the cached one.
    days = copy.copy(_read(expression).days)
    try:
        return int(days.get_next(float, start_time=float(day * DAY_S - 1))) // DAY_S
    except CroniterError:
        return None


@lru_cache(maxsize=1_024)
def _read(expression: str) -> _Fields:
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
    return _Fields(
        days=_days_only(by_name),
        hours=_values(values[HOUR_FIELD], 24),
        seconds_of_hour=array("H", (minute * 60 + second for minute in minutes for second in seconds)),
        is_fixed=not by_name["minute"].startswith("*") and not by_name["hour"].startswith("*"),
    )


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
    for part in text.split(","):
        if found := RANGE.fullmatch(part):
            _refuse_misread_range(name, found)


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


def _unknown_zone(timezone: str) -> InvalidSchedule:
    return InvalidSchedule(
        "timezone",
        f"{timezone[:64]!r} is not an IANA time zone",
        "write a name such as UTC, Asia/Shanghai or Europe/London",
    )
