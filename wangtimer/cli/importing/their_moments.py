"""The moments of a wall-clock schedule by brute force: day by day, hour by hour, independent of WangTimer's planning.

It is slow and simple on purpose. The reading of a dialect gives the days, hours, minutes and seconds that match, and
the moments of a wall time where clocks change.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from wangtimer.cli.importing.entries import NotTaken
from wangtimer.core.time.meant_zones import unknown_zone
from wangtimer.core.time.zones import read_zone

LAST_DAY = date(2199, 12, 31)
# In any zone, a later wall time comes at most this much before an earlier one.
MOST_SET_BACK = timedelta(hours=4)
ONE_DAY, ONE_HOUR = timedelta(days=1), timedelta(hours=1)

# Returns the moments (ms UTC) of a wall time in a zone.
MomentsOfWall = Callable[[datetime, ZoneInfo], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class WallSchedule:
    """The wall times that match: every combination of hours, minutes and seconds on matching days."""

    zone: ZoneInfo
    is_day: Callable[[date], bool]
    hours: Collection[int]
    minutes: Collection[int]
    moments_of: MomentsOfWall
    seconds: Collection[int] = (0,)

    def moments(self, after_ms: int, count: int) -> list[int]:
        """Return the first `count` moments after `after_ms` (ms UTC), fewer where there are no more to 2199."""
        found: set[int] = set()
        for hour, walls in self._hours_from(datetime.fromtimestamp(after_ms / 1_000, UTC) - 2 * ONE_DAY):
            if len(found) >= count and self._cannot_precede(hour, sorted(found)[count - 1]):
                break
            found |= {
                moment for wall in walls for moment in self.moments_of(wall, self.zone) if moment > after_ms
            }
        return sorted(found)[:count]

    def _hours_from(self, moment: datetime) -> Iterator[tuple[datetime, list[datetime]]]:
        """Yield each wall-clock hour with its matching times, from the hour of a moment on."""
        day = moment.astimezone(self.zone).date()
        while day <= LAST_DAY:
            if self.is_day(day):
                for hour in sorted(self.hours):
                    begin = datetime(day.year, day.month, day.day, hour)  # noqa: DTZ001  a wall clock's
                    yield begin, self._times_in(begin)
            day += ONE_DAY

    def _times_in(self, hour: datetime) -> list[datetime]:
        return [
            hour.replace(minute=minute, second=second) for minute in self.minutes for second in self.seconds
        ]

    def _cannot_precede(self, hour: datetime, moment_ms: int) -> bool:
        last_wall = datetime.fromtimestamp(moment_ms / 1_000, self.zone).replace(tzinfo=None)
        return hour - MOST_SET_BACK > last_wall


def zone_of(name: str) -> ZoneInfo:
    """Return the zone of a name; raises `NotTaken`, with the zone that was meant where it can be told."""
    try:
        return read_zone(name)
    except KeyError:
        error = unknown_zone(name)
        raise NotTaken(f"{error.reason}; {error.mend}") from None


def passes_of(wall: datetime, zone: ZoneInfo) -> tuple[int, ...]:
    """Return the moments (ms UTC) of a wall time: one; none in a gap; two where clocks are set back."""
    found = {wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    shown = [one for one in found if one.astimezone(zone).replace(tzinfo=None) == wall]
    return tuple(sorted(ms_of(one) for one in shown))


def last_pass_of(wall: datetime, zone: ZoneInfo) -> tuple[int, ...]:
    """Return the last moment of a wall time; none in a gap."""
    return passes_of(wall, zone)[-1:]


def first_pass_of(wall: datetime, zone: ZoneInfo) -> tuple[int, ...]:
    """Return the first moment of a wall time; none in a gap."""
    return passes_of(wall, zone)[:1]


def first_pass_or_end_of_gap(wall: datetime, zone: ZoneInfo) -> tuple[int, ...]:
    """Return the first moment of a wall time; in a gap, the end of the gap."""
    return passes_of(wall, zone)[:1] or (_end_of_gap(wall, zone),)


def ms_of(moment: datetime) -> int:
    """Return a moment as ms UTC, finer parts left out."""
    return int(moment.timestamp()) * 1_000


def _end_of_gap(wall: datetime, zone: ZoneInfo) -> int:
    """Return the first moment after the gap that holds a wall time."""
    # With the offset before the gap, a time in the gap is as far after its end as it is into the gap.
    high = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    offset = high.astimezone(zone).utcoffset()
    low = high
    while low.astimezone(zone).utcoffset() == offset:
        low -= timedelta(minutes=15)
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        low, high = (low, middle) if middle.astimezone(zone).utcoffset() == offset else (middle, high)
    # Offsets change at whole seconds.
    return ms_of(high)
