"""Cron expressions: what is accepted, and at which moments one fires.

The unix dialect, read in `cron_unix`: `minute hour day month weekday`, or `second minute hour day month weekday
[year]`, or a macro (`@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`). Weekdays
count 0 and 7 as Sunday. Day and weekday both given means either of them. `?` in a day field means `*`. `L` is
the last day of the month, `L5` the last Friday, `5#2` the second Friday, `15W` the weekday nearest to the 15th.

The quartz dialect, read in `cron_quartz`: `second minute hour day month weekday [year]`, with `?` for day or weekday.
Weekdays count from 1, Sunday. `6L` is the last Friday, `6#2` the second, `L-3` the third day before the last of the
month, `LW` its last Monday to Friday, `15W` the nearest to the 15th.

What an expression means is read in `cron_fields`; its moments, and what happens when the clocks change
(`docs/decisions/0002-dst-rule.md`), are worked out here.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import takewhile

from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.cron.cron_fields import Fields, read_fields
from wangtimer.core.cron.cron_meaning import Days, Meaning
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.time.meant_zones import unknown_zone
from wangtimer.core.time.zones import DAY_S, LAST_YEAR, Stretch, read_zone, stretches_from

HOUR_S = 3_600
# One cached block: long enough to be worth the look-up, short enough that one of a per-second expression is 28.8 kB.
BLOCK_MS = HOUR_S * 1_000
# 28.8 kB each at most, so 30 MB a process if all were of per-second expressions.
MAX_BLOCKS = 1_024
# Of at most a moment a minute: 1 kB each. A batch of 1,000 crons comes back to the same blocks several times.
MAX_SPARSE_BLOCKS = 16_384
MOST_SPARSE = 60
# Moments lie in the years 1970 to 2199.
END_MS = int(datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp()) * 1_000
DAY_ZERO = date(1970, 1, 1).toordinal()
EVERY_MONTH = range(1, 13)
# A moment and its wall time read as UTC differ by less than this, in every zone and across every gap.
MAX_SHIFT_S = DAY_S


@dataclass(frozen=True, slots=True)
class Cron:
    """The moments of a cron expression on the wall clock of an IANA zone; made by `Cron.parse`."""

    expression: str
    timezone: str
    dialect: CronDialect = CronDialect.UNIX

    @classmethod
    def parse(
        cls,
        expression: str,
        timezone: str = "UTC",
        after_ms: int = 0,
        dialect: CronDialect = CronDialect.UNIX,
    ) -> "Cron":
        """Return the schedule, its white space normalised.

        InvalidSchedule (field "cron" or "timezone") if either cannot be read, or if the schedule has no
        moment after `after_ms` (ms since epoch).
        """
        cron = cls.read(expression, timezone, dialect)
        if cron.first_after(after_ms) is None:
            raise never_fires(cron)
        return cron

    @classmethod
    def read(cls, expression: str, timezone: str = "UTC", dialect: CronDialect = CronDialect.UNIX) -> "Cron":
        """Return the schedule as `parse` does, even if it never fires."""
        try:
            read_zone(timezone)
        except KeyError:
            raise unknown_zone(timezone) from None
        cron = cls(" ".join(expression.split()), timezone, dialect)
        read_fields(cron.expression, dialect)
        return cron

    @property
    def fields(self) -> Fields:
        """The fields of the expression; InvalidSchedule if it cannot be read."""
        return read_fields(self.expression, self.dialect)

    @property
    def meaning(self) -> Meaning:
        """What the expression means; InvalidSchedule if it cannot be read."""
        return self.fields.meaning

    @property
    def only_moment(self) -> None:
        """None, since it recurs."""
        return

    def moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Return the first `limit` moments in (after_ms, until_ms], ascending."""
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

    def next_day(self, day: int, stretch: Stretch) -> int | None:
        """Return the first day from `day` (wall clock, from 1970-01-01) that may have a moment; None: none to come."""
        if day == stretch.day_after_lost_evening and self.meaning.is_fixed:
            return day
        return self._next_match(day)

    def anchored_at(self, _moment_ms: int) -> "Cron":
        """Return itself: its moments are those of the wall clock."""
        return self

    @property
    def has_days(self) -> bool:
        """Whether any day matches."""
        return self._next_match(0) is not None

    def _next_match(self, day: int) -> int | None:
        meaning = self.meaning
        return _next_day(meaning.days, meaning.months, meaning.years, day)


def never_fires(cron: Cron) -> InvalidSchedule:
    """Return the error for an expression that has no coming moment."""
    return InvalidSchedule(
        "schedule.cron",
        f"{cron.expression!r} never fires",
        "name a day that its months have, and a year still to come",
    )


@lru_cache(maxsize=65_536)
def _is_moment(cron: Cron, moment_ms: int) -> bool:
    return cron.moments(moment_ms - 1, moment_ms, 1) == [moment_ms]


