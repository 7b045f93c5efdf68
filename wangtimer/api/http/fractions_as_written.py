"""JSON whose fractions keep the digits that the caller wrote: `12345678901234567890.5`, `1.10`, `1e5`."""

import json
from typing import Any

import orjson


class Fraction(float):
    """A number of a request that is not whole, and its digits as the caller wrote them."""

    __slots__ = ("digits",)
    digits: str

    def __new__(cls, digits: str) -> "Fraction":
        """Read the digits."""
        found = super().__new__(cls, digits)
        found.digits = digits
        return found


def json_text(value: Any) -> str:
    """Return a request's value as JSON, each number with its digits as written."""
    try:
        return orjson.dumps(value, default=_as_written).decode()
    except TypeError:
        # A whole number of more than 64 bits, which orjson does not write.
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _as_written(value: Any) -> orjson.Fragment:
    if isinstance(value, Fraction):
        return orjson.Fragment(value.digits)
    raise TypeError
