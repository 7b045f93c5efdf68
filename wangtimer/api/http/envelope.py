"""The envelope of every answer: `{"code":0,"msg":"",...}`."""

from typing import Annotated, Any, Self

from flask import Response
from pydantic import ConfigDict, Field, GetCoreSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from wangtimer.api.http.described import Described


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
