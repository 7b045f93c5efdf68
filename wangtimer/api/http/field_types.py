"""Types of the fields that callers send. They are strict, and unknown fields are refused."""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from wangtimer.api.http.api_models import Described
from wangtimer.api.http.cursors import MOST_CHARACTERS, SPELLING
from wangtimer.api.http.notify_rules import (
    MOST_HEADERS,
    HeaderChanges,
    read_header_changes,
    read_headers,
    read_method,
)
from wangtimer.api.http.refusals import bad_value
from wangtimer.api.http.request_context import (
    app_or_all,
    app_or_own,
    permitted_app,
    permitted_app_or_all,
    unnamed,
)
from wangtimer.core.timers.timer import APP_CHARACTERS, NAME_CHARACTERS

MOST_ID = 2**63 - 1
PAGE = 50
MOST_A_PAGE = 500

_DECIMAL = re.compile(r"-?[0-9]{1,30}")


class Given(Described):
    """A model that a caller sends; its JSON names are camelCase."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, alias_generator=to_camel)


class GivenInPath(Given):
    """What a path names, as in `/v1/firings/{firing_id}`."""

    model_config = ConfigDict(alias_generator=None)


def plain(text: str, info: ValidationInfo) -> str:
    """Return a text that SQL servers and people read in the same way; raises `Refused` for any other."""
    return plain_at(text, str(info.field_name))


def plain_at(text: str, field: str) -> str:
    """Do the same for a field whose place is known."""
    # SQL servers ignore trailing spaces when they compare, so "shop " would be the app "shop".
    if text.isprintable() and text == text.strip():
        return text
    raise bad_value(
        field, "it has a control or invisible character, or a space at an end", "use printable characters"
    )


def number(given: Any) -> Any:
    """Read a query parameter's digits. The type check refuses anything else."""
    return int(given) if isinstance(given, str) and _DECIMAL.fullmatch(given) else given


def flag(given: Any) -> Any:
    """Read a query parameter's true or false. The type check refuses anything else."""
    return {"true": True, "1": True, "false": False, "0": False}.get(given, given)


AppName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=APP_CHARACTERS,
        description="the business service",
        examples=["shop"],
    ),
    AfterValidator(plain),
]
# What a request names, or else the key's.
App = Annotated[
    AppName,
    Field(
        default_factory=unnamed,
        validate_default=True,
        description="the business service; without it the key's app. An operator's key must name one",
    ),
    AfterValidator(permitted_app),
    BeforeValidator(app_or_own),
]
# The same for what an operator can ask of all apps at once.
AppOrAll = Annotated[
    AppName | None,
    Field(
        default_factory=unnamed,
        validate_default=True,
        description="the business service; without it the key's app, for an operator's key all apps",
    ),
    AfterValidator(permitted_app_or_all),
    BeforeValidator(app_or_all),
]
Name = Annotated[
    str,
    Field(
        min_length=1, max_length=NAME_CHARACTERS, description="unique in its app", examples=["expire-orders"]
    ),
    AfterValidator(plain),
]
Id = Annotated[int, Field(ge=1, le=MOST_ID, description="the timer's id", examples=[1])]
Cursor = Annotated[
    str,
    # The pattern is in the schema for readers; the error of `cursors.read` is clearer.
    Field(
        max_length=MOST_CHARACTERS,
        description="nextCursor of the previous page",
        json_schema_extra={"pattern": SPELLING},
    ),
]
Limit = Annotated[
    int,
    Field(ge=1, le=MOST_A_PAGE, description="at most this many entries in a page"),
    BeforeValidator(number),
]
Headers = Annotated[
    tuple[tuple[str, str], ...],
    PlainValidator(read_headers),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            },
            "description": f"name to value or list of values; at most {MOST_HEADERS}, 8 KiB in all. Not allowed: "
            "names starting with webhook- or x-wangtimer-, and headers of the connection (Host, Content-Length, "
            "Transfer-Encoding, Connection, Expect, ...), also when written with _ or another sign instead of -",
            "examples": [{"Content-Type": "application/json", "X-Tag": ["a", "b"]}],
        }
    ),
]
ChangedHeaders = Annotated[
    HeaderChanges | None,
    PlainValidator(read_header_changes),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "object",
                    "additionalProperties": {
                        "anyOf": [
                            {"type": "string"},
                            {"type": "array", "items": {"type": "string"}},
                            {"type": "null"},
                        ],
                    },
                },
                {"type": "null"},
            ],
            "description": "name to its new value: a value, a list of values, or null, which removes the header. "
            "Headers that are not named stay. Names are compared without regard to case. null instead of the object "
            "removes all headers",
            "examples": [{"X-Tag": "c", "Authorization": None}],
        }
    ),
]
# The same as `callback.request.METHODS`; a test compares the two.
MethodWord = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Method = Annotated[
    MethodWord,
    BeforeValidator(read_method),
    Field(description="lower case is accepted too"),
]
ChangedMethod = Annotated[
    MethodWord | None,
    BeforeValidator(lambda method: None if method is None else read_method(method)),
    Field(description="lower case is accepted too; null: POST, or that of a named target"),
]


def _text_or_number(given: Any) -> Any:
    if given is None or (isinstance(given, str | int) and not isinstance(given, bool)):
        return given
    raise PydanticCustomError("moment_type", "not a moment")


# A moment as any text or whole number, or None; it is read later, with the clock.
GivenMoment = Annotated[Any, AfterValidator(_text_or_number)]


def moment(description: str) -> WithJsonSchema:
    """Return the JSON schema of a moment."""
    return WithJsonSchema(
        {
            # One name for all moments, or generated clients have a type for each field.
            "title": "GivenMoment",
            "anyOf": [{"type": "string"}, {"type": "integer", "format": "int64"}, {"type": "null"}],
            "description": f"{description}; RFC 3339 with an offset (finer than 1 ms is rounded up), or ms since 1970",
            "examples": ["2026-11-20T18:16:51.123Z", 1795198611123],
        }
    )
