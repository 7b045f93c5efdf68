"""The fields of v1's schedules that say what the rule is, as the kinds of rules declare them."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from wangtimer.api.asked.field_models import Model, given_type, with_fields_first
from wangtimer.api.v1.durations import GivenDuration, duration
from wangtimer.api.v1.shown import Span, Text
from wangtimer.core.api_field import ApiField, ValueType
from wangtimer.core.kinds.kinds import KINDS, asked_fields, kind_of, shown_fields
from wangtimer.core.schedules.rule import Rule

# By the name in the shared rules: those of which exactly one says what the rule is, and those that are spans of time.
ASKED_BY = {field.name: field.place for kind in KINDS for field in kind.asked_by}
SPANS = {field.name: field.place for field in asked_fields() if field.holds is ValueType.SPAN}

_SHOWN: dict[ValueType, Any] = {
    ValueType.TEXT: str,
    ValueType.NUMBER: int,
    ValueType.MOMENT: Text,
    ValueType.SPAN: Span,
}


def taking_rules(model: type[Model]) -> type[Model]:
    """Return a request's model with the fields of every kind of rule before its own, by their names in v1.

    None is required. `{asked}` in its docstring becomes the names of those of which one says what the rule is.
    """
    model.__doc__ = (model.__doc__ or "").format(asked=", ".join(f"`{name}`" for name in ASKED_BY.values()))
    return with_fields_first(model, {field.name: (_given(field), None) for field in asked_fields()})


def showing_rules(model: type[Model]) -> type[Model]:
    """Return an answer's model with the fields of every kind of rule before its own; a rule has those of its kind.

    `{shown}` in its docstring becomes their names.
    """
    names = (" and ".join(f"`{field.place}`" for field in kind.shown_by if field.is_in_v1) for kind in KINDS)
    model.__doc__ = (model.__doc__ or "").format(shown=", or ".join(names))
    shown = (field for field in shown_fields() if field.is_in_v1)
    return with_fields_first(model, {field.name: (_shown(field), None) for field in shown})


def shown_rule(rule: Rule) -> dict[str, Any]:
    """Return what an answer shows of a rule, by the names of the shared rules; its zone where it recurs."""
    kind = kind_of(rule)
    values = kind.shown(rule)
    shown = {field.name: values[field.name] for field in kind.shown_by if field.is_in_v1}
    return shown if rule.only_moment is not None else shown | {"timezone": rule.timezone}


def _given(field: ApiField) -> Any:
    description = field.v1_description or field.description or ""
    if field.holds is ValueType.SPAN:
        of: Any = Annotated[GivenDuration, duration(description, str(field.v1_example))]
    else:
        of = given_type(replace(field, description=description))
    return Annotated[of, Field(alias=field.place)]


def _shown(field: ApiField) -> Any:
    of = _SHOWN[field.holds]
    if field.choices is not None:
        of = Literal[tuple(one.value for one in field.choices)]
    examples = None if field.example is None else [field.example]
    return Annotated[of | None, Field(alias=field.place, examples=examples)]
