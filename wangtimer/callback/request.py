"""A request as it goes over the wire to a target."""

import re
from copy import copy
from functools import lru_cache

from wangtimer import VERSION
from wangtimer.core.flow.origin import part_of_path, read_url
from wangtimer.core.flow.slicing import WayKey

Headers = tuple[tuple[str, str], ...]
# The app, and the scheme, host and port it calls.
Route = tuple[str, str]

USER_AGENT = f"WangTimer/{VERSION}"

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2
_BREAKS_A_HEADER = re.compile(r"[\r\n\0]")
# The engine writes these from the body; a second statement of where a body ends allows request smuggling.
_ENGINE_WRITES = frozenset({"content-length", "transfer-encoding"})

# RFC 9110 gives a body no meaning with other methods: a target that leaves it unread takes it for the next request.
_WITH_A_BODY = frozenset({"POST", "PUT", "PATCH"})


class Request:
    r"""One complete HTTP request: all that is sent.

    `headers` are sent in their order, equal names as separate lines; text goes out as UTF-8. Host, User-Agent and
    Accept go before them, unless they are among `headers`. So does Authorization where the URL has a user name; the
    API refuses such a URL. Content-Length goes last; only a GET without a body has none.
    Raises ValueError for a method not in METHODS, a header that would break out of its line, and headers
    that say where the body ends. A URL that nothing can be sent to becomes a Reply with an error.
    `stamps` are further header lines, sent as they are: `b"name: value\r\n"` each.

    `app` owns the request: a connection that carried one app's request carries no other app's.
    `route` names the connections it may use: those of the app to the URL's scheme, host and port.
    `part` is the part of its host that it calls, None: by its path. `way` is the app with host and part, whose health
    is judged by itself.
    `host` is the URL's host and port; the URL up to its path if they cannot be read.
    `ends_connection`: the target may take the body for another request, so nothing may follow on its connection.
    `head` and `body` go over the connection one after the other; they are separate, so that requests may share a body.
    `fault` says why it cannot be sent, "" if it can.
    `excerpt_bytes` is how much of its answer's body is kept; None: as the engine has it.
    """

    __slots__ = (
        "_given",
        "_stamps",
        "app",
        "body",
        "ends_connection",
        "excerpt_bytes",
        "fault",
        "head",
        "host",
        "method",
        "origin",
        "part",
        "route",
        "url",
        "way",
    )

    def __init__(
        self,
        url: str,
        method: str,
        headers: Headers,
        body: bytes,
        stamps: bytes = b"",
        app: str = "",
        excerpt_bytes: int | None = None,
        part: str | None = None,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"method {method!r} is not one of {', '.join(sorted(METHODS))}")
        self.excerpt_bytes = excerpt_bytes
        self.url = url
        self.method = method
        self.body = body
        self.app = app
        self.ends_connection = bool(body) and method not in _WITH_A_BODY
        self._given = headers
        self._stamps = stamps
        self.origin, path = read_url(url)
        self.route: Route = (app, self.origin.key)
        self.part = part_of_path(path) if part is None else part
        self.way: WayKey = (app, self.origin.key + self.part)
        self.host = self.origin.host_port
        self.fault = self.origin.fault
        written = _written(headers, self.origin.host_header, self.origin.authorization)
        end = b"" if method == "GET" and not body else b"Content-Length: %d\r\n" % len(body)
        line = f"{method} {path} HTTP/1.1\r\n".encode(errors="replace")
        self.head = b"%b%b%b%b\r\n" % (line, written, stamps, end)

    def with_stamps(self, stamps: bytes) -> "Request":
        """Return the same request with these stamps in place of its own."""
        return Request(
            self.url, self.method, self._given, self.body, stamps, self.app, self.excerpt_bytes, self.part
        )

    def without_body(self) -> "Request":
        """Return what is known of a request that was written: all but its bytes."""
        written = copy(self)
        written.head = written.body = b""
        return written

    @property
    def wire(self) -> bytes:
        """All of it as it goes over the connection."""
        return self.head + self.body

    @property
    def headers(self) -> Headers:
        """The given headers: `headers`, then those of `stamps`; without those that the engine adds."""
        return (*self._given, *(_header_of(line) for line in self._stamps.decode().split("\r\n")[:-1]))


@lru_cache(maxsize=1024)  # 4 µs to write, and most timers of an app have the same
def _written(headers: Headers, host_header: str, authorization: str) -> bytes:
    """Write headers, those that the engine adds first; ValueError for one that would break out of its line."""
    refuse_bad(headers)
    names = {name.lower() for name, _ in headers}
    added = [
        ("Host", host_header),
        ("Authorization", authorization),
        ("User-Agent", USER_AGENT),
        ("Accept", "*/*"),
    ]
    lines = [(name, value) for name, value in added if value and name.lower() not in names]
    lines += headers
    return "".join(
        f"{name}: {value}\r\n" if value.strip() else f"{name}:\r\n" for name, value in lines
    ).encode()


def _header_of(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name, value.removeprefix(" ")


def refuse_bad(headers: Headers) -> None:
    """Raise ValueError for a header that would break out of its line, or says where the body ends."""
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
