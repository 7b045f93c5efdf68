"""Reads a moment in RFC 3339. Inside the service, a moment is ms since 1970-01-01 UTC."""

import re
from datetime import UTC, datetime

from wangtimer.core.time.zones import LAST_YEAR, second_of_wall

_FORM = re.compile(
    r"(?P<seconds>\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?(?P<offset>[Zz]|[+-]\d\d:\d\d)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_moment(text: str, timezone: str = "") -> int:
    """Return the moment in ms, rounded up, so that nothing is early.

    Text without an offset is by the clocks of the zone. Raises ValueError for anything but a date, a time and, unless a
    zone is named, an offset.
    """
    found = _FORM.fullmatch(text)
    if found is None or not (found["offset"] or timezone):
        raise ValueError("not RFC 3339 with an offset")
    offset = (found["offset"] or "").upper().replace("Z", "+00:00")
    at = _wall(found["seconds"], offset)
    if offset or not _EPOCH.year <= at.year <= LAST_YEAR:
        since = at.replace(tzinfo=at.tzinfo or UTC) - _EPOCH
        second = since.days * 86_400 + since.seconds
    else:
        second = second_of_wall(timezone, at)
    nanoseconds = int((found["fraction"] or "0").ljust(9, "0"))
    return second * 1_000 + -(-nanoseconds // 1_000_000)


def local_time(text: str) -> datetime | None:
    """Return the time that a text without an offset names, to the second; None for any other text."""
    found = _FORM.fullmatch(text)
    return None if found is None or found["offset"] else _wall(found["seconds"])


def _wall(seconds: str, offset: str = "") -> datetime:
    return datetime.fromisoformat(seconds.upper().replace(" ", "T") + offset)
