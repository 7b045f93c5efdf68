"""What a field of a timer is: how it is asked for, stored and shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Any, Generic, TypeVar

from wangtimer.core.api_field import ApiField

Value = TypeVar("Value")


class ColumnType(Enum):
    """What a column holds: a text of so many characters, a whole number of two or eight bytes, or one of some words."""

    TEXT = auto()
    SMALL_NUMBER = auto()
    NUMBER = auto()
    WORD = auto()


@dataclass(frozen=True, slots=True)
class FieldColumn:
    """A column of the table of timers. `characters` are those of a text, `words` all that a word may be."""

    name: str
    holds: ColumnType
    characters: int | None = None
    words: type[StrEnum] | None = None
    is_nullable: bool = True


@dataclass(frozen=True, slots=True)
class TimerField(Generic[Value]):
    """One field of a timer: as it stands here, one field of a request, one column, and the same value in both.

    `name` is that of the value in `NewTimer` and in `Timer`; where firing needs to know it (`in_definition`), in the
    timer's `Definition`. `default` is the value of a timer of which nothing is said. By `asked` callers say it, and
    answers show it. In `columns` it is stored.
    """

    name: str
    default: Value
    asked: tuple[ApiField, ...]
    columns: tuple[FieldColumn, ...]
    in_definition: bool = False

    def read(self, given: Mapping[str, Any], was: Value) -> Value:
        """Return the value that is asked for; what is not `given` stays as it `was`, null gives the default.

        Raises `InvalidInput`.
        """
        if self.name not in given:
            return was
        asked: Value | None = given[self.name]
        return self.default if asked is None else asked

    def stored(self, value: Value) -> dict[str, Any]:
        """Return the columns of a value."""
        return {self.name: value}

    def from_row(self, row: Mapping[str, Any]) -> Value:
        """Return the value that a row has; raises ValueError where this version cannot read it."""
        value: Value = row[self.name]
        return value

    def shown(self, value: Value) -> dict[str, Any]:
        """Return the values of `asked` by name; None where one is not set."""
        return {self.name: value}
