"""Moments and spans of time as tests write them."""

from datetime import datetime, timedelta
from math import ceil, isfinite
from zoneinfo import ZoneInfo

from wangtimer.core.time.meant_zones import unknown_zone
from wangtimer.core.time.zones import read_zone

UNITS = ("weeks", "days", "hours", "minutes", "seconds", "milliseconds")
MS = timedelta(milliseconds=1)


def zone_of(name: str) -> ZoneInfo:
    """Return the zone of this name; raises TypeError, or ValueError with a similar name."""
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is not the name of a zone; write one such as 'Europe/London'")
    try:
        return read_zone(name)
    except KeyError:
        raise ValueError(str(unknown_zone(name)).removeprefix("schedule.")) from None


def moment_ms(written: datetime | str, zone: ZoneInfo) -> int:
    """Return a moment in ms UTC. Without an offset it is a time in `zone`; of a repeated time, the first pass counts.

    Raises TypeError, and ValueError for text that is not a moment, or a time that the zone's clocks skip.
    """
    if not isinstance(written, datetime | str):
        raise TypeError(
            f"{written!r} is not a moment; write a datetime, or text such as '2027-03-01T09:00:00+08:00'"
        )
    try:
        read = datetime.fromisoformat(written) if isinstance(written, str) else written
    except ValueError:
        raise ValueError(
            f"{written!r} is not a moment; write it by ISO 8601, such as '2027-03-01T09:00:00+08:00'"
        ) from None
    moment = read if read.tzinfo is not None else read.replace(tzinfo=zone)
    found = ceil(moment.timestamp() * 1_000)
    if read.tzinfo is None and shown(found, zone).replace(tzinfo=None, fold=0, microsecond=0) != read.replace(
        fold=0, microsecond=0
    ):
        raise ValueError(
            f"{written} does not exist in {zone.key}: clocks skip it; write a time before or after"
        )
    return found


def span_ms(span: timedelta | None, units: dict[str, float]) -> int:
    """Return a span of time in ms, rounded up; raises TypeError for a bad one, ValueError for a negative one."""
    strange = units.keys() - set(UNITS)
    if strange:
        raise TypeError(f"{sorted(strange)[0]!r} is not a unit of time; write one of {', '.join(UNITS)}")
    if span is not None and units:
        raise TypeError("write a timedelta or units such as hours=3, not both")
    if span is not None and not isinstance(span, timedelta):
        raise TypeError(f"{span!r} is not a span of time; write hours=3, or a timedelta")
    whole = _summed(units) if span is None else span
    if whole < timedelta(0):
        raise ValueError(f"time does not go back: {whole} is negative")
    return ceil(whole / MS)


def _summed(units: dict[str, float]) -> timedelta:
    for name, number in units.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or not isfinite(number):
            raise TypeError(f"{name}={number!r} is not a number; write {name}=3")
    try:
        return timedelta(**units)
    except OverflowError:
        raise ValueError(f"{units} is too long; write less than 2,000,000 years") from None


def shown(moment: float, zone: ZoneInfo) -> datetime:
    """Return a moment in ms UTC as a time in the zone."""
    return datetime.fromtimestamp(int(moment) // 1_000, zone).replace(microsecond=int(moment) % 1_000 * 1_000)
