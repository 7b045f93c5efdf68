"""Models of the API: as the OpenAPI document describes them, those that it sends, and the envelope of xTimer."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Self

import orjson
from flask import Response
from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from wangtimer.base.attribute_docstrings import attribute_docstrings
from wangtimer.core.errors import Subject

# A client needs 64 bits above this number.
MOST_OF_32_BITS = 2**31 - 1


def by_word(meanings: Mapping[str, str] | None = None, /, **fields: str) -> dict[str, str]:
    """Return by each of other people's words what it means here; they are given by meaning, with spaces between."""
    said = {**(meanings or {}), **fields}
    return {word: meaning for meaning, words in said.items() for word in words.split()}


class SizedNumbers(GenerateJsonSchema):
    """Adds the bits of a whole number. Without them Java and Go clients read moments in ms into 32 bits."""

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        """Return the schema with its format."""
        fits = (schema.get("le") or MOST_OF_32_BITS + 1) <= MOST_OF_32_BITS
        return super().int_schema(schema) | {"format": "int32" if fits else "int64"}


class Described(BaseModel):
    """A model of the API.

    The text below a field is its description. `Field(description=...)` has one that is worked out, or that fits beside
    each field of the model.

    `meant_elsewhere` says of fields it does not have where what they mean is to be had. `our_words` has other people's
    words for its fields; None: those of the compatible paths. `words_here` has such words for the fields of a model
    within a request, and `value_words` by field for its values: they come first. `needed` says of a required field how
    to give it. `example` is an object of a model within a request, as JSON. `named_by` has, of v1's models, the fields
    by which they name what an error may be about. `is_call`: it is an HTTP call, which stands within other requests
    elsewhere.
    """

    meant_elsewhere: ClassVar[Mapping[str, str]] = {}
    our_words: ClassVar[Mapping[str, str] | None] = None
    words_here: ClassVar[Mapping[str, str]] = {}
    value_words: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    needed: ClassVar[Mapping[str, str]] = {}
    example: ClassVar[str] = ""
    named_by: ClassVar[Mapping[Subject, str]] = {}
    is_call: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Describe the fields by the texts below them, before pydantic reads the fields."""
        for name, text in attribute_docstrings(cls).items():
            if name in cls.__annotations__:
                cls.__annotations__[name] = Annotated[cls.__annotations__[name], Field(description=text)]
        super().__init_subclass__(**options)

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """Return the model's JSON schema, with the sizes of numbers; cached, as making it takes 6 ms."""
        schema: dict[str, Any] = orjson.loads(_written_schema(cls, args, tuple(sorted(options.items()))))
        return schema

    @classmethod
    def _new_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        return super().model_json_schema(*args, **({"schema_generator": SizedNumbers} | options))


@cache
def _written_schema(
    model: type[Described], args: tuple[Any, ...], options: tuple[tuple[str, Any], ...]
) -> bytes:
    return orjson.dumps(model._new_json_schema(*args, **dict(options)))


def _is_none(value: Any) -> bool:
    return value is None


class Sent(Described):
    """A model that the API sends; its JSON names are camelCase. A field whose default is None is left out when None."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=False,
        serialize_by_alias=True,
        from_attributes=True,
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        for field in cls.__pydantic_fields__.values():
            if field.default is None:
                field.exclude_if = _is_none
        return handler(source)

    @classmethod
    def of(cls, source: object = None, /, **further: Any) -> Self:
        """Return the answer with its fields from `further`, or else the source's attributes of their names."""
        own = {
            name: getattr(source, name)
            for name in cls.model_fields
            if name not in further and hasattr(source, name)
        }
        return cls.model_validate(own | further)


class Answer(Sent):
    """The envelope; `code` 0 means it was done."""

    code: int = 0
    msg: str = ""


class ConflictData(Sent):
    """What causes the conflict."""

    existing_id: Annotated[int, Field(description="with 40901: the id of the timer that has the name")]


class ErrorAnswer(Answer):
    """An error: `code` is stable, `msg` is "field: what is wrong; what to do", `field` its dotted name."""

    field: str = ""
    data: Annotated[ConflictData | None, Field(description="with some codes")] = None


def send(answer: Answer, status: int = 200) -> Response:
    """Return the answer as an HTTP response."""
    return Response(serialized(answer), status, mimetype="application/json")


def serialized(answer: Sent) -> bytes:
    """Return the answer as JSON."""
    return answer.__pydantic_serializer__.to_json(answer, by_alias=True)
