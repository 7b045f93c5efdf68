"""gunicorn's threads, with bounds: a client that sends half a request holds no thread for longer than these.

What a client sent is never quoted, neither in the log nor to it: a broken header line may be its credentials.
"""

import time
from socket import socket
from typing import Any

from gunicorn import util
from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, ParseException
from gunicorn.workers.gthread import TConn, ThreadWorker

from wangtimer.settings import read_settings

# s in which one part of an answer is to be taken.
TAKEN_WITHIN_S = 20.0

_STATUS = {
    LimitRequestLine: (414, "URI Too Long"),
    LimitRequestHeaders: (431, "Request Header Fields Too Large"),
}


class SlowHead(ParseException):  # type: ignore[misc]
    """The head of a request did not come whole in time."""


class PatientSocket(socket):
    """Reads until a moment, however often something comes: neither silence nor a drip holds it longer."""

    _until = 0.0
    _reads_head = True
    # Whether a body did not come in time: what follows on the connection is then its rest, and no request.
    is_late = False

    def await_head(self, within_s: float) -> None:
        """Let the head of a request be read within so many seconds."""
        self._until, self._reads_head = time.monotonic() + within_s, True

    def await_body(self, within_s: float) -> None:
        """Let the body of a request be read within so many seconds."""
        self._until, self._reads_head = time.monotonic() + within_s, False

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        """Receive what there is; `SlowHead`, or TimeoutError for a body, once the time is over."""
        # 0 would mean not to wait at all, and to say so by another error.
        self.settimeout(max(self._until - time.monotonic(), 0.001))
        try:
            return super().recv(bufsize, flags)
        except TimeoutError:
            self.is_late = True
            if self._reads_head:
                raise SlowHead from None
            raise

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all of it; TimeoutError where the client does not take it."""
        self.settimeout(TAKEN_WITHIN_S)
        super().sendall(data, flags)


class WebWorker(ThreadWorker):  # type: ignore[misc]
    """A worker whose threads no client can hold."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        settings = read_settings()
        self._head_s, self._body_s = settings.http_head_timeout_s, settings.http_body_timeout_s

    def enqueue_req(self, conn: TConn) -> None:
        """Hand a connection to a thread."""
        if not isinstance(conn.sock, PatientSocket):
            conn.sock = PatientSocket(fileno=conn.sock.detach())
        super().enqueue_req(conn)

    def handle(self, conn: TConn) -> Any:
        """Read a request and answer it."""
        conn.sock.await_head(self._head_s)
        return super().handle(conn)

    def handle_request(self, req: Any, conn: TConn) -> Any:
        """Answer a request whose head is read."""
        conn.sock.await_body(self._body_s)
        stays_open = super().handle_request(req, conn)
        return stays_open and not conn.sock.is_late

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer a request that cannot be read; what it had instead is told nobody."""
        if not isinstance(exc, ParseException):
            super().handle_error(req, client, addr, exc)
            return
        status, reason = (408, "Request Timeout") if isinstance(exc, SlowHead) else _status_of(exc)
        self.log.warning("request refused: %s", type(exc).__name__)
        try:
            util.write_error(client, status, reason, type(exc).__name__)
        except OSError:
            self.log.debug("nobody takes the answer")


def _status_of(exc: ParseException) -> tuple[int, str]:
    return next((found for kind, found in _STATUS.items() if isinstance(exc, kind)), (400, "Bad Request"))
