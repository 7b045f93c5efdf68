"""A real HTTP server that fails as told, then answers; it notes what came."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Told:
    """`fails`: what the next requests meet, a status or "cut" (taken, and the connection closed unanswered)."""

    fails: list[int | str] = field(default_factory=list)
    # Which requests, from 1 on, are taken and not answered.
    losses: list[int] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=lambda: {"id": 7})
    # What the next requests are answered, before `answer` is.
    answers: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    # With which statuses, before `status` is.
    statuses: list[int] = field(default_factory=list)
    header: dict[str, str] = field(default_factory=dict)
    came: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    told: Told
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.told.bodies.append(json.loads(sent or "{}"))
        self.told.came.append((self.command, self.path, dict(self.headers)))
        fault = self.told.fails.pop(0) if self.told.fails else None
        fault = "cut" if len(self.told.came) in self.told.losses else fault
        if fault == "cut":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        status = self._status() if fault is None else int(fault)
        answer = self.told.answers.pop(0) if fault is None and self.told.answers else self.told.answer
        body = json.dumps(answer).encode() if fault is None else b"<html>away</html>"
        self.send_response(status)
        for name, value in {**self.told.header, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _status(self) -> int:
        return self.told.statuses.pop(0) if self.told.statuses else self.told.status

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - names of the base class

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@contextmanager
def flaky() -> Iterator[Told]:
    """Serve on a free port."""
    told = Told()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Told", (Handler,), {"told": told}))
    told.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
