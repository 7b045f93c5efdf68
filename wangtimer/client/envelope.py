"""What the service answered: the envelope around its data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast, get_origin

from wangtimer.client.errors import BadAnswer

Data = TypeVar("Data")


@dataclass(frozen=True, slots=True)
class Envelope:
    """The envelope of what a call of `path` was answered; what is missing from it raises `BadAnswer`.

    `was_in_doubt`: an earlier try of the same call got no answer, so that this one may leave out its work.
    """

    path: str
    fields: Mapping[str, Any]
    was_in_doubt: bool = False

    def __getitem__(self, name: str) -> Any:
        if name not in self.fields:
            raise self._without(name)
        return self.fields[name]

    def data(self, kind: type[Data]) -> Data:
        """Return `data` as a list or a typed dictionary."""
        found = self.fields.get("data")
        if not isinstance(found, get_origin(kind) or dict):
            raise self._without("data")
        return cast(Data, found)

    def counts(self, kind: type[Data]) -> Data:
        """Return `data` and, as `wasInDoubt`, whether it counts all: what a lost answer's try did is not in it."""
        return cast(Data, {**cast(dict[str, Any], self.data(kind)), "wasInDoubt": self.was_in_doubt})

    def how_soon(self) -> dict[str, Any]:
        """Return how soon a change counts, as `countsWithinMs`; nothing of a service of before."""
        return {key: value for key, value in self.fields.items() if key == "countsWithinMs"}

    def page(self) -> Any:
        """Return a page of a list: `data`, `nextCursor` and, where pages are numbered, `total`."""
        found = {"data": self.data(list[Any]), "nextCursor": self["nextCursor"]}
        return found | ({"total": self["total"]} if "total" in self.fields else {})

    def _without(self, name: str) -> BadAnswer:
        error = BadAnswer(f"{self.path} answered without {name}, not as WangTimer does")
        error.was_in_doubt = self.was_in_doubt
        return error
