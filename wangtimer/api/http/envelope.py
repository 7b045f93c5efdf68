"""The envelope of every answer: `{"code":0,"msg":"",...}`."""

from typing import Annotated, Any

from flask import Response
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from wangtimer.api.http.described import Described


class Sent(Described):
    """A model that the API sends; its JSON names are camelCase."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=False,
        serialize_by_alias=True,
    )


class Answer(Sent):
    """The envelope; `code` 0 means it was done."""

    code: int = 0
    msg: str = ""


def is_none(value: Any) -> bool:
    """Tell whether a field is left out of the answer, for `exclude_if`."""
    return value is None


class ConflictData(Sent):
    """What causes the conflict."""

    existing_id: Annotated[int, Field(description="with 40901: the id of the timer that has the name")]


class ErrorAnswer(Answer):
    """An error: `code` is stable, `msg` is "field: what is wrong; what to do", `field` its dotted name."""

    field: str = ""
    data: Annotated[ConflictData | None, Field(exclude_if=is_none, description="with some codes")] = None


def send(answer: Answer, status: int = 200) -> Response:
    """Return the answer as an HTTP response."""
    return Response(serialized(answer), status, mimetype="application/json")


def serialized(answer: Sent) -> bytes:
    """Return the answer as JSON."""
    return answer.__pydantic_serializer__.to_json(answer, by_alias=True)
