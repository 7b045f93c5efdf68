"""xTimer's way to page: by number, from 1, with a total."""

from collections.abc import Set
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import MOST_A_PAGE, number
from wangtimer.api.http.refusals import Refused

XTIMERS_PAGE = 10

PageIndex = Annotated[
    Annotated[int, Field(ge=1, le=100_000)] | None,
    BeforeValidator(number),
    Field(description="xTimer's way to page, from 1; the answer then has a total"),
]
PageSize = Annotated[
    Annotated[int, Field(ge=1, le=MOST_A_PAGE)] | None,
    BeforeValidator(number),
    Field(description=f"size of a numbered page; {XTIMERS_PAGE} by default"),
]


@dataclass(frozen=True, slots=True)
class NumberedPage:
    """How many rows to skip, and how many to show after them."""

    skipped: int
    size: int


def numbered_page(index: int | None, size: int | None, given: Set[str]) -> NumberedPage | None:
    """Return the numbered page; None where neither number is given, so the list has cursors.

    Raises `Refused` where `given`, the parameters of the request, has both ways to page.
    """
    if index is None and size is None:
        return None
    for name in ("cursor", "limit"):
        if name in given:
            raise Refused(
                ErrorCode.BAD_VALUE, name, "it is given beside a page number", "leave out one of the two"
            )
    return page_at(index or 1, size)


def page_at(index: int, size: int | None) -> NumberedPage:
    """Return the page of this number, counted from 1."""
    shown = size or XTIMERS_PAGE
    return NumberedPage((index - 1) * shown, shown)
