"""An interval: every so many ms from an anchor on, or every so many days of the wall clock."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from wangtimer.core.cron.cron import END_MS
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.schedules.rule import day_of_first
from wangtimer.core.time.meant_zones import unknown_zone
from wangtimer.core.time.zones import DAY_MS, LAST_YEAR, Stretch, read_zone, second_of_wall, zone_names

MOST_DAYS = 366
# ms: as often as a cron can fire; a year.
SHORTEST_MS = 1_000
LONGEST_MS = MOST_DAYS * DAY_MS


@dataclass(frozen=True, slots=True)
class Every:
    """`anchor_ms`, and each `interval_ms` after it (ms since epoch, UTC); its days are those of `timezone`."""

    interval_ms: int
    anchor_ms: int
    timezone: str = "UTC"

    @classmethod
    def parse(cls, interval_ms: int, anchor_ms: int, timezone: str = "UTC") -> Self:
        """Return the schedule; raises InvalidSchedule for an interval or a zone that it cannot have."""
        if not SHORTEST_MS <= interval_ms <= LONGEST_MS:
            raise InvalidSchedule(
                "schedule.every",
                f"{str(interval_ms)[:30]} ms is not between {SHORTEST_MS} and {LONGEST_MS}",
                "write an interval of a second or more; for one moment use at",
            )
        if timezone not in zone_names():
            raise unknown_zone(timezone)
        return cls(interval_ms, anchor_ms, timezone)

    @property
    def only_moment(self) -> None:
        """None, since it recurs."""
        return

    def moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Return the first `limit` moments in (after_ms, until_ms], ascending."""
        nth = max(0, (after_ms - self.anchor_ms) // self.interval_ms + 1)
        first = self.anchor_ms + nth * self.interval_ms
        last = min(until_ms, END_MS - 1, first + (limit - 1) * self.interval_ms)
        return list(range(first, last + 1, self.interval_ms))

    def first_after(self, after_ms: int) -> int | None:
        """Return the first moment after `after_ms`, or None if there is none."""
        return next(iter(self.moments(after_ms, END_MS, 1)), None)

    def matches(self, moment_ms: int) -> bool:
        """Tell whether `moment_ms` is one of the moments."""
        return moment_ms >= self.anchor_ms and (moment_ms - self.anchor_ms) % self.interval_ms == 0

    def next_day(self, day: int, stretch: Stretch) -> int | None:
        """Return the first day from `day` (by the stretch's offset, from 1970-01-01) with a moment; None: none."""
        return day_of_first(self, day, stretch)

    def anchored_at(self, moment_ms: int) -> Self:
        """Return the rule counted from a moment, which is its first one."""
        return replace(self, anchor_ms=moment_ms)


@dataclass(frozen=True, slots=True)
class EveryDays(Every):
    """The time of day that `timezone` has at `anchor_ms`, on that day and at each interval, of whole days, after it.

    It stays the same when clocks change; for a day that has it twice or not at all see `second_of_wall`.
    """

    @property
    def days(self) -> int:
        """The interval in days."""
        return self.interval_ms // DAY_MS

    def moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Return the first `limit` moments in (after_ms, until_ms], ascending."""
        second, ms = divmod(self.anchor_ms, 1_000)
        first = datetime.fromtimestamp(second, read_zone(self.timezone)).replace(tzinfo=None)
        # Clocks change by a day at most, so all before this one are past.
        nth = max(0, (after_ms - self.anchor_ms) // self.interval_ms - 2)
        found: list[int] = []
        while len(found) < limit and (wall := first + timedelta(self.days * nth)).year <= LAST_YEAR:
            at = second_of_wall(self.timezone, wall) * 1_000 + ms
            if at > until_ms:
                break
            # A skipped day's moment may be that of the day after.
            if at > after_ms and at not in found[-1:]:
                found.append(at)
            nth += 1
        return found

    def matches(self, moment_ms: int) -> bool:
        """Tell whether `moment_ms` is one of the moments."""
        return self.moments(moment_ms - 1, moment_ms, 1) == [moment_ms]
