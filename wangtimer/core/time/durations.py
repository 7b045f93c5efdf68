"""Spans of time as callers write them, `90s`, `1.5s`, `1h30m`, `2w` or `PT90S`, and as we show them."""

import re
from collections.abc import Mapping

_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_READ_UNITS_MS: Mapping[str, int] = {
    "w": 604_800_000,
    **_UNITS_MS,
    "W": 604_800_000,
    "D": 86_400_000,
    "H": 3_600_000,
    "M": 60_000,
    "S": 1_000,
}
_PART = r"\d{1,15}(?:\.\d{1,9})?"
_SHORT = re.compile(rf"(?:{_PART}(?:ms|[wdhms])){{1,10}}", re.ASCII)
_SHORT_PART = re.compile(r"(\d+)(?:\.(\d+))?(ms|[wdhms])", re.ASCII)
# Weeks, days, hours, minutes, seconds. Months and years have no fixed length.
_ISO = re.compile(
    rf"P(?=\d|T\d)(?:{_PART}W)?(?:{_PART}D)?(?:T(?=\d)(?:{_PART}H)?(?:{_PART}M)?(?:{_PART}S)?)?", re.ASCII
)
_ISO_PART = re.compile(r"(\d+)(?:\.(\d+))?([WDHMS])", re.ASCII)
_FRACTION_DIGITS = 9
_SCALE = 1_000_000_000


def read_duration(text: str) -> int:
    """Return the span in ms, rounded up; raises ValueError for other text. As the client's `read_span`."""
    if _SHORT.fullmatch(text):
        parts = _SHORT_PART.findall(text)
    elif _ISO.fullmatch(text):
        parts = _ISO_PART.findall(text)
    else:
        raise ValueError("not a duration")
    # In whole numbers: a float that is off by a little would be rounded up by a whole ms.
    scaled = 0
    for whole, fraction, unit in parts:
        scaled += int(whole) * _READ_UNITS_MS[unit] * _SCALE
        if fraction:
            scaled += int(fraction.ljust(_FRACTION_DIGITS, "0")) * _READ_UNITS_MS[unit]
    return -(-scaled // _SCALE)


def show_duration(span_ms: int) -> str:
    """Return the span in the fewest units, as in `1h30m`; an empty span is `0s`."""
    parts, left = "", span_ms
    for unit, unit_ms in _UNITS_MS.items():
        number, left = divmod(left, unit_ms)
        parts += f"{number}{unit}" if number else ""
    return parts or "0s"
