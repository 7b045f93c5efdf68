"""Refusing input: which code, which field, what is wrong with it, what to write instead, and which field was meant."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache, partial
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from wangtimer.api.http.api_models import Described, by_word
from wangtimer.api.http.codes import ErrorCode
from wangtimer.core.errors import InvalidInput, InvalidSchedule, Subject
from wangtimer.core.near_misses import Names, near_miss

# Other schedulers' and people's words for the fields of the compatible paths.
OUR_WORDS: Mapping[str, str] = by_word(
    {
        "cron": "cronExpression expression schedule",
        "everyMs": "interval intervalMs every everySeconds everyMinutes intervalSeconds",
        "cronDialect": "dialect",
        "jitterMs": "jitter",
        "misfire": "misfirePolicy",
        "enable": "active",
        "delayMs": "delay delaySeconds",
        "startAt": "startTime",
        "endAt": "endTime expireAt",
        "at": "runAt fireAt",
        "timezone": "tz zone",
        "notifyHTTPParam": "callback webhook notify",
        "notifyHTTPParam.url": "callbackUrl",
        "notifyHTTPParam.body": "payload",
        "maxFirings": "repeatCount maxRuns",
        "excludeCalendar": "calendar",
        "id": "timerId timerID",
        "tag": "group",
        "pageIndex": "pageNo",
        "cursor": "offset",
        "statuses": "status",
    }
)


def known_fields(model: type[BaseModel], path: Sequence[int | str]) -> tuple[str, str | None]:
    """Return advice about an unknown field, and the field meant, or None. `path` leads to it from `model`."""
    inner = _model_of(model, path)
    there_are = f"there are {', '.join(name for name, _ in _fields(inner))}"
    if advice := _elsewhere(inner, str(path[-1])):
        return f"{advice}; {there_are}", None
    meant = _meant_field(model, inner, str(path[-1]))
    advice = "there is no such field here; " if meant is None else f"did you mean {meant}? Else "
    return f"{advice}leave it out; {there_are}", meant


def example_at(model: type[BaseModel], path: Sequence[int | str]) -> str:
    """Return an example of the object at a place of a request, as JSON; "" where its model has none."""
    inner = _model_at(model, path)
    return inner.example if issubclass(inner, Described) else ""


def meant_value(
    model: type[BaseModel], path: Sequence[int | str], written: str, known: Sequence[str]
) -> str | None:
    """Return which of the `known` values of a field a text is meant for; None where that cannot be told."""
    names = [part for part in path if isinstance(part, str)]
    inner = _model_at(model, names[:-1])
    words = inner.value_words.get(names[-1], {}) if issubclass(inner, Described) and names else {}
    said = words.get(_word_names(tuple(words)).same_as(written) or "")
    return said if said in known else near_miss(written, known)


def _model_of(model: type[BaseModel], path: Sequence[int | str]) -> type[BaseModel]:
    """Return the model that the last part of a path is, or should be, a field of."""
    for part in path[:-1]:
        if isinstance(part, str):
            model = next(next(_models_in(field.annotation)) for name, field in _fields(model) if name == part)
    return model


def _model_at(model: type[BaseModel], path: Sequence[int | str]) -> type[BaseModel]:
    for part in path:
        if isinstance(part, str):
            model = next(
                (
                    within
                    for name, field in _fields(model)
                    if name == part
                    for within in _models_in(field.annotation)
                ),
                model,
            )
    return model


def _here(inner: type[BaseModel], written: str) -> str | None:
    """Return the field of this object that the word stands for."""
    words = inner.words_here if issubclass(inner, Described) else {}
    word = words.get(_word_names(tuple(words)).same_as(written) or "")
    return word if word in dict(_fields(inner)) else None


def _elsewhere(inner: type[BaseModel], written: str) -> str | None:
    """Return where else WangTimer has what the field means; None where the model does not know."""
    advice = inner.meant_elsewhere if issubclass(inner, Described) else {}
    return advice.get(Names(advice).same_as(written) or "")


def _meant_field(whole: type[BaseModel], inner: type[BaseModel], written: str) -> str | None:
    """Return the field that was meant: of the same object, or else of another object of the request."""
    if (said := _here(inner, written)) is not None:
        return said
    words = whole.our_words if issubclass(whole, Described) and whole.our_words is not None else OUR_WORDS
    our_word = _word_names(tuple(words)).same_as(written)
    word = words.get(our_word or "")
    here = (word if word in dict(_fields(inner)) else None) or _names(inner).meant_by(written)
    if here is not None:
        return here
    elsewhere = dict(_places(whole))
    return word if word in elsewhere.values() else elsewhere.get(written)


def _places(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each field's name and dotted place, inner objects first: so the outermost of one name wins."""
    for name, field in _fields(model):
        for inner in _models_in(field.annotation):
            yield from _places(inner, f"{path}{name}.")
    yield from ((name, f"{path}{name}") for name, _ in _fields(model))


