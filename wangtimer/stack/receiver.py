"""A small HTTP receiver that writes down each request and its time of arrival; it knows nothing of WangTimer.

    python -m wangtimer.stack.receiver --port 0 --out requests.jsonl

prints the port it listens on, then appends one JSON line a request:
`{"arrivedAt": ms since 1970 (float), "method", "path", "headers": {name in lower case: value}, "body"}`.
Connections are kept open; every request is answered 200. Only the standard library is used.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field

# Lines are written together: writing a single line costs as much as reading the request.
FLUSH_SECONDS = 0.01

_HEAD_END = b"\r\n\r\n"
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_REFUSAL = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(slots=True)
class Journal:
    """The lines on their way to the file."""

    descriptor: int
    lines: list[bytes] = field(default_factory=list)

    def note(self, request: "Request", body: bytes) -> None:
        """Take down a request; it is in the file 10 ms later."""
        if not self.lines:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        line = {
            "arrivedAt": request.arrived_at,
            "method": request.method,
            "path": request.path,
            "headers": request.headers,
            "body": body.decode("utf-8", "replace"),
        }
        self.lines.append(json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def flush(self) -> None:
        """Write the lines taken down so far."""
        data = memoryview(b"".join(self.lines))
        self.lines.clear()
        while data:
            data = data[os.write(self.descriptor, data) :]


@dataclass(frozen=True, slots=True)
class Request:
    """A request's head."""

    arrived_at: float
    method: str
    path: str
    headers: dict[str, str]

    @classmethod
    def read(cls, head: bytes, arrived_at: float) -> "Request":
        """Read a head without its closing empty line; raises `ValueError` when it is not a head."""
        first, *rest = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        pairs = (line.split(":", 1) for line in rest)
        return cls(arrived_at, method, path, {name.lower(): value.strip() for name, value in pairs})

    @property
    def body_length(self) -> int:
        """The body's bytes; raises `ValueError` for a body whose length is not given."""
        if "transfer-encoding" in self.headers:
            raise ValueError("a body in chunks")
        return int(self.headers.get("content-length", "0"))


class Connection(asyncio.Protocol):
    """One connection, kept open until the client closes it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._buffer = b""
        self._request: Request | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete by now."""
        self._buffer += data
        try:
            while self._answer_next(time.time() * 1000):
                pass
        except ValueError:
            self._transport.write(_REFUSAL)
            self._transport.close()

    def _answer_next(self, arrived_at: float) -> bool:
        if self._request is None and not self._read_head(arrived_at):
            return False
        assert self._request is not None
        length = self._request.body_length
        if len(self._buffer) < length:
            return False
        self._journal.note(self._request, self._buffer[:length])
        self._buffer, self._request = self._buffer[length:], None
        self._transport.write(_ANSWER)
        return True

    def _read_head(self, arrived_at: float) -> bool:
        head, end, rest = self._buffer.partition(_HEAD_END)
        if not end:
            return False
        self._request = Request.read(head, arrived_at)
        self._buffer = rest
        if self._request.headers.get("expect", "").lower() == "100-continue":
            self._transport.write(_CONTINUE)
        return True


async def serve(host: str, port: int, descriptor: int) -> None:
    """Listen until SIGTERM or SIGINT; print the port."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    journal = Journal(descriptor)
    server = await loop.create_server(lambda: Connection(journal), host, port, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stopped.wait()
    server.close()
    journal.flush()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description="Write down every HTTP request with its time of arrival.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: a free one; it is printed")
    parser.add_argument("--out", help="file to append JSON lines to; standard output when left out")
    arguments = parser.parse_args()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    descriptor = os.open(arguments.out, flags, 0o644) if arguments.out else sys.stdout.fileno()
    asyncio.run(serve(arguments.host, arguments.port, descriptor))


if __name__ == "__main__":
    main()
