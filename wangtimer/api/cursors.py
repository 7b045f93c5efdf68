"""Cursors: where the next page of a list begins, opaque to the caller.

Each names a key, not a count, so that rows that come and go meanwhile neither repeat nor hide others.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from wangtimer.api.codes import ErrorCode
from wangtimer.api.refusals import Refused

_FORM = re.compile(rb"([a-z]+):([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class CursorKind:
    """The cursors of one list; another list's are refused."""

    name: str

    def write(self, key: int) -> str:
        """Return the cursor of the page behind `key`."""
        return urlsafe_b64encode(f"{self.name}:{key}".encode()).decode().rstrip("=")

    def read(self, cursor: str) -> int:
        """Return the key `write` was given; raises `Refused`."""
        try:
            found = _FORM.fullmatch(urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
        except ValueError:
            found = None
        if found is None or found[1].decode() != self.name:
            raise Refused(
                ErrorCode.BAD_CURSOR,
                "cursor",
                "no answer of this operation gave it",
                "write the nextCursor of the page before, or leave it out",
            )
        return int(found[2])


TIMERS = CursorKind("timers")
RECORDS = CursorKind("records")
