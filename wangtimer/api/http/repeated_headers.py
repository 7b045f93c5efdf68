"""Headers that may stand once in a request. WSGI joins repeated ones with a comma, which would be one more value."""

from collections.abc import Sequence

# No header that comes over HTTP has a line break in its value.
_JOINT = "\n"
# As gunicorn writes them.
_ONCE = frozenset({"WANGTIMER-APP", "IDEMPOTENCY-KEY", "IF-MATCH"})

HeaderLines = list[tuple[str, str]]


def join_repeated(lines: HeaderLines) -> HeaderLines:
    """Return the header lines of a request; those that may stand once, and stand twice, as one that `is_repeated`."""
    names = [name for name, _ in lines]
    twice = {name for name in _ONCE if names.count(name) > 1}
    if not twice:
        return lines
    others = [line for line in lines if line[0] not in twice]
    return others + [(name, _JOINT.join(_values(lines, name))) for name in sorted(twice)]


def is_repeated(value: str) -> bool:
    """Tell whether this is the value of a header that stood more than once in the request."""
    return _JOINT in value


def _values(lines: Sequence[tuple[str, str]], name: str) -> list[str]:
    return [value for line_name, value in lines if line_name == name]
