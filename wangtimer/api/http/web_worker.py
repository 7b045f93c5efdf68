"""gunicorn's threads, with time limits: a client that sends half a request, or reads slowly, cannot hold a thread.

What a client sent is never quoted in the log or in an answer: a broken header line may hold its credentials.
"""

import struct
import time
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from itertools import takewhile
from selectors import EVENT_READ
from socket import SO_LINGER, SO_SNDBUF, SOL_SOCKET, socket
from typing import Any

from gunicorn import util
from gunicorn.http.body import ChunkedReader
from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, ParseException
from gunicorn.workers.gthread import TConn, ThreadWorker
from werkzeug.exceptions import BadRequest, RequestEntityTooLarge

from wangtimer.api.http.answer_pace import PART_BYTES, AnswerPace
from wangtimer.api.http.browser_rules import SECURITY_HEADERS
from wangtimer.api.http.repeated_headers import join_repeated
from wangtimer.base.settings import read_settings

# How often a worker gives a sign of life: far more often than it must (`timeout` in `api/gunicorn.py`), but not at each
# turn of its loop, as a request takes two turns.
SIGN_EVERY_S = 1.0
# Bytes of an answer that wait in the kernel. It reports room once a client has taken a third of them. With its own
# 4 MB, a client at the least pace would need two minutes for a third, and would look like one that takes nothing.
SEND_BUFFER_BYTES = 65_536
# s in which a client may still send after the end of the connection; without them it may lose the answer. The thread
# waits for it, not gunicorn's main thread, which every connection needs.
LINGER_S = 0.5
# Bytes of a request's head. They are kept here until all of it has come.
MOST_HEAD_BYTES = 65_536
_END_OF_HEAD = b"\r\n\r\n"
# Chunks of one body; it takes some 2 µs to find the end of each. The largest body has room for this many of 84 bytes.
MOST_CHUNKS = 100_000
# Bytes of one body with its chunk sizes, extensions and trailers: twice the largest body, 8 MiB, and 64 KiB.
MOST_WIRE_BYTES = 16 * 1_048_576 + 65_536


class SlowHead(ParseException):  # type: ignore[misc]
    """The head of a request did not come whole in time."""


class CostlyBody(ParseException, RequestEntityTooLarge):  # type: ignore[misc]
    """A body whose chunks, or the bytes between them, would take seconds to read: answered as too large."""


class BrokenBody(ParseException, BadRequest):  # type: ignore[misc]
    """A body whose chunks cannot be read, so that nobody can tell where it ends."""


_STATUS = {
    LimitRequestLine: (414, "URI Too Long"),
    LimitRequestHeaders: (431, "Request Header Fields Too Large"),
    CostlyBody: (413, "Content Too Large"),
}


class SlowReader(TimeoutError):
    """A client takes its answer slower than it may."""


