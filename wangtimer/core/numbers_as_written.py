"""JSON whose numbers keep the digits that somebody wrote: `12345678901234567890.5`, `1.10`, `1e5`, `-0`."""

import json
from typing import Any, NoReturn

import orjson

# So many digits fit into 64 bits, whichever they are.
_SURE_DIGITS = 18


class Fraction(float):
    """A number that is not whole, and its digits as they were written."""

    __slots__ = ("digits",)
    digits: str

    def __new__(cls, digits: str) -> "Fraction":
        """Read the digits."""
        found = super().__new__(cls, digits)
        found.digits = digits
        return found


class Whole(int):
    """A whole number that is not written by its value alone: of more than 64 bits, or -0."""

    digits: str


def whole(digits: str) -> int:
    """Return the whole number of these digits; raises ValueError for more than Python reads."""
    if len(digits) <= _SURE_DIGITS and digits != "-0":
        return int(digits)
    found = Whole(digits)
    found.digits = digits
    return found


def read_json(text: str) -> Any:
    """Return the value of a JSON text, each number with its digits; raises ValueError, RecursionError."""
    return json.loads(text, parse_int=whole, parse_float=Fraction, parse_constant=refuse_constant)


def json_text(value: Any) -> str:
    """Return a value as JSON, each number with its digits as written; raises TypeError as orjson does."""
    return json_bytes(value).decode()


def json_bytes(value: Any, options: int = 0) -> bytes:
    """Return a value as JSON in bytes, with these options of orjson; otherwise as `json_text`."""
    return orjson.dumps(value, default=_as_written, option=orjson.OPT_PASSTHROUGH_SUBCLASS | options)


def _as_written(value: Any) -> orjson.Fragment:
    if isinstance(value, Fraction | Whole):
        return orjson.Fragment(value.digits)
    raise TypeError(f"{type(value).__name__} is not JSON")


def refuse_constant(word: str) -> NoReturn:
    """Refuse `NaN` and the like, which Python's reader takes."""
    raise ValueError(f"{word} is not JSON")
