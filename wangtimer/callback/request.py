"""What goes over the wire to a target."""

import re
from collections.abc import Iterable
from functools import lru_cache

Headers = tuple[tuple[str, str], ...]

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2
_BREAKS_A_HEADER = re.compile(r"[\r\n\0]")
# The engine writes these from the body; a second opinion on where a body ends is request smuggling.
_ENGINE_WRITES = frozenset({"content-length", "transfer-encoding"})


class Request:
    """One HTTP request, complete: nothing is added to it but Host, Accept, Content-Length and User-Agent.

    `headers` are sent in their order, equal names as separate lines; text goes out as UTF-8.
    Raises ValueError for a method not in METHODS, a header that would break out of its line, and headers
    that say where the body ends. The URL is read by libcurl when it is sent: a bad one becomes a Reply
    with an error. `stamps` are header lines behind these, taken as they are: `b"name: value"`.
    """

    __slots__ = ("body", "lines", "method", "url")

    def __init__(
        self, url: str, method: str, headers: Headers, body: bytes, stamps: Iterable[bytes] = ()
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"method {method!r} is not one of {', '.join(sorted(METHODS))}")
        self.url = url
        self.method = method
        self.body = body
        self.lines = [*lines_of(headers), *stamps]

    @property
    def headers(self) -> Headers:
        """The headers that are sent, read back from their lines."""
        return tuple(_header_of(line.decode()) for line in self.lines if not line.endswith(b":"))


@lru_cache(maxsize=1024)  # 4 µs to write, and most timers of an app have the same; nobody changes the list
def lines_of(headers: Headers) -> list[bytes]:
    """Write headers the way libcurl takes them; ValueError for one that would break out of its line.

    "Name:" without a value takes a header of libcurl's own away (the wait for 100 Continue, a form's content
    type), and "Name;" is how an empty value is sent.
    """
    _refuse_bad(headers)
    lines = ["Expect:"]
    has_type = False
    for name, value in headers:
        lines.append(f"{name}: {value}" if value.strip() else f"{name};")
        has_type = has_type or name.lower() == "content-type"
    if not has_type:
        lines.append("Content-Type:")
    return [line.encode() for line in lines]


def _header_of(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(": ")
    return (name, value) if colon else (line.removesuffix(";"), "")


def _refuse_bad(headers: Headers) -> None:
    for name, value in headers:
        _refuse_bad_name(name)
        if _BREAKS_A_HEADER.search(value):
            raise ValueError(f"header {name!r} has a line break or NUL in its value; remove it")


@lru_cache(maxsize=1024)  # few names, many requests; a refusal is not remembered
def _refuse_bad_name(name: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"header name {name!r} has characters a name cannot have")
    if name.lower() in _ENGINE_WRITES:
        raise ValueError(f"header {name!r} is written from the body; leave it out")
