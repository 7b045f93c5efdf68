"""Makes a field's type in the API's models from core's description of the field."""

from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, create_model

from wangtimer.api.http.field_types import GivenMoment, moment, plain
from wangtimer.core.api_field import ApiField, ValueType
from wangtimer.core.time.moment_text import show_moment

Model = TypeVar("Model", bound=BaseModel)

# Given as ms UTC.
ShownMoment = Annotated[
    str,
    BeforeValidator(lambda at: show_moment(at) if isinstance(at, int) else at),
    Field(examples=["2026-11-20T18:16:51.123Z"], description="RFC 3339 with ms"),
]

_SHOWN: dict[ValueType, Any] = {
    ValueType.TEXT: str,
    ValueType.NUMBER: int,
    ValueType.MOMENT: ShownMoment,
    ValueType.SPAN: int,
    ValueType.FLAG: bool,
    ValueType.TEXTS: list[str],
    ValueType.PART: dict[str, Any],
}


def with_fields(model: type[Model], fields: dict[str, Any]) -> type[Model]:
    """Return a model with these fields after its own. Each value is a type and a default."""
    return create_model(
        model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
    )


def with_fields_first(model: type[Model], fields: dict[str, Any]) -> type[Model]:
    """Return a model with these fields before its own, each a type and a default."""
    bases: Any = (model, create_model(model.__name__, __base__=model.__bases__[0], **fields))
    made: Any = create_model(
        model.__name__, __base__=bases, __module__=model.__module__, __doc__=model.__doc__
    )
    return cast(type[Model], made)


def given_type(field: ApiField) -> Any:
    """Return the field's type in a request; None stands for an absent field."""
    if field.holds is ValueType.MOMENT:
        return Annotated[GivenMoment, moment(field.description or ""), Field(alias=field.json_name)]
    examples = None if field.example is None else [field.example]
    of, bounds = _given(field)
    return Annotated[
        of, Field(alias=field.json_name, description=field.description, examples=examples, **bounds)
    ]


def _given(field: ApiField) -> tuple[Any, dict[str, Any]]:
    """Return the type and bounds of a field that is not a moment."""
    match field.holds:
        case ValueType.NUMBER | ValueType.SPAN:
            return int | None, {"ge": field.least, "le": field.most}
        case ValueType.FLAG:
            return bool | None, {}
        case ValueType.TEXTS:
            each = Annotated[str, Field(min_length=1, max_length=field.most_of_each), AfterValidator(plain)]
            return list[each] | None, {"max_length": field.most, "fail_fast": True}
        case ValueType.PART:
            return dict[str, Any] | None, {}
        case _ if field.choices is not None:
            return Literal[tuple(one.value for one in field.choices)] | None, {}
        case _:
            return str | None, {"min_length": field.least, "max_length": field.most}


def shown_type(field: ApiField) -> Any:
    """Return the field's type in an answer that leaves the field out when it is None."""
    of = _SHOWN[field.holds] | None
    return Annotated[of, Field(description=field.meaning or field.description)]


def always_shown_type(field: ApiField) -> Any:
    """Return the field's type in an answer that always has it."""
    of = _SHOWN[field.holds] if field.choices is None else field.choices
    return Annotated[of, Field(description=field.meaning)]
