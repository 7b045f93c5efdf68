"""Reads JSON bodies and query strings into models. Fields that a model does not have are refused."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache, wraps
from itertools import chain, islice
from math import isinf
from typing import Any, TypeVar

import orjson
from flask import Response, request
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import RequestEntityTooLarge

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import AsWritten, Part, Refused, refusal_of, shown
from wangtimer.api.http.repeated_headers import is_repeated
from wangtimer.api.http.request_context import begin_large
from wangtimer.core.numbers_as_written import Fraction, refuse_constant, whole

MOST_BODY_BYTES = 65_536
MOST_BODY = f"{MOST_BODY_BYTES // 1_024} KiB"
# Depth of objects and lists; no request needs more than five.
MOST_DEPTH = 32
# Fields of one object. No model has half as many, and no timer has more than 50 headers.
MOST_FIELDS = 64
# Objects, lists and numbers of one request, and as many commas. A batch of 1,000 full timers has some 70,000 and
# 100,000.
MOST_PARTS = 200_000
# Digits of a whole number; Python reads no more.
MOST_DIGITS = 4_300

# A JSON string, or one that does not end.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)

Model = TypeVar("Model", bound=BaseModel)


def asking_nothing(view: Callable[[], Response]) -> Callable[[], Response]:
    """Return a view as a plain function: flask-openapi sets an attribute on it, and a bound method allows none."""

    @wraps(view)
    def answer() -> Response:
        return view()

    return answer


def read_model(model: type[Model], given: Any) -> Model:
    """Return the given value as a model; raises `Refused`."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise refusal_of(error, model) from None


def read_header(model: type[BaseModel]) -> dict[str, str]:
    """Return the headers of the request that a model has fields for; raises `Refused` for one given twice."""
    environ = request.environ
    found = {name: value for name, key in _headers_of(model) if (value := environ.get(key)) is not None}
    for name, value in found.items():
        if is_repeated(value):
            raise AsWritten(ErrorCode.DUPLICATE_FIELD, name, "given twice", "give it once", part=Part.HEADER)
    return found


