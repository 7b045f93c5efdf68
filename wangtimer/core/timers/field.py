"""A field of a timer: how it is asked for, stored and shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from wangtimer.core.api_field import ApiField

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class TimerField(Generic[Value]):
    """One field of a timer. As written here it is one field of a request and one column, with the same value in both.

    `name` is the value's name in `NewTimer` and `Timer`, or in `Definition` if firing needs it (`in_definition`).
    `default` is the value if the caller gives none. `asked` are the fields of requests and answers. `columns` of
    the table of timers store it.
    """

    name: str
    default: Value
    asked: tuple[ApiField, ...]
    columns: tuple[str, ...]
    in_definition: bool = False

    def read(self, given: Mapping[str, Any], was: Value) -> Value:
        """Return the value asked for: as it `was` if none is `given`; null: the default. Raises `InvalidInput`."""
        if self.name not in given:
            return was
        asked: Value | None = given[self.name]
        return self.default if asked is None else asked

    def stored(self, value: Value) -> dict[str, Any]:
        """Return the columns of a value."""
        return {self.name: value}

    def from_row(self, row: Mapping[str, Any]) -> Value:
        """Return the value in a row; raises ValueError if this version cannot read it."""
        value: Value = row[self.name]
        return value

    def shown(self, value: Value) -> dict[str, Any]:
        """Return the values of `asked` by name; None if one is not set."""
        return {self.name: value}
