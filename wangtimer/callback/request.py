"""What goes over the wire to a target."""

import re
from functools import lru_cache
from importlib.metadata import version
from typing import NamedTuple
from urllib.parse import urlsplit

Headers = tuple[tuple[str, str], ...]

USER_AGENT = f"WangTimer/{version('wangtimer')}"

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2
_BREAKS_A_HEADER = re.compile(r"[\r\n\0]")
# The engine writes these from the body; a second opinion on where a body ends is request smuggling.
_ENGINE_WRITES = frozenset({"content-length", "transfer-encoding"})


# libcurl writes one of its own for each of these unless it is given, or acts on them.
_LIBCURLS_OWN = frozenset({"host", "user-agent", "accept", "expect", "connection", "te", "upgrade"})
_ALWAYS = f"User-Agent: {USER_AGENT}\r\nAccept: */*\r\n"
_DEFAULT_PORTS = {"http": 80, "https": 443}
# No "/" from here on is one of "http://" or "https://".
_AFTER_SCHEME = len("https://")

# Hosts and paths that libcurl sends as they stand: no address in another notation, nothing to be decoded or tidied up.
_PLAIN_ORIGIN = re.compile(
    r"http://("
    r"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
    r"|(?:[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?\.)*[a-z](?:[a-z0-9_-]*[a-z0-9])?"
    r")(?::([1-9]\d{0,4}))?",
    re.ASCII,
)
_PLAIN_PATH = re.compile(r"(?:/(?!\.)|[!$&'()*+,\-.0-9:;=?@A-Z_a-z~]++|%(?!2E)[0-9A-F]{2})*+")


class Request:
    r"""One HTTP request, complete: nothing is added to it but Host, Accept, Content-Length and User-Agent.

    `headers` are sent in their order, equal names as separate lines; text goes out as UTF-8.
    Raises ValueError for a method not in METHODS, a header that would break out of its line, and headers
    that say where the body ends. The URL is read when it is sent: a bad one becomes a Reply with an error.
    `stamps` are header lines behind these, taken as they are: `b"name: value\r\n"` each.

    `app` is whose request it is.
    `host` names the host and port the URL leads to; the URL up to its path where they cannot be read.
    `wire` is all of it, byte for byte as libcurl would send it; None for what is left to libcurl: TLS, and
    URLs and headers that it makes something else of.
    """

    __slots__ = ("_headers", "_stamps", "app", "body", "host", "method", "url", "wire")

    def __init__(
        self, url: str, method: str, headers: Headers, body: bytes, stamps: bytes = b"", app: str = ""
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"method {method!r} is not one of {', '.join(sorted(METHODS))}")
        self.url = url
        self.method = method
        self.body = body
        self.app = app
        self._headers = _written(headers)
        self._stamps = stamps
        path_begins = url.find("/", _AFTER_SCHEME)
        origin = _origin(url if path_begins < 0 else url[:path_begins])
        self.host = origin.host
        self.wire = self._wire(origin.plain, "/" if path_begins < 0 else url[path_begins:])

    @property
    def lines(self) -> list[bytes]:
        """The headers as libcurl takes them."""
        return [*self._headers.for_libcurl, *self._stamps.splitlines()]

    @property
    def headers(self) -> Headers:
        """The headers that are sent, read back from their lines."""
        return tuple(_header_of(line.decode()) for line in self.lines if not line.endswith(b":"))

    def _wire(self, host: str | None, path: str) -> bytes | None:
        plain, body = self._headers.plain, self.body
        if host is None or plain is None or not _PLAIN_PATH.fullmatch(path):
            return None
        end = b"" if self.method == "GET" and not body else b"Content-Length: %d\r\n" % len(body)
        head = f"{self.method} {path} HTTP/1.1\r\nHost: {host}\r\n{_ALWAYS}".encode()
        return b"%b%b%b%b\r\n%b" % (head, plain, self._stamps, end, body)


class _Written(NamedTuple):
    """Headers as libcurl takes them, and as they go over the wire; None where libcurl would make more of them."""

    for_libcurl: list[bytes]
    plain: bytes | None


@lru_cache(maxsize=1024)  # 4 µs to write, and most timers of an app have the same; nobody changes the list
def _written(headers: Headers) -> _Written:
    """Write headers; ValueError for one that would break out of its line.

    For libcurl, "Name:" without a value takes a header of its own away (the wait for 100 Continue, a form's
    content type), and "Name;" is how an empty value is sent.
    """
    _refuse_bad(headers)
    names = {name.lower() for name, _ in headers}
    lines = ["Expect:"]
    lines += [f"{name}: {value}" if value.strip() else f"{name};" for name, value in headers]
    if "content-type" not in names:
        lines.append("Content-Type:")
    plain = "".join(f"{name}: {value}\r\n" if value.strip() else f"{name}:\r\n" for name, value in headers)
    return _Written([line.encode() for line in lines], None if names & _LIBCURLS_OWN else plain.encode())


class _Origin(NamedTuple):
    """What stands before the path: the host and port, and what the Host header says: None if libcurl must read it."""

    host: str
    plain: str | None


@lru_cache(maxsize=4096)  # 6 µs to work out, and most calls go to few hosts
def _origin(text: str) -> _Origin:
    try:
        parts = urlsplit(text)
        host = f"{parts.hostname}:{parts.port or _DEFAULT_PORTS.get(parts.scheme)}"
    except ValueError:
        return _Origin(text, None)
    match = _PLAIN_ORIGIN.fullmatch(text)
    if match is None:
        return _Origin(host, None)
    name, port = match.groups()
    return _Origin(host, name if port in (None, "80") else f"{name}:{port}")


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
