"""Reads a field's description from `timer_fields.py`: its kind of value, and its text for people."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from .values import Moment, Span

FieldKind = Literal["text", "texts", "number", "flag", "choice", "moment", "span"]


@dataclass(frozen=True, slots=True)
class About:
    """A field's text for people.

    `default` is the value of an absent field. `is_rule`: a schedule has exactly one such field. `can_be_cleared`: None
    removes the value.
    """

    help: str
    default: Any = None
    is_rule: bool = False
    can_be_cleared: bool = False


def clearable(text: str, default: Any = None) -> About:
    """Return the text of a field whose value None removes."""
    return About(text, default, can_be_cleared=True)


@dataclass(frozen=True, slots=True)
class DescribedField:
    """A field: its name in v1, its kind of value, its words if it is a choice, and its text."""

    name: str
    kind: FieldKind
    choices: tuple[str, ...]
    about: About


@cache
def described(fields: type) -> Mapping[str, DescribedField]:
    """Return the fields of a typed dictionary that have an `About`, by name."""
    hints = get_type_hints(fields, include_extras=True)
    return {name: _described(name, hint) for name, hint in hints.items() if get_origin(hint) is Annotated}


def defaults(fields: type) -> dict[str, Any]:
    """Return the values of these fields in a timer that does not give them; None: no value."""
    return {name: one.about.default for name, one in described(fields).items() if not one.about.is_rule}


def _described(name: str, hint: Any) -> DescribedField:
    value, about = get_args(hint)
    kinds = set(get_args(value)) - {NoneType}
    for kind, union in (("moment", Moment), ("span", Span)):
        if kinds == set(get_args(union)):
            return DescribedField(name, kind, (), about)  # type: ignore[arg-type]
    (only,) = kinds
    if get_origin(only) is Literal:
        return DescribedField(name, "choice", get_args(only), about)
    return DescribedField(name, _PLAIN[only], (), about)


_PLAIN: Mapping[Any, FieldKind] = {str: "text", int: "number", bool: "flag", list[str]: "texts"}
