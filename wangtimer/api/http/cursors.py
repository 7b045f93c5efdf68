"""Cursors: where the next page of a list begins, opaque to the caller.

A cursor names a key, not a count: rows that come and go between two pages neither repeat nor hide others.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import TypeVar

import orjson
import structlog
from pydantic import BaseModel

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused

# Room for a sort key, a name of 128 characters and an id, in base64.
MOST_CHARACTERS = 1_024
SPELLING = "^[A-Za-z0-9_-]*$"
# The largest number SQL takes.
MOST_NUMBER = 2**63 - 1
# The parameters that say which page. All others must stay the same from page to page.
_OF_PAGES = {"limit", "cursor", "page_index", "page_size", "sort"}

log = structlog.get_logger()

Row = TypeVar("Row")
Shown = TypeVar("Shown")


def of_list(order: str, query: BaseModel) -> str:
    """Return the text that the cursors of a list carry: its order and filters, but not the page."""
    asked = query.model_dump_json(exclude=_OF_PAGES, exclude_none=True)
    return f"{order} {sha256(asked.encode()).hexdigest()[:12]}"


def write(order: str, value: int | str, row_id: int) -> str:
    """Return the cursor of the page after a value and id, in a list of this order."""
    return urlsafe_b64encode(orjson.dumps([order, value, row_id])).decode().rstrip("=")


def after(
    order: str, found: Sequence[Row], limit: int, place_of: Callable[[Row], tuple[int | str, int]]
) -> str | None:
    """Return the cursor behind the last row of a page; None: no further row. `place_of`: the value and id of a row."""
    return write(order, *place_of(found[limit - 1])) if len(found) > limit else None


def read(order: str, cursor: str, kind: type[int] | type[str]) -> tuple[int | str, int]:
    """Return the value and id that `write` got for the same order; raises `Refused`."""
    try:
        found = orjson.loads(urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except ValueError:
        found = None
    match found:
        case [str(given), value, int(row_id)] if given == order and type(value) is kind:
            if all(0 <= number <= MOST_NUMBER for number in (value, row_id) if isinstance(number, int)):
                return value, row_id
    raise unknown()


def name_behind(order: str, cursor: str | None) -> str:
    """Return the name after which a page by name begins; raises `Refused`."""
    return "" if cursor is None else str(read(order, cursor, str)[0])


def shown_each(
    rows: Iterable[Row], name_of: Callable[[Row], object], show: Callable[[Row], Shown]
) -> list[Shown]:
    """Return rows as they are shown; one that cannot be is named in the log, and does not fail the list."""
    found = []
    for row in rows:
        try:
            found.append(show(row))
        except Exception as error:
            log.error("row_cannot_be_shown", row=name_of(row), error=repr(error)[:200])
    return found


def unknown() -> Refused:
    """Return the refusal of a cursor that this list did not give."""
    return Refused(
        ErrorCode.BAD_CURSOR,
        "cursor",
        "it does not come from this operation with these parameters",
        "write the nextCursor of the previous page and repeat its other parameters, or leave it out",
    )