def _fields(model: type[BaseModel]) -> list[tuple[str, Any]]:
    return [(field.alias or name, field) for name, field in model.model_fields.items()]


@lru_cache(maxsize=256)
def _names(model: type[BaseModel]) -> Names:
    return Names(name for name, _ in _fields(model))


@lru_cache(maxsize=64)
def _word_names(words: tuple[str, ...]) -> Names:
    return Names(words)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


SHOWN_CHARACTERS = 64

Value = TypeVar("Value")

_TYPE_NAMES = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "model_type": "an object",
    "list_type": "a list",
    "moment_type": "text in RFC 3339, or a whole number of ms",
}


_FOUND = "GET /api/timer/v1/defs?name=... finds it"
# `meant_elsewhere` of requests that take a timer's id, not its name.
NAMED_BY_ID: Mapping[str, str] = {"name": f"named by id here; {_FOUND}"}
# Advice for a call whose body is a JSON object instead of text.
_BODY_MEND = r'write its JSON as text, as in "{\"limit\": 100}"'


class Part(Enum):
    """Where in a request something stands."""

    PATH = "path"
    HEADER = "header"
    QUERY = "query"
    BODY = "body"


class Refused(InvalidInput):
    """Input the API itself refuses, with the code that says why.

    `part` is where it stands; None: where the request has its fields, in the body or else the query.
    """

    def __init__(
        self,
        code: ErrorCode,
        field: str,
        reason: str,
        mend: str,
        meant: str | None = None,
        *,
        about: Subject | None = None,
        part: Part | None = None,
    ) -> None:
        super().__init__(field, reason, mend, meant)
        self.code = code
        self.about = about
        self.part = part


# The refusals of a value that is of the right type, and not allowed; of a schedule or a moment; of what a timer calls;
# and of what is not there.
bad_value = partial(Refused, ErrorCode.BAD_VALUE)
bad_schedule = partial(Refused, ErrorCode.BAD_SCHEDULE)
bad_callback = partial(Refused, ErrorCode.BAD_CALLBACK)
missing_field = partial(Refused, ErrorCode.MISSING_FIELD)


class AsWritten(Refused):
    """A refusal that names its field as the request does; others name it by its place in a timer of `/v1`."""


def code_of(error: InvalidInput) -> ErrorCode:
    """Return the code of refused input."""
    if isinstance(error, Refused):
        return error.code
    return ErrorCode.BAD_SCHEDULE if isinstance(error, InvalidSchedule) else ErrorCode.BAD_VALUE


def given_once(*spellings: tuple[str, Value | None]) -> Value:
    """Return the value of the one spelling (name and value) of a parameter that is given; raises `Refused`."""
    given = [value for _, value in spellings if value is not None]
    if len(given) == 1:
        return given[0]
    code = ErrorCode.DUPLICATE_FIELD if given else ErrorCode.MISSING_FIELD
    names = " or ".join(name for name, _ in spellings)
    raise Refused(code, spellings[0][0], f"given {len(given)} times", f"give it once, as {names}")


def shown(text: str) -> str:
    """Return foreign text in a form that is safe to quote in a message."""
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")


