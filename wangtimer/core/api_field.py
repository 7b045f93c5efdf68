"""A field of a request or an answer that says something of a timer, as plain data; the APIs' models are made of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

# A hundred years: the longest span that a caller may name.
MOST_SPAN_MS = 100 * 366 * 86_400_000


class ValueType(Enum):
    """What a field holds. A moment is taken as RFC 3339 or as ms since epoch, and shown as RFC 3339."""

    TEXT = auto()
    NUMBER = auto()
    MOMENT = auto()
    FLAG = auto()
    TEXTS = auto()


class Shown(Enum):
    """When an answer has a field: always; in v1 always, but in the compatible paths only where set; only where set."""

    ALWAYS = auto()
    ALWAYS_IN_V1 = auto()
    WHERE_SET = auto()


def json_name(name: str) -> str:
    """Return a field's name as callers spell it, `everyMs` for `every_ms`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@dataclass(frozen=True, slots=True)
class ApiField:
    """A field of the API; `name` is in Python's spelling, `every_ms` for `everyMs`.

    `choices` are all words that a text may be. `least` and `most` bound a number, the characters of a text, or the
    number of texts; `most_of_each` bounds the characters of each of several texts. `v1` is the dotted place of the
    field in a timer of `/v1`, where that is not its name. `meaning` is the description in an answer. The compatible
    paths, which are frozen, have no field that `is_of_v1_only`.
    """

    name: str
    holds: ValueType
    description: str | None = None
    example: str | int | Sequence[str] | None = None
    choices: type[StrEnum] | None = None
    least: int | None = None
    most: int | None = None
    most_of_each: int | None = None
    v1: str = ""
    shown: Shown = Shown.WHERE_SET
    meaning: str | None = None
    is_of_v1_only: bool = False

    @property
    def json_name(self) -> str:
        """The name as callers of the compatible paths spell it."""
        return json_name(self.name)

    @property
    def place(self) -> str:
        """Where it stands in a timer of `/v1`."""
        return self.v1 or self.json_name
