"""The fields of requests and answers that say what a rule is, as the kinds of rules declare them."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, create_model

from wangtimer.api.http.envelope import is_none
from wangtimer.api.http.field_types import GivenMoment, moment
from wangtimer.core.kinds.kind import RuleField, ValueType
from wangtimer.core.kinds.kinds import KINDS, asked_fields, asked_names, shown_fields

Model = TypeVar("Model", bound=BaseModel)

ShownMoment = Annotated[str, Field(examples=["2026-11-20T18:16:51.123Z"], description="RFC 3339 with ms")]

_GIVEN: dict[ValueType, Any] = {ValueType.TEXT: str | None, ValueType.NUMBER: int | None}
_SHOWN: dict[ValueType, Any] = {
    ValueType.TEXT: str | None,
    ValueType.NUMBER: int | None,
    ValueType.MOMENT: ShownMoment | None,
}


def taking_rules(model: type[Model]) -> type[Model]:
    """Return a request's model with the fields of every kind of rule behind its own; none of them is required."""
    return _with_fields(model, {field.name: (_given(field), None) for field in asked_fields()})


def showing_rules(model: type[Model]) -> type[Model]:
    """Return an answer's model with the fields of every kind of rule behind its own; a rule has those of its kind."""
    return _with_fields(model, {field.name: (_shown(field), None) for field in shown_fields()})


def naming_rules(model: type[Model]) -> type[Model]:
    """Return a model whose docstring names fields: for `{asked}` those that say when, for `{shown}` an answer's."""
    shown = (" and ".join(_quoted(field.json_name for field in kind.shown_by)) for kind in KINDS)
    model.__doc__ = (model.__doc__ or "").format(
        asked=", ".join(_quoted(asked_names())), shown=", or ".join(shown)
    )
    return model


def _quoted(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names]


def _with_fields(model: type[Model], fields: dict[str, Any]) -> type[Model]:
    return create_model(
        model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
    )


def _given(field: RuleField) -> Any:
    examples = None if field.example is None else [field.example]
    if field.type is ValueType.MOMENT:
        return Annotated[GivenMoment, moment(field.description or ""), Field(alias=field.json_name)]
    of = Literal[field.choices] | None if field.choices else _GIVEN[field.type]
    return Annotated[of, Field(alias=field.json_name, description=field.description, examples=examples)]


def _shown(field: RuleField) -> Any:
    return Annotated[_SHOWN[field.type], Field(exclude_if=is_none, description=field.description)]
