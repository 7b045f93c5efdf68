"""What goes over the wire to a target."""

import re
from dataclasses import dataclass
from functools import lru_cache

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2
_BREAKS_A_HEADER = re.compile(r"[\r\n\0]")
# The engine writes these from the body; a second opinion on where a body ends is request smuggling.
_ENGINE_WRITES = frozenset({"content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, complete: nothing is added to it but Host, Accept, Content-Length and User-Agent.

    `headers` are sent in their order, equal names as separate lines; text goes out as UTF-8.
    Raises ValueError for a method not in METHODS, a header that would break out of its line, and headers
    that say where the body ends. The URL is read by libcurl when it is sent: a bad one becomes a Reply
    with an error.
    """

    url: str
    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method {self.method!r} is not one of {', '.join(sorted(METHODS))}")
        for name, value in self.headers:
            _refuse_bad_name(name)
            if _BREAKS_A_HEADER.search(value):
                raise ValueError(f"header {name!r} has a line break or NUL in its value; remove it")


@lru_cache(maxsize=1024)  # few names, many requests; a refusal is not remembered
def _refuse_bad_name(name: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"header name {name!r} has characters a name cannot have")
    if name.lower() in _ENGINE_WRITES:
        raise ValueError(f"header {name!r} is written from the body; leave it out")
