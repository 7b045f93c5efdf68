"""What the service answered to a call."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar, cast

from .errors import BadAnswer

Data = TypeVar("Data")
Row = TypeVar("Row")


class Listed(TypedDict, Generic[Row]):
    """A whole list."""

    items: list[Row]


class Page(Listed[Row]):
    """A page of a list; `nextCursor` None: the last."""

    nextCursor: str | None


class Round(TypedDict):
    """Counts of one round of work on many.

    `wasInDoubt` is the client's: an earlier try got no answer, and what it did is not counted here.
    """

    matched: int
    remaining: int
    wasInDoubt: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON answer to a call of `path`. A missing key raises `BadAnswer`.

    `was_in_doubt`: an earlier try of the same call got no answer, so this answer may not count what that try did.
    `is_of_change`: the call may have changed something, even where its answer is incomplete.
    """

    path: str
    status: int
    body: Mapping[str, Any]
    was_in_doubt: bool = False
    is_of_change: bool = False

    def typed(self, _kind: type[Data], *needed: str) -> Data:
        """Return it as a typed dictionary; raises `BadAnswer` where a needed key is missing."""
        for name in needed:
            if name not in self.body:
                error = BadAnswer(f"{self.path} answered without {name}, not as WangTimer does")
                error.was_in_doubt = self.was_in_doubt or self.is_of_change
                raise error
        return cast(Data, self.body)

    def page(self, _row: type[Row]) -> Page[Row]:
        """Return it as a page of such rows."""
        return self.typed(Page[Row], "items", "nextCursor")

    def counts(self, kind: type[Data], *needed: str) -> Data:
        """Return the same with `wasInDoubt`: the counts leave out what a try with a lost answer did."""
        whole = {**cast(dict[str, Any], self.typed(kind, *needed)), "wasInDoubt": self.was_in_doubt}
        return cast(Data, whole)
