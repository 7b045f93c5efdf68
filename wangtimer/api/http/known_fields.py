"""Which fields there are, and which one somebody meant who wrote another."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, get_args

from pydantic import BaseModel

from wangtimer.api.http.described import Described
from wangtimer.core.near_misses import Names

# Words of other schedulers, and of people, for our fields.
_OUR_WORDS = {
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


def known_fields(model: type[BaseModel], path: Sequence[int | str]) -> str:
    """Return what to do about a field that a model does not have: which was meant, if that can be told, and all it has.

    `path` leads to the field, from the model of the whole request.
    """
    inner = model
    for part in path[:-1]:
        if isinstance(part, str):
            inner = next(_model_within(field) for name, field in _fields(inner) if name == part)
    there_are = f"there are {', '.join(name for name, _ in _fields(inner))}"
    if advice := _elsewhere(inner, str(path[-1])):
        return f"{advice}; {there_are}"
    meant = _meant_field(model, inner, str(path[-1]))
    advice = "there is no such field here; " if meant is None else f"did you mean {meant}? Else "
    return f"{advice}leave it out; {there_are}"


def _elsewhere(inner: type[BaseModel], written: str) -> str | None:
    """Return where what was meant is to be had, where the model knows that it is no field of the request."""
    advice = inner.meant_elsewhere if issubclass(inner, Described) else {}
    return advice.get(Names(advice).same_as(written) or "")


def _meant_field(whole: type[BaseModel], inner: type[BaseModel], written: str) -> str | None:
    """Return the field that was meant: one of the same object, or else one of another object of the request."""
    ours = _our_words().same_as(written)
    word = _OUR_WORDS.get(ours or "")
    here = (word if word in dict(_fields(inner)) else None) or _names(inner).meant_by(written)
    if here is not None:
        return here
    elsewhere = dict(_places(whole))
    return word if word in elsewhere.values() else elsewhere.get(written)


def _places(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each field's name and dotted place, those of inner objects first: of one name, the outermost stays."""
    for name, field in _fields(model):
        for inner in _models_in(field.annotation):
            yield from _places(inner, f"{path}{name}.")
    yield from ((name, f"{path}{name}") for name, _ in _fields(model))


def _fields(model: type[BaseModel]) -> list[tuple[str, Any]]:
    return [(field.alias or name, field) for name, field in model.model_fields.items()]


@lru_cache(maxsize=256)
def _names(model: type[BaseModel]) -> Names:
    return Names(name for name, _ in _fields(model))


@lru_cache(maxsize=1)
def _our_words() -> Names:
    return Names(_OUR_WORDS)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models of a field that holds one, or a list of them, or nothing."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _model_within(field: Any) -> type[BaseModel]:
    return next(_models_in(field.annotation))
