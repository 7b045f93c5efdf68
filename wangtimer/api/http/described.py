"""Models as the OpenAPI document describes them."""

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

import orjson
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from wangtimer.core.errors import Subject

# A client needs 64 bits above this number.
MOST_OF_32_BITS = 2**31 - 1


class SizedNumbers(GenerateJsonSchema):
    """Adds the bits of a whole number. Without them Java and Go clients read moments in ms into 32 bits."""

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        """Return the schema with its format."""
        fits = (schema.get("le") or MOST_OF_32_BITS + 1) <= MOST_OF_32_BITS
        return super().int_schema(schema) | {"format": "int32" if fits else "int64"}


class Described(BaseModel):
    """A model of the API.

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

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """Return the model's JSON schema, with the sizes of numbers.

        Making it takes 6 ms, and the document asks for the same ones several times.
        """
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
