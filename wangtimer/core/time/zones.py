"""Where the offset of an IANA zone changes, and the stretches of constant offset in between.

Zones are read from the `tzdata` package, never from the machine: nodes with the same dependencies agree.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from zoneinfo import ZoneInfo

LAST_YEAR = 2199
"""The last year that has stretches; croniter's own year field ends at 2099."""

DAY_S = 86_400
DAY_MS = DAY_S * 1_000
# No zone has two changes of offset within four days since 1970 (tzdata 2026, all 598 zones).
SAMPLE_S = DAY_S


@dataclass(frozen=True, slots=True)
class Transition:
    """The second `at_s` (since epoch, UTC) at which the offset goes from `before_s` to `after_s`."""

    at_s: int
    before_s: int
    after_s: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Time from `start_s` up to, not including, `end_s` (since epoch, UTC) in which the offset is `offset_s`.

    `start_s` is a transition from `offset_before_s`, or lies in an earlier year with both offsets equal;
    `end_s` is the next transition or the end of a year, whichever comes first.
    """

    start_s: int
    end_s: int
    offset_s: int
    offset_before_s: int

    @property
    def day_after_lost_evening(self) -> int | None:
        """The stretch's first day, counted from 1970-01-01, if the gap at its start began the day before; else None."""
        day = (self.start_s + self.offset_s) // DAY_S
        return day if (self.start_s + self.offset_before_s) // DAY_S < day else None


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Return the names of all IANA zones."""
    return frozenset(files("tzdata").joinpath("zones").read_text("ascii").split())


@lru_cache(maxsize=1024)
def read_zone(name: str) -> ZoneInfo:
    """Return the zone called `name`; KeyError if there is none."""
    if name not in zone_names():
        raise KeyError(name)
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def rules_digest(name: str) -> str:
    """Return a short digest of a zone's data: another one where its rules may be others."""
    content = files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    return blake2b(content, digest_size=6).hexdigest()


def offset_at(name: str, moment_s: int) -> int:
    """Return the seconds by which local time in `name` is ahead of UTC at `moment_s`."""
    offset = datetime.fromtimestamp(moment_s, read_zone(name)).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


@lru_cache(maxsize=4096)
def transitions(name: str, year: int) -> tuple[Transition, ...]:
    """Return the transitions of zone `name` within the UTC year `year`, ascending."""
    samples = range(_start_of(year), _start_of(year + 1), SAMPLE_S)
    offsets = [offset_at(name, sample - 1) for sample in (*samples, samples.stop)]
    return tuple(
        Transition(_first_second_after(name, sample, before), before, after)
        for sample, before, after in zip(samples, offsets, offsets[1:], strict=False)
        if before != after
    )


def second_of_wall(name: str, wall: datetime) -> int:
    """Return the second at which the clocks in zone `name` show `wall`, a naive time.

    Of a time that comes twice, the first; for one that the clocks skip, the first second after it
    (`docs/decisions/0002-dst-rule.md`).
    """
    second = int(wall.replace(tzinfo=read_zone(name), fold=0).timestamp())
    if second + offset_at(name, second) == int(wall.replace(tzinfo=UTC).timestamp()):
        return second
    return next(stretches_from(name, second)).start_s


def stretches_from(name: str, moment_s: int) -> Iterator[Stretch]:
    """Yield the stretches of zone `name` that end after `moment_s`, ascending, up to `LAST_YEAR`."""
    for year in range(datetime.fromtimestamp(moment_s, UTC).year, LAST_YEAR + 1):
        for stretch in _stretches(name, year):
            if stretch.end_s > moment_s:
                yield stretch


@lru_cache(maxsize=4096)
def _stretches(name: str, year: int) -> tuple[Stretch, ...]:
    """Return the stretches of zone `name` that end in the UTC year `year` or with it, ascending."""
    start_s = _start_of(year - 1)
    offset_s = offset_before_s = offset_at(name, start_s - 1)
    found = []
    for change in (*transitions(name, year - 1), *transitions(name, year)):
        found.append(Stretch(start_s, change.at_s, offset_s, offset_before_s))
        start_s, offset_s, offset_before_s = change.at_s, change.after_s, change.before_s
    found.append(Stretch(start_s, _start_of(year + 1), offset_s, offset_before_s))
    return tuple(stretch for stretch in found if stretch.end_s > _start_of(year))


def _first_second_after(name: str, sample: int, before_s: int) -> int:
    """Bisect the day from `sample - 1` on for the first second whose offset is no longer `before_s`."""
    low, high = sample - 1, sample - 1 + SAMPLE_S
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset_at(name, middle) == before_s else (low, middle)
    return high


def _start_of(year: int) -> int:
    return (date(year, 1, 1) - date(1970, 1, 1)).days * DAY_S