@cache
def _headers_of(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """Return the headers that a model has fields for, each with its key in a WSGI environ."""
    names = [field.alias or name for name, field in model.model_fields.items()]
    return tuple((name, f"HTTP_{name.upper().replace('-', '_')}") for name in names)


def read_query() -> dict[str, Any]:
    """Return the query string's parameters; raises `Refused` for one given twice."""
    return _unique(list(request.args.items(multi=True)))


def read_body(most_bytes: int) -> dict[str, Any]:
    """Return the JSON object that is the request's body; raises `Refused`, and `TooManyAtOnce` for a large one."""
    charset = request.mimetype_params.get("charset", "utf-8")
    is_json = request.mimetype == "application/json"
    # RFC 7396; what a PATCH of ours takes.
    is_merge_patch = request.mimetype == "application/merge-patch+json" and request.method == "PATCH"
    if not (is_json or is_merge_patch) or charset.lower() != "utf-8":
        raise Refused(
            ErrorCode.WRONG_CONTENT_TYPE,
            "",
            f"the content type is {shown(request.content_type or '')}",
            "send JSON in UTF-8 with Content-Type: application/json",
        )
    raw = _read_raw(most_bytes)
    if len(raw) > MOST_BODY_BYTES:
        begin_large()
    return read_object(raw)


def _read_raw(most_bytes: int) -> bytes:
    # One byte more than allowed: werkzeug cuts a chunked body at its limit without an error. Our check sees the rest.
    request.max_content_length = most_bytes + 1
    try:
        raw = request.get_data(cache=False)
    except RequestEntityTooLarge:
        raise _too_large(most_bytes) from None
    if len(raw) > most_bytes:
        raise _too_large(most_bytes)
    return raw


def read_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object in `raw`; raises `Refused` for anything else."""
    _refuse_many_parts(raw)
    parts = _Parts()
    try:
        found = json.loads(
            raw.decode(),
            object_pairs_hook=parts.object_of,
            parse_int=parts.whole,
            parse_float=parts.fraction,
            parse_constant=refuse_constant,
        )
        if b"\\u" in raw:
            # An escape can be half a surrogate pair, which UTF-8 cannot hold: orjson refuses it.
            orjson.loads(raw)
    except RecursionError:
        raise _broken("it is nested too deep") from None
    except ValueError as error:
        raise _broken(str(error)) from None
    if _is_deep(found):
        raise _broken("it is nested too deep")
    if not isinstance(found, dict):
        raise Refused(ErrorCode.NOT_AN_OBJECT, "", "the body is no JSON object", "write {...}")
    if parts.has_infinite:
        raise _infinite(found)
    return found


def _is_deep(found: Any) -> bool:
    """Tell whether it is nested deeper than `MOST_DEPTH`. It goes level by level; later readers recurse."""
    level = [found]
    seen = 0
    for _ in range(MOST_DEPTH):
        inner = (
            part.values() if isinstance(part, dict) else part
            for part in level
            if isinstance(part, dict | list)
        )
        within = (part for parts in inner for part in parts if isinstance(part, dict | list))
        level = list(islice(within, MOST_PARTS + 1 - seen))
        seen += len(level)
        if seen > MOST_PARTS:
            raise _too_many_parts()
        if not level:
            return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    # The first repeated name; each name is looked at once.
    twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    raise AsWritten(ErrorCode.DUPLICATE_FIELD, twice[:64], "given twice", "give it once")


class _Parts:
    """Reads the objects and numbers of one body and counts them. It stops reading once there are too many."""

    def __init__(self) -> None:
        self._left = MOST_PARTS
        # Whether a number was larger than a float can hold.
        self.has_infinite = False

    def object_of(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the object of these fields; raises `Refused` for a field given twice, and for too many fields."""
        self._count()
        found = _unique(pairs)
        if len(pairs) > MOST_FIELDS:
            raise Refused(
                ErrorCode.TOO_MUCH_WORK,
                "",
                f"an object has {len(pairs)} fields",
                f"write {MOST_FIELDS} at most; /docs shows which there are",
            )
        return found

    def whole(self, digits: str) -> int:
        """Return the whole number; raises ValueError for one that is too long."""
        self._count()
        if len(digits) > MOST_DIGITS:
            raise ValueError(f"it has a number of {len(digits)} digits")
        return whole(digits)

    def fraction(self, digits: str) -> float:
        """Return a number that is not whole, with its digits."""
        self._count()
        found = Fraction(digits)
        self.has_infinite = self.has_infinite or isinf(found)
        return found

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _too_many_parts()


def _infinite(found: dict[str, Any]) -> Refused:
    place, _ = next((place, value) for place, value in _fractions(found, ()) if isinf(value))
    return AsWritten(
        ErrorCode.BAD_VALUE, ".".join(place), "the number is too large", "write one below 1.8e308, or text"
    )


def _fractions(found: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Fraction]]:
    """Yield each fraction and the names and indexes that lead to it."""
    if isinstance(found, Fraction):
        yield place, found
    elif isinstance(found, dict | list):
        for name, inner in found.items() if isinstance(found, dict) else enumerate(found):
            yield from _fractions(inner, (*place, str(name)))


def _refuse_many_parts(raw: bytes) -> None:
    """Raise `Refused` for more objects and lists, or more commas, than a request may have, before any is built.

    Commas count values of any kind. Strings are skipped, as their commas do not count. It stops at the first part that
    is too many.
    """
    if raw.count(b"[") + raw.count(b"{") <= MOST_PARTS and raw.count(b",") <= MOST_PARTS:
        return
    brackets = commas = at = 0
    for begin, end in chain((text.span() for text in _TEXT.finditer(raw)), [(len(raw), len(raw))]):
        brackets += raw.count(b"[", at, begin) + raw.count(b"{", at, begin)
        commas += raw.count(b",", at, begin)
        at = end
        if max(brackets, commas) > MOST_PARTS:
            raise _too_many_parts()


def _too_many_parts() -> Refused:
    return Refused(
        ErrorCode.TOO_MUCH_WORK,
        "",
        f"it has more than {MOST_PARTS} values",
        "divide it into smaller requests",
    )


def _too_large(most_bytes: int) -> Refused:
    return Refused(
        ErrorCode.BODY_TOO_LARGE, "", f"the body is over {most_bytes // 1_024} KiB", "shorten or divide it"
    )


def _broken(reason: str) -> Refused:
    return Refused(
        ErrorCode.BROKEN_JSON, "", f"the body is not JSON: {reason}", "send one JSON object in UTF-8"
    )
