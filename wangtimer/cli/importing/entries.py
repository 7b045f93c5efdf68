"""The entries of a source: those that can become timers, and those that cannot; what each calls, and its moments.

The moments of a wall-clock schedule are found by brute force, day by day and hour by hour, independent of WangTimer's
planning: slow and simple on purpose.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from wangtimer.core.time.meant_zones import unknown_zone
from wangtimer.core.time.zones import read_zone

# A key has 128 characters at most. This leaves room for a number at the end.
MOST_OF_NAME = 120
_UNFIT = re.compile(r"[^\w.:@+-]+")
PLACES = ("name", "key")
_PLACE = re.compile(r"\{([^{}]*)\}")
LAST_DAY = date(2199, 12, 31)
# In any zone, a later wall time comes at most this much before an earlier one.
MOST_SET_BACK = timedelta(hours=4)
ONE_DAY, ONE_HOUR = timedelta(days=1), timedelta(hours=1)
# Returns the moments (ms UTC) of a wall time in a zone.
MomentsOfWall = Callable[[datetime, ZoneInfo], tuple[int, ...]]
# Takes a moment and a number; returns that many moments after it, ascending, all in ms UTC.
TheirMoments = Callable[[int, int], list[int]]


class NotTaken(Exception):
    """An entry of a source cannot become a timer; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One schedule of a source, and the timer it becomes.

    `place` is where the entry is (a line, a row), `original` its schedule as written there. `name` is what it calls,
    for `{name}` in the URL of the target; `key` names the timer. `schedule`, `misfire` and `overlap` are in v1's
    form; `body` is what the timer sends, and `options` how the source would send it. `moments` are the source's, by a
    reading of its dialect that is independent of ours. `notes` name the parts that have no counterpart.
    """

    place: str
    original: str
    key: str
    name: str
    schedule: Mapping[str, Any]
    body: Mapping[str, Any]
    moments: TheirMoments
    is_enabled: bool = True
    misfire: Mapping[str, Any] | None = None
    overlap: str | None = None
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry of a source that does not become a timer, and why."""

    place: str
    original: str
    reason: str


Found = Entry | Refusal


def fit_for_key(text: str) -> str:
    """Return the text as a valid key: without spaces, and without a slash, which a path cannot hold."""
    return _UNFIT.sub("-", text).strip("-")[:MOST_OF_NAME] or "timer"


def numbering() -> Callable[[str], str]:
    """Return a function that makes names unique: the second of a name gets `-2`, and so on."""
    given: dict[str, int] = {}

    def next_of(name: str) -> str:
        key, number = name, given.get(name, 0)
        while key in given:
            number += 1
            key = f"{name}-{number + 1}"
        given[key] = 0
        if key != name:
            given[name] = number
        return key

    return next_of


def every_so_often(interval_ms: int, first_ms: int, most: int | None = None) -> TheirMoments:
    """Return the moments of an interval from its first on (ms UTC), `most` of them at most."""

    def moments(after_ms: int, count: int) -> list[int]:
        number = max(0, (after_ms - first_ms) // interval_ms + 1)
        end = number + count if most is None else min(number + count, most)
        return [first_ms + place * interval_ms for place in range(number, end)]

    return moments


def only_once(moment_ms: int) -> TheirMoments:
    """Return the one moment (ms UTC), until it is past."""
    return lambda after_ms, count: [moment_ms][:count] if moment_ms > after_ms else []


@dataclass(frozen=True, slots=True)
class TargetMapping:
    """`url` is for all entries, with `{name}` (what the entry calls) and `{key}` in it; `urls` are by name.

    `through` is a named target of Celery instead, whose workers run the tasks.
    """

    url: str
    urls: Mapping[str, str]
    method: str | None
    headers: Mapping[str, str]
    through: str | None = None

    def __post_init__(self) -> None:
        for url in (self.url, *self.urls.values()):
            for place in _PLACE.findall(url):
                if place not in PLACES:
                    raise ValueError(f"{{{place}}} in {url}: there are {{name}} and {{key}}")

    def target_of(self, entry: Entry) -> dict[str, Any]:
        """Return the target of v1 for an entry."""
        if self.through is not None:
            queue = entry.options.get("queue")
            return {"name": self.through, "celery": {**entry.body, **({"queue": queue} if queue else {})}}
        values = {"name": entry.name, "key": entry.key}
        url = self.urls.get(entry.name, self.url)
        target: dict[str, Any] = {"url": _PLACE.sub(lambda found: quote(values[found[1]], safe=""), url)}
        if self.method:
            target["method"] = self.method
        if self.headers:
            target["headers"] = dict(self.headers)
        return target | {"json": dict(entry.body)}


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
    shown = [moment for moment in found if moment.astimezone(zone).replace(tzinfo=None) == wall]
    return tuple(sorted(ms_of(moment) for moment in shown))


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
