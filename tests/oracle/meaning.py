"""What a cron expression means, read from the dialect's description alone: sets of numbers, and a rule for days.

It shares no code with `wangtimer.core.cron.cron_fields` and uses no croniter. It does not refuse: what it is given
is in the dialect. Readings that the description leaves open are settled here: `n/step` runs to the field's last
value, for weekdays to 6 (Saturday); `31W` in a shorter month is the weekday nearest to its last day; a field
that holds a bare `*` or is `?` says nothing; every year that can be written means every year.
"""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
NAMES = {name: at for at, name in enumerate(MONTHS, 1)} | {name: at for at, name in enumerate(WEEKDAYS)}
FIRST_YEAR, LAST_YEAR = 1970, 2099
SATURDAY = 6
DAY_ZERO = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Rules:
    """In what cronsim reads expressions or handles changes of clocks in another way; ours by default."""

    starred_days_are_and: bool = False
    weekday_steps_reach_seven: bool = False
    six_fields_follow_the_clock: bool = False


OURS = Rules()


@dataclass(frozen=True, slots=True)
class DayRule:
    """Which days of a month its day field and its weekday field allow."""

    days: frozenset[int]
    is_last_allowed: bool
    nearest_weekday_to: int | None
    weekdays: frozenset[int]
    nth_weekdays: frozenset[tuple[int, int]]
    last_weekdays: frozenset[int]
    are_both_needed: bool

    def allows(self, day: date) -> bool:
        if self.are_both_needed:
            return self._allows_day(day) and self._allows_weekday(day)
        return self._allows_day(day) or self._allows_weekday(day)

    def _allows_day(self, day: date) -> bool:
        length = monthrange(day.year, day.month)[1]
        if self.nearest_weekday_to is not None:
            return day == _nearest_weekday(day.replace(day=min(self.nearest_weekday_to, length)))
        return day.day in self.days or (self.is_last_allowed and day.day == length)

    def _allows_weekday(self, day: date) -> bool:
        weekday = day.isoweekday() % 7
        is_last = day.day + 7 > monthrange(day.year, day.month)[1]
        nth = (day.day + 6) // 7
        return (
            weekday in self.weekdays
            or (weekday, nth) in self.nth_weekdays
            or (is_last and weekday in self.last_weekdays)
        )


@dataclass(frozen=True, slots=True)
class Meaning:
    """All that an expression says. `years` is None where it says nothing of years."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: frozenset[int]
    years: frozenset[int] | None
    day_rule: DayRule
    follows_the_clock: bool

    def has_day(self, day_number: int) -> bool:
        """Tell whether the day, counted from 1970-01-01, is one of its days."""
        day = date.fromordinal(DAY_ZERO + day_number)
        return (
            day.month in self.months
            and (self.years is None or day.year in self.years)
            and self.day_rule.allows(day)
        )


def read_meaning(expression: str, rules: Rules = OURS) -> Meaning:
    """Return what an expression of the dialect means, under our rules or others."""
    texts = fields_of(expression)
    has_seconds = len(texts) > 5
    second, minute, hour, day, month, weekday, *year = texts if has_seconds else ["0", *texts]
    return Meaning(
        seconds=_sorted(_values(second, 0, 59)),
        minutes=_sorted(_values(minute, 0, 59)),
        hours=_sorted(_values(hour, 0, 23)),
        months=_values(month, 1, 12),
        years=_years(year[0]) if year else None,
        day_rule=_day_rule(day, weekday, rules),
        follows_the_clock=minute.startswith("*")
        or hour.startswith("*")
        or (has_seconds and rules.six_fields_follow_the_clock),
    )


def fields_of(expression: str) -> list[str]:
    """Return the fields in lower case, macros written out."""
    text = expression.lower()
    return MACROS.get(text, text).split()


def _years(text: str) -> frozenset[int] | None:
    years = _values(text, FIRST_YEAR, LAST_YEAR)
    return None if len(years) == LAST_YEAR - FIRST_YEAR + 1 else years


def _day_rule(day: str, weekday: str, rules: Rules) -> DayRule:
    parts = weekday.replace("?", "*").split(",")
    plain = [part for part in parts if "#" not in part and not part.startswith("l")]
    nths = [part.split("#") for part in parts if "#" in part]
    is_near = "w" in day
    return DayRule(
        days=frozenset() if is_near else _values(_without(day.replace("?", "*"), "l"), 1, 31),
        is_last_allowed="l" in day.split(","),
        nearest_weekday_to=int(day.strip("w")) if is_near else None,
        weekdays=_weekdays(plain, rules),
        nth_weekdays=frozenset((one, int(n)) for of, n in nths for one in _weekdays([of], rules)),
        last_weekdays=frozenset(int(part[1:]) % 7 for part in parts if part.startswith("l")),
        are_both_needed=_are_both_needed(day, weekday, rules),
    )


def _are_both_needed(day: str, weekday: str, rules: Rules) -> bool:
    """Tell whether a day has to satisfy both fields, as it does where one of them says nothing."""
    if rules.starred_days_are_and:
        return any(text.replace("?", "*").startswith("*") for text in (day, weekday))
    return any(part in ("*", "?") for text in (day, weekday) for part in text.split(","))


def _weekdays(parts: list[str], rules: Rules) -> frozenset[int]:
    return frozenset(value % 7 for part in parts for value in _weekday_values(part, rules))


def _weekday_values(part: str, rules: Rules) -> frozenset[int]:
    start, _, step = part.partition("/")
    if step and "-" not in start and start != "*":
        if rules.weekday_steps_reach_seven:
            return _values(part, 0, 7)
        return frozenset(range(_number(start) % 7, SATURDAY + 1, int(step)))
    return _values(part, 0, SATURDAY)


def _values(text: str, low: int, high: int) -> frozenset[int]:
    return frozenset(value for part in text.split(",") if part for value in _part_values(part, low, high))


def _part_values(part: str, low: int, high: int) -> list[int]:
    spread, _, step = part.partition("/")
    start, _, end = spread.partition("-")
    if start == "*":
        return list(range(low, high + 1, int(step or 1)))
    first = _number(start)
    if end:
        last = high if end == "l" else _number(end)
        if first > last:
            return [*range(first, high + 1), *range(low, last + 1)]
        return list(range(first, last + 1, int(step or 1)))
    return list(range(first, high + 1, int(step))) if step else [first]


def _number(text: str) -> int:
    return NAMES[text] if text in NAMES else int(text)


def _without(text: str, dropped: str) -> str:
    return ",".join(part for part in text.split(",") if part != dropped)


def _sorted(values: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(values))


def _nearest_weekday(day: date) -> date:
    """Return the Monday to Friday of the same month that is nearest to `day`."""
    near = (day + timedelta(days=shift) for shift in (0, -1, 1, -2, 2))
    return next(one for one in near if one.month == day.month and one.isoweekday() <= 5)