class PatientSocket(socket):
    """Reads until a moment, however slowly bytes come. Sends at the pace of `AnswerPace` or faster."""

    _until = 0.0
    _reads_head = True
    # What has come of a head, and perhaps of what follows it, before a thread reads it.
    _early = b""
    _is_long = False
    # Whether a body came too late, cost too much or could not be read. The connection then holds the rest of it, and no
    # request.
    is_late = False
    # Bytes of the body so far; the first ones may have come with the head.
    _wire_bytes = 0
    # The head of an answer, until the first bytes of its body are sent with it; None: it has gone, or goes alone.
    _head: bytes | None = None
    _holds_head = False
    _pace = AnswerPace()

    def has_head(self) -> bool:
        """Take what has arrived without a wait; tell whether a thread is to read it: a head, or the end."""
        if _END_OF_HEAD in self._early:
            return True
        try:
            found = super().recv(MOST_HEAD_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            return True
        searched = max(len(self._early) - len(_END_OF_HEAD), 0)
        self._early += found
        return (
            not found or len(self._early) >= MOST_HEAD_BYTES or self._early.find(_END_OF_HEAD, searched) >= 0
        )

    @property
    def has_begun(self) -> bool:
        """Whether something of a head has come."""
        return bool(self._early)

    def take_back(self, unreader: Any) -> None:
        """Take from gunicorn's reader what it has read beyond a request."""
        self._early = unreader.buf.getvalue()
        unreader.buf = BytesIO()

    def await_head(self, within_s: float) -> None:
        """Allow so many seconds for the head of a request."""
        self._until, self._reads_head, self._is_long = time.monotonic() + within_s, True, False
        self._pace = AnswerPace()

    def earn_time(self) -> None:
        """Let the answer take longer than `BEHIND_S`, at the least pace."""
        self._pace = AnswerPace(earns=True)

    def await_body(self, within_s: float) -> None:
        """Allow so many seconds for the body of a request."""
        self._until, self._reads_head = time.monotonic() + within_s, False
        self._wire_bytes = 0

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        """Receive bytes; raises TimeoutError for a body once the time is over.

        Raises `LimitRequestHeaders` where a head is not whole in what came of it, and `CostlyBody` for a body with too
        many bytes between its chunks.
        """
        if self._early:
            found, self._early = self._early, b""
            self._is_long = len(found) >= MOST_HEAD_BYTES
            return found
        if self._reads_head and self._is_long:
            raise LimitRequestHeaders("a head is too long")
        # 0 would mean not to wait at all, and to say so by another error.
        self.settimeout(max(self._until - time.monotonic(), 0.001))
        try:
            found = super().recv(bufsize, flags)
        except TimeoutError:
            self.is_late = True
            raise
        self._wire_bytes += len(found)
        if self._wire_bytes > MOST_WIRE_BYTES and not self._reads_head:
            self.is_late = True
            raise CostlyBody
        return found

    def few(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the chunks of a body; raises `CostlyBody` for too many, `BrokenBody` for what is none."""
        for number, chunk in enumerate(self._readable(chunks)):
            if number > MOST_CHUNKS:
                self.is_late = True
                raise CostlyBody
            yield chunk

    def _readable(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from chunks
        except CostlyBody:
            raise
        except ParseException:
            # A chunk's size, or a trailer, which the error quotes.
            self.is_late = True
            raise BrokenBody from None

    def hold_head(self) -> None:
        """Hold back the head of an answer, so that it goes out with the body's beginning.

        An answer may have no body, so `send_held` must follow.
        """
        self._holds_head = True

    def send_held(self) -> None:
        """Send what is held back."""
        self._holds_head = False
        if self._head is not None:
            self.sendall(b"")

    def drop_held(self) -> None:
        """Forget what is held back."""
        self._holds_head, self._head = False, None

    def sendfile(self, *file: Any, **part: Any) -> int:
        """Send a file, behind what is held back."""
        self.send_held()
        return super().sendfile(*file, **part)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all of it; raises `SlowReader` where the client takes the answer too slowly."""
        if self._holds_head:
            self._holds_head, self._head = False, data
            return
        if self._head is not None:
            data, self._head = self._head + data, None
        whole = memoryview(data)
        for begin in range(0, len(whole), PART_BYTES):
            part = whole[begin : begin + PART_BYTES]
            # 0 would mean not to wait at all, and to say so by another error.
            self.settimeout(max(self._pace.may_take_s(len(part)), 0.001))
            began = time.monotonic()
            try:
                super().sendall(part, flags)
            except TimeoutError:
                raise SlowReader from None
            self._pace.took(time.monotonic() - began)

    def shutdown(self, how: int) -> None:
        """Tell the client of the end, and let it send for `LINGER_S` more."""
        self._until, self._reads_head = time.monotonic() + LINGER_S, False
        super().shutdown(how)

    def cut_off(self) -> None:
        """Close it at once, and drop what the client has not taken."""
        self.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


class WebWorker(ThreadWorker):  # type: ignore[misc]
    """A worker whose threads no client can hold.

    A connection gets one with the end of a request's head, and is closed if that does not come in the time for a head.
    Where there are as many connections as one process takes, the one that has waited longest for a head makes room.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        settings = read_settings()
        self._head_s, self._body_s = settings.http_head_timeout_s, settings.http_body_timeout_s
        self._next_sign_at = 0.0

    def notify(self) -> None:
        """Give a sign of life if the last one is a second old; called at each turn of the loop, before it accepts."""
        if self.nr_conns >= self.worker_connections:
            self._drop_longest_silent()
        now = time.monotonic()
        if now >= self._next_sign_at:
            self._next_sign_at = now + SIGN_EVERY_S
            super().notify()

    def enqueue_req(self, conn: TConn) -> None:
        """Hand a connection to a thread once it has the head of a request. The main thread calls it."""
        if not conn.data_ready:
            conn.sock = PatientSocket(fileno=conn.sock.detach())
            conn.sock.setsockopt(SOL_SOCKET, SO_SNDBUF, SEND_BUFFER_BYTES)
            conn.data_ready = True
        elif conn.parser is not None:
            conn.sock.take_back(conn.parser.unreader)
        conn.sock.setblocking(False)
        if conn.sock.has_head():
            super().enqueue_req(conn)
            return
        conn.timeout = time.monotonic() + self._head_s
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def on_pending_socket_readable(self, conn: TConn, client: socket) -> None:
        """Take what came of a head, and hand its connection to a thread once it is whole."""
        if conn.sock.has_head():
            self.poller.unregister(client)
            self.pending_conns.remove(conn)
            super().enqueue_req(conn)

    def murder_pending(self) -> None:
        """Close connections whose head did not come whole in time; who had begun one is told."""
        now = time.monotonic()
        for conn in takewhile(lambda conn: conn.timeout <= now, self.pending_conns):
            if conn.sock.has_begun:
                self.handle_error(None, conn.sock, conn.client, SlowHead())
        super().murder_pending()

    def _drop_longest_silent(self) -> None:
        spans = ((self.pending_conns, self._head_s), (self.keepalived_conns, self.cfg.keepalive))
        since = {conns[0].timeout - span: conns for conns, span in spans if conns}
        if since:
            conn = since[min(since)].popleft()
            self.poller.unregister(conn.sock)
            self.nr_conns -= 1
            conn.close()

    def handle(self, conn: TConn) -> Any:
        """Read a request and answer it."""
        conn.sock.await_head(self._head_s)
        stays_open = super().handle(conn)
        if not stays_open:
            conn.close(graceful=True)
        return stays_open

    def handle_request(self, req: Any, conn: TConn) -> Any:
        """Answer a request whose head is read."""
        conn.sock.await_body(self._body_s)
        if isinstance(req.body.reader, ChunkedReader):
            req.body.reader.parser = conn.sock.few(req.body.reader.parser)
        req.headers = join_repeated(req.headers)
        req.should_close = partial(_ends_connection, req, req.should_close)
        conn.sock.hold_head()
        try:
            stays_open = super().handle_request(req, conn)
            conn.sock.send_held()
        except SlowReader:
            self.log.warning("answer cut off: the client takes it too slowly")
            conn.sock.cut_off()
            return False
        finally:
            conn.sock.drop_held()
        return stays_open and not conn.sock.is_late

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer a request that cannot be read, without quoting it."""
        if not isinstance(exc, ParseException):
            super().handle_error(req, client, addr, exc)
            return
        status, reason = (408, "Request Timeout") if isinstance(exc, SlowHead) else _status_of(exc)
        self.log.warning("request refused: %s", type(exc).__name__)
        try:
            util.write_nonblock(client, _refusal(status, reason, type(exc).__name__))
        except OSError:
            self.log.debug("nobody takes the answer")


def _ends_connection(req: Any, client_wants: Callable[[], bool]) -> bool:
    """Tell, before the answer's head, whether the client, or a body that was not read, ends the connection."""
    reader = req.body.reader
    is_read = reader.parser is None if isinstance(reader, ChunkedReader) else reader.length == 0
    return not is_read or client_wants()


def _refusal(status: int, reason: str, kind: str) -> bytes:
    """Return an answer in HTML, as gunicorn's own, with the headers of every answer."""
    page = f"<html><head><title>{reason}</title></head><body><h1>{reason}</h1>{kind}</body></html>\n".encode()
    own = {"Connection": "close", "Content-Type": "text/html", "Content-Length": str(len(page))}
    headers = {**own, **SECURITY_HEADERS}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {reason}\r\n{head}\r\n".encode() + page


def _status_of(exc: ParseException) -> tuple[int, str]:
    return next((found for kind, found in _STATUS.items() if isinstance(exc, kind)), (400, "Bad Request"))
