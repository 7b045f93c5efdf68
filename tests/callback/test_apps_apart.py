"""What one app sends has no part in what another app is answered."""

import select
import socket
from collections.abc import Iterator
from threading import Thread

import pytest

from tests.callback.target import hang_up, requests_in

A_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"
SMUGGLED = b"POST /smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"


class DeafTarget:
    """Reads no body of a GET or DELETE: what stands there is the next request to it, as to many small servers.

    It takes its time to answer what was smuggled: until the next request, or the end of the connection.
    """

    def __init__(self) -> None:
        self._connections: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in (self._listener, *self._connections):
            hang_up(each)

    def _accept(self) -> None:
        try:
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                Thread(target=self._serve, args=(connection,), daemon=True).start()
        except OSError:
            return

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection.makefile("rb") as stream:
                for received in requests_in(stream, connection, has_body=lambda method: method == "POST"):
                    if received.path == "/smuggled":  # answered when somebody waits for an answer
                        select.select([connection], [], [], 5)
                    connection.sendall(A_ANSWER % (len(received.path), received.path.encode()))
        except OSError:
            return


@pytest.fixture
def deaf_target() -> Iterator[DeafTarget]:
    target = DeafTarget()
    yield target
    target.close()


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("other_app", ["a", "b"])
def test_no_call_gets_the_answer_to_what_was_smuggled_in_a_body(
    engine, deaf_target, outcomes, method: str, other_app: str
) -> None:
    url = f"http://127.0.0.1:{deaf_target.port}"
    engine.submit([outcomes.call(f"{url}/first", app="a", method=method, body=SMUGGLED)])
    assert outcomes.wait(1)[0].output == "/first"
    for number in range(2, 5):
        engine.submit([outcomes.call(f"{url}/{number}", app=other_app)])
        assert outcomes.wait(number)[-1].output == f"/{number}"


def test_apps_share_no_connection(engine, target, outcomes) -> None:
    for number, app in enumerate(["a", "b", "a", "b"], 1):
        engine.submit([outcomes.call(target.url, app=app)])
        assert outcomes.wait(number)[-1].succeeded
    used_by = {}
    for received, app in zip(target.requests, "abab", strict=True):
        used_by.setdefault(id(received.connection), set()).add(app)
    assert all(len(apps) == 1 for apps in used_by.values())
