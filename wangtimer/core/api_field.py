"""A field of a request or an answer about a timer, as plain data; the APIs' models are made from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

# A hundred years: the longest span that a caller may name.
MOST_SPAN_MS = 100 * 366 * 86_400_000


class ValueType(Enum):
    """What a field holds.

    A moment is taken as RFC 3339 or as ms since epoch, and shown as RFC 3339. A span of time is a number of ms, in v1 a
    text such as `90s`. A part has fields of its own, which the API has read into values already.
    """

    TEXT = auto()
    NUMBER = auto()
    MOMENT = auto()
    SPAN = auto()
    FLAG = auto()
    TEXTS = auto()
    PART = auto()


class Shown(Enum):
    """When an answer has a field: always; always in v1 but in the compatible paths only if set; only if set."""

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

    `choices` are all values of a text. `least` and `most` bound a number, the characters of a text, or the number of
    texts; `most_of_each` bounds the characters of each of several texts. `meaning` is the description in an answer.

    `v1` is where the field stands in `/v1`, if not under its name: the dotted place in a timer, or the name of a rule's
    field in the schedule. `v1_description` and `v1_example` are what differs there. The compatible paths, which are
    frozen, have no field that `is_of_v1_only`.
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
    v1_description: str | None = None
    v1_example: str | None = None
    is_in_v1: bool = True
    shown: Shown = Shown.WHERE_SET
    meaning: str | None = None
    is_of_v1_only: bool = False

    @property
    def json_name(self) -> str:
        """The name in the compatible paths."""
        return json_name(self.name)

    @property
    def place(self) -> str:
        """Its dotted place in a timer of `/v1`, or its name in the schedule."""
        return self.v1 or self.json_name