def of_pattern(pattern: str, in_words: str) -> Callable[[str], str]:
    """Return what refuses a text that is not of a pattern, and says in words what is."""

    def checked(text: str) -> str:
        if re.search(pattern, text, re.ASCII) and not text.endswith("\n"):
            return text
        said = {"reason": f"{shown(text)} is not allowed", "mend": f"write {in_words}"}
        raise PydanticCustomError("of_pattern", "not of its pattern", said)

    return checked


def refusal_of(error: ValidationError, model: type[BaseModel]) -> AsWritten:
    """Return what pydantic found as one refusal: an unknown field before all else, as it is often a typo."""
    found = error.errors(include_url=False, include_context=True)
    first = next((detail for detail in found if detail["type"] == "extra_forbidden"), found[0])
    field = ".".join(str(part)[:SHOWN_CHARACTERS] for part in first["loc"])
    match first["type"]:
        case "extra_forbidden":
            mend, meant = known_fields(model, first["loc"])
            return AsWritten(ErrorCode.UNKNOWN_FIELD, field, "unknown field", mend, meant)
        case "missing" if first["loc"][-1] == "id":
            return AsWritten(ErrorCode.MISSING_FIELD, field, "missing", f"it is required: {_FOUND}")
        case "missing":
            field = _written(model, field)
            needed = model.needed if issubclass(model, Described) else {}
            return AsWritten(ErrorCode.MISSING_FIELD, field, "missing", needed.get(field, "it is required"))
        case "string_type" if first["loc"][-1] == "body" and isinstance(first["input"], dict | list):
            return AsWritten(ErrorCode.WRONG_TYPE, field, "wrong type", _BODY_MEND)
        case "model_type" if example := example_at(model, first["loc"]):
            return AsWritten(ErrorCode.WRONG_TYPE, field, "wrong type", f"write an object, as in {example}")
        case "string_type" if isinstance(first["input"], int) and not isinstance(first["input"], bool):
            mend = f'write it as text, as in "{str(first["input"])[:30]}"'
            return AsWritten(ErrorCode.WRONG_TYPE, field, "wrong type", mend)
        case kind if kind in _TYPE_NAMES:
            return AsWritten(ErrorCode.WRONG_TYPE, field, "wrong type", f"write {_TYPE_NAMES[kind]}")
        case "literal_error":
            return _no_value(first, model, field)
        case _:
            return AsWritten(ErrorCode.BAD_VALUE, field, *_reason_and_mend(first))


def _no_value(found: ErrorDetails, model: type[BaseModel], field: str) -> AsWritten:
    given, expected = found["input"], found["ctx"]["expected"]
    if not isinstance(given, str):
        return AsWritten(ErrorCode.WRONG_TYPE, field, "wrong type", f"write text: {expected}")
    meant = meant_value(model, found["loc"], given, re.findall(r"'([^']*)'", expected))
    reason = f"{shown(given)} is not one of its values"
    mend = f"write {expected}" if meant is None else f"did you mean {meant!r}? Else write {expected}"
    return AsWritten(ErrorCode.BAD_VALUE, field, reason, mend, meant)


def _written(model: type[BaseModel], field: str) -> str:
    """Return a field's name as requests write it: of a field with a default pydantic tells the name in the code."""
    known = model.model_fields.get(field)
    return field if known is None or known.alias is None else known.alias


def _reason_and_mend(detail: ErrorDetails) -> tuple[str, str]:
    """Return what is wrong with a value of the right type, and what to write instead."""
    given, bound = detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "greater_than_equal" | "less_than_equal":
            reason = f"it is {str(given)[:30]}"
        case "string_too_short" | "string_too_long":
            reason = f"it has {_counted(len(given), 'character', 'characters')}"
        case "too_short" | "too_long":
            reason = f"it has {_counted(len(given), 'entry', 'entries')}"
        case _ if "mend" in bound:
            return bound["reason"], bound["mend"]
        case _:
            return "its value is not allowed", "see /docs for what it may be"
    least, most = bound.get("ge", bound.get("min_length")), bound.get("le", bound.get("max_length"))
    return reason, f"write {least} or more" if most is None else f"write {most} at most"


def _counted(number: int, singular: str, many: str) -> str:
    return f"1 {singular}" if number == 1 else f"{number or 'no'} {many}"
