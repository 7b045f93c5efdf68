"""A target that is far away: a relay in front of it holds every byte back for a while, each way."""

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Callable
from threading import Thread

HOST = "127.0.0.1"
# Linux: the kernel says when the bytes came, however late this process reads them.
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@ll")
_READ_BYTES = 65_536

# Is told of what callers send: the number of the connection, the bytes, and when they came (ms UTC).
Heard = Callable[[int, bytes, float], None]


class Distant:
    """`with Distant(port, 0.03) as far: far.port`; `accepted` counts connections, `open` those that are open now.

    Connecting itself takes no time: the kernel does that. A thread of its own runs it.
    """

    def __init__(self, port: int, one_way_s: float, heard: Heard = lambda *_: None) -> None:
        self.accepted = 0
        self.open = 0
        self._target = (HOST, port)
        self._one_way_s = one_way_s
        self._heard = heard
        self._listener = socket.create_server((HOST, 0), backlog=2_048)
        self._listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._sockets: set[socket.socket] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "Distant":
        self._loop.call_soon(self._loop.add_reader, self._listener, self._accept)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()
        for one in (self._listener, *self._sockets):
            one.close()

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        far = socket.create_connection(self._target)
        self.accepted += 1
        self.open += 1
        number = self.accepted
        near.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        for one, other, heard in ((near, far, self._heard), (far, near, lambda *_: None)):
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets.add(one)
            self._loop.add_reader(one, self._pass_on, one, other, number, heard)

    def _pass_on(self, source: socket.socket, sink: socket.socket, number: int, heard: Heard) -> None:
        data, came_at = b"", 0.0
        with contextlib.suppress(OSError):
            data, came_at = _read(source)
        if data:
            heard(number, data, came_at)
            self._loop.call_later(self._one_way_s, self._send, sink, data)
        else:
            self._loop.remove_reader(source)
            self._loop.call_later(self._one_way_s, self._end, source, sink)

    def _send(self, sink: socket.socket, data: bytes) -> None:
        with contextlib.suppress(OSError):  # the tests' requests and answers fit a socket's buffer
            sink.send(data)

    def _end(self, *sockets: socket.socket) -> None:
        """End both ways, whoever began."""
        if sockets[0] not in self._sockets:
            return
        for one in sockets:
            self._loop.remove_reader(one)
            self._sockets.discard(one)
            one.close()
        self.open -= 1


def _read(source: socket.socket) -> tuple[bytes, float]:
    data, notes, _, _ = source.recvmsg(_READ_BYTES, socket.CMSG_SPACE(_TIMESPEC.size))
    for _, kind, told in notes:
        if kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = _TIMESPEC.unpack(told[: _TIMESPEC.size])
            return data, seconds * 1_000 + nanoseconds / 1_000_000
    return data, time.time() * 1_000