def _block(cron: Cron, number: int) -> "array[int]":
    """Return the moments in ms of the hour `number` since epoch, ascending."""
    is_sparse = len(cron.fields.seconds_of_hour) <= MOST_SPARSE
    return _sparse_block(cron, number) if is_sparse else _dense_block(cron, number)


@lru_cache(maxsize=MAX_SPARSE_BLOCKS)
def _sparse_block(cron: Cron, number: int) -> "array[int]":
    return _new_block(cron, number)


@lru_cache(maxsize=MAX_BLOCKS)
def _dense_block(cron: Cron, number: int) -> "array[int]":
    return _new_block(cron, number)


def _new_block(cron: Cron, number: int) -> "array[int]":
    end_s = (number + 1) * HOUR_S
    return array("q", (at_s * 1_000 for at_s in takewhile(end_s.__gt__, _walk(cron, number * HOUR_S))))


@lru_cache(maxsize=16_384)
def _next_full_block(cron: Cron, number: int) -> int:
    """Return the number of the first block from `number` on that has a moment, or one past the end."""
    from_s = number * HOUR_S
    day = cron._next_match((from_s - MAX_SHIFT_S) // DAY_S)
    if day is None:
        return END_MS // BLOCK_MS
    first = next(_walk(cron, max(from_s, day * DAY_S - MAX_SHIFT_S)), None)
    return END_MS // BLOCK_MS if first is None else first // HOUR_S


def _walk(cron: Cron, from_s: int) -> Iterator[int]:
    """Yield the moments from `from_s` on, in seconds since epoch, ascending."""
    is_fixed = cron.meaning.is_fixed
    for stretch in stretches_from(cron.timezone, from_s):
        first_s = max(from_s, stretch.start_s)
        if is_fixed:
            yield from _fixed_moments(cron, stretch, first_s)
        else:
            yield from _moments_between(cron, stretch, first_s)
        from_s = stretch.end_s


def _moments_between(cron: Cron, stretch: Stretch, first_s: int) -> Iterator[int]:
    """Yield the moments from `first_s` to the end of the stretch, in seconds since epoch, ascending."""
    offset_s = stretch.offset_s
    for wall_s in _wall_matches(cron, first_s + offset_s, stretch.end_s + offset_s):
        yield wall_s - offset_s


def _fixed_moments(cron: Cron, stretch: Stretch, first_s: int) -> Iterator[int]:
    """Yield the moments of a fixed schedule: none in the second pass of an overlap, one for all lost in a gap."""
    new_wall_s = stretch.start_s + stretch.offset_s
    old_wall_s = stretch.start_s + stretch.offset_before_s
    if first_s == stretch.start_s and old_wall_s < new_wall_s:
        # The instant after the gap is checked together with the gap: one firing for both.
        if any(True for _ in _wall_matches(cron, old_wall_s, new_wall_s + 1)):
            yield first_s
        first_s += 1
    second_pass_end_s = old_wall_s - stretch.offset_s
    yield from _moments_between(cron, stretch, max(first_s, second_pass_end_s))


def _wall_matches(cron: Cron, from_s: int, until_s: int) -> Iterator[int]:
    """Yield the matching wall times in [from_s, until_s), as seconds since epoch if the zone were UTC."""
    fields = cron.fields
    meaning, seconds = fields.meaning, fields.seconds_of_hour
    day = _next_day(meaning.days, meaning.months, meaning.years, from_s // DAY_S)
    while day is not None and day * DAY_S < until_s:
        for hour in meaning.hours[bisect_left(meaning.hours, from_s // HOUR_S - day * 24) :]:
            hour_s = day * DAY_S + hour * HOUR_S
            if hour_s >= until_s:
                return
            low, high = bisect_left(seconds, from_s - hour_s), bisect_left(seconds, until_s - hour_s)
            for second in seconds[low:high]:
                yield hour_s + second
        day = _next_day(meaning.days, meaning.months, meaning.years, day + 1)


# Keyed by the days themselves: thousands of crons share them.
@lru_cache(maxsize=16_384)
def _next_day(days: Days, months: tuple[int, ...], years: tuple[int, ...], day: int) -> int | None:
    """Return the first matching day from `day` on, both counted from 1970-01-01, or None."""
    from_day = date.fromordinal(DAY_ZERO + day)
    # East of Greenwich the wall clock shows the year after the last one before the last one is over.
    for year in years or range(from_day.year, LAST_YEAR + 2):
        for month in months or EVERY_MONTH:
            if (year, month) >= (from_day.year, from_day.month):
                found = _days_of_month(days, year, month)
                if found and found[-1] >= day:
                    return found[bisect_left(found, day)]
    return None


@lru_cache(maxsize=16_384)
def _days_of_month(days: Days, year: int, month: int) -> tuple[int, ...]:
    """Return the matching days of a month, counted from 1970-01-01."""
    before = date(year, month, 1).toordinal() - DAY_ZERO - 1
    return tuple(before + day for day in days.of_month(year, month))
