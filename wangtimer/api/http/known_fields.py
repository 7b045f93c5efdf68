"""Which fields there are, and which field an unknown name was meant for."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, get_args

from pydantic import BaseModel

from wangtimer.api.http.described import Described
from wangtimer.core.near_misses import Names, near_miss

# Other schedulers' and people's words for the fields of the compatible paths.
OUR_WORDS: Mapping[str, str] = {
    "cronExpression": "cron",
    "expression": "cron",
    "schedule": "cron",
    "interval": "everyMs",
    "intervalMs": "everyMs",
    "every": "everyMs",
    "everySeconds": "everyMs",
    "everyMinutes": "everyMs",
    "intervalSeconds": "everyMs",
    "dialect": "cronDialect",
    "jitter": "jitterMs",
    "misfirePolicy": "misfire",
    "active": "enable",
    "delay": "delayMs",
    "delaySeconds": "delayMs",
    "startTime": "startAt",
    "endTime": "endAt",
    "expireAt": "endAt",
    "runAt": "at",
    "fireAt": "at",
    "tz": "timezone",
    "zone": "timezone",
    "callback": "notifyHTTPParam",
    "webhook": "notifyHTTPParam",
    "notify": "notifyHTTPParam",
    "callbackUrl": "notifyHTTPParam.url",
    "payload": "notifyHTTPParam.body",
    "repeatCount": "maxFirings",
    "maxRuns": "maxFirings",
    "calendar": "excludeCalendar",
    "timerId": "id",
    "timerID": "id",
    "group": "tag",
    "pageNo": "pageIndex",
    "offset": "cursor",
    "status": "statuses",
}


def known_fields(model: type[BaseModel], path: Sequence[int | str]) -> tuple[str, str | None]:
    """Return advice about a field that a model does not have, and the field that was meant, or None.

    `path` leads to the field, from the model of the whole request.
    """
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
            model = next(_model_within(field) for name, field in _fields(model) if name == part)
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
    ours = _word_names(tuple(words)).same_as(written)
    word = words.get(ours or "")
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
    """Yield the models in a field's type: of an object, of a list of objects, or none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _model_within(field: Any) -> type[BaseModel]:
    return next(_models_in(field.annotation))
