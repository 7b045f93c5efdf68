"""Cursors: where the next page of a list begins, opaque to the caller.

Each names a key, not a count, so that rows that come and go meanwhile neither repeat nor hide others.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

import orjson

from wangtimer.api.codes import ErrorCode
from wangtimer.api.refusals import Refused

_FORM = re.compile(rb"([a-z]+):([0-9]{1,18})")
# A sort key, a name of 128 characters and an id, in base64.
MOST_CHARACTERS = 1_024


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
            found = _FORM.fullmatch(_decode(cursor))
        except ValueError:
            found = None
        if found is None or found[1].decode() != self.name:
            raise _unknown()
        return int(found[2])


def write_sorted(order: str, value: int | str, row_id: int) -> str:
    """Return the cursor of the page behind a value and id, in a list of this order."""
    return urlsafe_b64encode(orjson.dumps([order, value, row_id])).decode().rstrip("=")


def read_sorted(order: str, cursor: str, kind: type[int] | type[str]) -> tuple[int | str, int]:
    """Return the value and id `write_sorted` was given for the same order; raises `Refused`."""
    try:
        found = orjson.loads(_decode(cursor))
    except ValueError:
        found = None
    match found:
        case [str(given), value, int(row_id)] if given == order and type(value) is kind:
            return value, row_id
    raise _unknown()


def _decode(cursor: str) -> bytes:
    return urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))


def _unknown() -> Refused:
    return Refused(
        ErrorCode.BAD_CURSOR,
        "cursor",
        "no answer of this operation gave it",
        "write the nextCursor of the page before, or leave it out",
    )


RECORDS = CursorKind("records")
