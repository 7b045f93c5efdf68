"""Calendars: named sets of days on which a timer does not fire, and the next open day on which a rule may fire."""

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import date
from functools import cache, lru_cache
from hashlib import blake2b

from chinese_calendar.constants import holidays as cn_holidays
from chinese_calendar.constants import workdays as cn_workdays

from wangtimer.core.errors import InvalidInput
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.time.zones import DAY_S, Stretch, stretches_from
from wangtimer.core.work_budget import refuse_more

SATURDAY, SUNDAY = 5, 6
EVERY_DAY = frozenset(range(7))
NAME_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class Calendar:
    """Days without firings: `weekdays` (0 = Monday) and `days`, except those in `working`.

    The days are known from `first_year` to `last_year`; outside these years only the weekdays count.
    """

    name: str
    weekdays: frozenset[int] = frozenset()
    days: frozenset[date] = frozenset()
    working: frozenset[date] = frozenset()
    first_year: int | None = None
    last_year: int | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.weekdays >= EVERY_DAY:
            raise InvalidInput("weekdays", "all seven are excluded", "leave one day of the week to fire on")
        # Hashing a thousand days at each look-up of a schedule would cost more than the look-up.
        object.__setattr__(self, "_hash", hash((self.name, self.weekdays, self.days, self.working)))

    def __hash__(self) -> int:
        return self._hash

    def excludes(self, day: date) -> bool:
        """Tell whether nothing fires on this day."""
        if day in self.working:
            return False
        return day in self.days or day.weekday() in self.weekdays

    def next_open_day(self, day: int) -> int:
        """Return the first day from `day` on that is not excluded; days are proleptic ordinals (1: 1 January 1)."""
        reopens, working = _reopenings(self)
        found = min(
            reopens.get(first, first) for first in range(day, day + 7) if (first - 1) % 7 not in self.weekdays
        )
        place = bisect_left(working, day)
        return min(found, working[place]) if place < len(working) else found

    @property
    def known_until(self) -> date | None:
        """The last day of which more than the weekday is known; None if weekdays alone count.

        It is the end of the last year, or the last day named.
        """
        if self.last_year is not None:
            return date(self.last_year, 12, 31)
        return max(self.days | self.working, default=None)

    @property
    def digest(self) -> str:
        """A hash of the content, to compare calendars of the same name."""
        parts = [
            sorted(self.weekdays),
            *([day.isoformat() for day in sorted(days)] for days in (self.days, self.working)),
        ]
        return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


# As many entries as calendars that are kept once read: an app may have a hundred. Thousands of days are sorted once,
# and then a search costs the same however many days are closed.
@lru_cache(maxsize=256)
def _reopenings(calendar: Calendar) -> tuple[dict[int, int], list[int]]:
    """Return the next open day of the same weekday for each of `days`, and all working days, as ordinals."""
    reopens: dict[int, int] = {}
    for day in sorted((closed.toordinal() for closed in calendar.days - calendar.working), reverse=True):
        reopens[day] = reopens.get(day + 7, day + 7)
    return reopens, sorted(day.toordinal() for day in calendar.working)


@cache
def built_in() -> dict[str, Calendar]:
    """Return the built-in calendars by name.

    `weekends`; and `cn-off-days`: weekends and public holidays of mainland China, without the make-up working days
    (调休) that the State Council announces for each year, from the package chinesecalendar.
    """
    years = [day.year for day in cn_holidays]
    weekend = frozenset({SATURDAY, SUNDAY})
    china = Calendar(
        "cn-off-days",
        weekend,
        frozenset(cn_holidays),
        frozenset(cn_workdays),
        min(years),
        max(years),
    )
    return {calendar.name: calendar for calendar in (Calendar("weekends", weekend), china)}


DAY_ZERO = date(1970, 1, 1).toordinal()


def next_open(rule: Rule, excluded: Calendar, closed_ms: int, until_ms: int) -> int | None:
    """Return the moment from which to ask the rule again, after `closed_ms`, a moment on an excluded day.

    Between the two the rule has no moment on an open day; None means that it has none up to `until_ms`. All moments are
    ms since epoch. Each stretch of constant offset is searched by itself, because a clock change may lead back to the
    day before.
    """
    from_s, until_s = closed_ms // 1_000, until_ms // 1_000
    for stretch in stretches_from(rule.timezone, from_s):
        from_s = max(from_s, stretch.start_s)
        if from_s > until_s:
            return None
        last = _day_of(min(stretch.end_s - 1, until_s), stretch)
        day = _first_common_day(rule, excluded, stretch, _day_of(from_s, stretch), last)
        if day is not None:
            return max(from_s, day * DAY_S - stretch.offset_s) * 1_000
        from_s = stretch.end_s
    return None


def _first_common_day(rule: Rule, excluded: Calendar, stretch: Stretch, first: int, last: int) -> int | None:
    """Return the first day from `first` to `last` that is open and may have a moment; None if there is none."""
    day: int | None = first
    while day is not None and day <= last:
        open_day = excluded.next_open_day(DAY_ZERO + day) - DAY_ZERO
        if open_day > last:
            return None
        day = rule.next_day(open_day, stretch)
        if day == open_day:
            return day
        refuse_more()
    return None


def _day_of(second: int, stretch: Stretch) -> int:
    return (second + stretch.offset_s) // DAY_S
