"""A real HTTP/1.1 target on loopback: one thread a connection, and tests decide what each request gets."""

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Condition, Thread

from tests.callback.tls_front import behind_tls, front_of
from tests.patience import Deadline, patience

NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived; header names in lower case, in their order."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    connection: socket.socket

    def values(self, name: str) -> list[str]:
        return [value for other, value in self.headers if other == name]


Answer = Callable[[Received], None]


def answer_with(reply: bytes) -> Answer:
    return lambda received: received.connection.sendall(reply)


class Target:
    """Counts connections and requests; `answer` writes to (or closes) the connection of a request."""

    def __init__(
        self,
        answer: Answer | None = None,
        tls: ssl.SSLContext | None = None,
        address: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        self.answer = answer or answer_with(NO_CONTENT)
        self.requests: list[Received] = []
        self.connections: list[socket.socket] = []
        self._changed = Condition()
        self._listener = socket.create_server(address, backlog=512)
        self.port: int = self._listener.getsockname()[1]
        self._tls = tls
        self.url = f"{'https' if tls else 'http'}://{address[0]}:{self.port}/"
        Thread(target=self._accept, daemon=True).start()

    def wait_for_requests(self, number: int, timeout_s: float = 5) -> None:
        with self._changed:
            arrived = self._changed.wait_for(lambda: len(self.requests) >= number, timeout_s * patience())
        assert arrived, f"{len(self.requests)} of {number} requests arrived"

    def close(self) -> None:
        self.stop_listening()
        for connection in self.connections:
            hang_up(connection)

    def stop_listening(self) -> None:
        """Refuse connections; those that are open stay."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                if self._tls is not None:
                    connection = behind_tls(connection, self._tls)
                self.connections.append(connection)
                Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection.makefile("rb") as stream:
            for received in requests_in(stream, connection):
                with self._changed:
                    self.requests.append(received)
                    self._changed.notify_all()
                self.answer(received)


def requests_in(
    stream, connection: socket.socket, has_body: Callable[[str], bool] = lambda _method: True
) -> Iterator[Received]:
    while first_line := stream.readline().decode():
        method, path, _ = first_line.split(" ", 2)
        headers = []
        while line := stream.readline().decode().rstrip("\r\n"):
            name, value = line.split(":", 1)
            headers.append((name.lower(), value.strip()))
        length = int(dict(headers).get("content-length", 0)) if has_body(method) else 0
        yield Received(method, path, tuple(headers), stream.read(length), connection)


def hang_up(connection: socket.socket) -> None:
    """Close at once, though the reading thread still holds the descriptor."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    front = front_of(connection)
    connection.close()
    give_up_at = time.monotonic() + 1
    # TLS in front says farewell first. A plain connection is open for as long as its own thread reads.
    while front is not connection and front.fileno() >= 0 and time.monotonic() < give_up_at:
        time.sleep(0.001)


def reset(connection: socket.socket) -> None:
    """Close at once with an RST: what is on its way is lost."""
    front_of(connection).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    hang_up(connection)


def hold(_received: Received) -> None:
    """Never answer."""


def wait_until(is_so: Callable[[], bool], timeout_s: float = 5) -> None:
    deadline = Deadline(timeout_s)
    while not is_so():
        assert not deadline.is_over, "did not come about in time"
        time.sleep(0.002)
