"""Reads a moment in RFC 3339. Inside the service, a moment is ms since 1970-01-01 UTC."""

import re
from datetime import UTC, datetime

_FORM = re.compile(
    r"(?P<seconds>\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?(?P<offset>[Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_moment(text: str) -> int:
    """Return the moment in ms, rounded up, so that nothing is early.

    Raises ValueError for anything but a date, a time and an offset.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError("not RFC 3339 with an offset")
    offset = found["offset"].upper().replace("Z", "+00:00")
    second = datetime.fromisoformat(found["seconds"].upper().replace(" ", "T") + offset)
    since = second - _EPOCH
    nanoseconds = int((found["fraction"] or "0").ljust(9, "0"))
    return (since.days * 86_400 + since.seconds) * 1_000 + -(-nanoseconds // 1_000_000)
