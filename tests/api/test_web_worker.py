"""How an answer goes out, its head with the beginning of its body in one packet; and what gets a thread."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BytesIO
from math import inf
from pathlib import Path
from selectors import DefaultSelector
from socket import AF_UNIX, SOCK_SEQPACKET, create_connection, create_server, socket, socketpair
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.http.errors import LimitRequestHeaders

from wangtimer.api.http.web_worker import MOST_HEAD_BYTES, PatientSocket, WebWorker

HEAD, BODY = b"HTTP/1.1 200 OK\r\n\r\n", b"{}"


@pytest.fixture
def ends() -> Iterator[tuple[PatientSocket, socket]]:
    """Return the two ends of a connection on which each sending is received by itself."""
    ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
    theirs.setblocking(False)  # what was sent is there at once
    with PatientSocket(fileno=ours.detach()) as patient, theirs:
        yield patient, theirs


def test_the_head_waits_for_the_body(ends: tuple[PatientSocket, socket]) -> None:
    patient, client = ends
    patient.hold_head()
    patient.sendall(HEAD)
    with pytest.raises(BlockingIOError):
        client.recv(99)
    patient.sendall(BODY)
    patient.sendall(BODY)
    patient.send_held()
    assert [client.recv(99), client.recv(99)] == [HEAD + BODY, BODY]


def test_a_head_without_a_body_goes_at_the_end(ends: tuple[PatientSocket, socket]) -> None:
    patient, client = ends
    patient.hold_head()
    patient.sendall(HEAD)
    patient.send_held()
    assert client.recv(99) == HEAD
    patient.sendall(BODY)
    assert client.recv(99) == BODY


def test_a_file_comes_after_its_head(ends: tuple[PatientSocket, socket], tmp_path: Path) -> None:
    patient, client = ends
    (tmp_path / "file").write_bytes(BODY)
    patient.hold_head()
    patient.sendall(HEAD)
    with (tmp_path / "file").open("rb") as file:
        patient.sendfile(file, offset=0, count=len(BODY))
    assert client.recv(99) + client.recv(99) == HEAD + BODY


def test_nothing_is_held_after_a_fault(ends: tuple[PatientSocket, socket]) -> None:
    """The error answer of a request whose view failed is another answer."""
    patient, client = ends
    patient.hold_head()
    patient.sendall(HEAD)
    patient.drop_held()
    patient.sendall(b"HTTP/1.1 500 Internal Server Error\r\n\r\n")
    assert client.recv(99).startswith(b"HTTP/1.1 500")


@pytest.fixture
def worker() -> Iterator[Any]:
    """A worker that notes what gets a thread."""
    worker: Any = object.__new__(WebWorker)
    worker.poller, worker.pending_conns, worker.keepalived_conns = DefaultSelector(), deque(), deque()
    worker.cfg, worker.nr_conns, worker.worker_connections = SimpleNamespace(keepalive=75), 0, 3
    worker._head_s, worker._next_sign_at = 5, inf
    worker.log = logging.getLogger("web")
    worker.begun = []
    future = SimpleNamespace(add_done_callback=lambda _done: None)
    worker.tpool = SimpleNamespace(submit=lambda _handle, conn: worker.begun.append(conn) or future)
    yield worker
    worker.poller.close()


@pytest.fixture
def connect(worker: Any) -> Iterator[Callable[[], socket]]:
    """Return what connects to the worker."""
    with ExitStack() as held:
        listener = held.enter_context(create_server(("127.0.0.1", 0)))

        def connected() -> socket:
            client = held.enter_context(create_connection(listener.getsockname(), timeout=5))
            worker.accept(listener)
            return client

        yield connected
        for conn in (*worker.pending_conns, *worker.keepalived_conns, *worker.begun):
            conn.close()


def turn(worker: Any) -> None:
    """Let the worker see what has come."""
    for key, _ in worker.poller.select(5):
        key.data(key.fileobj)


def drip(client: socket, worker: Any, text: bytes) -> None:
    """Send the bytes one by one, and let the worker see each."""
    for byte in text:
        client.sendall(bytes([byte]))
        turn(worker)


REQUEST = b"POST /v1/timers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"


def test_a_connection_gets_a_thread_once_a_head_is_whole(worker: Any, connect: Callable[[], socket]) -> None:
    client = connect()
    drip(client, worker, REQUEST[:-1])
    assert worker.begun == []
    drip(client, worker, REQUEST[-1:])
    (conn,) = worker.begun
    assert not worker.pending_conns
    client.sendall(BODY)
    conn.sock.await_head(5)
    assert (conn.sock.recv(8_192), conn.sock.recv(8_192)) == (REQUEST, BODY)


def test_so_it_is_of_the_next_request_of_a_connection(worker: Any, connect: Callable[[], socket]) -> None:
    """Whether its first bytes came with the request before or later."""
    for with_the_first in (b"PO", b""):
        client = connect()
        client.sendall(REQUEST + BODY + with_the_first)
        turn(worker)
        conn = worker.begun.pop()
        conn.parser = SimpleNamespace(unreader=SimpleNamespace(buf=BytesIO(with_the_first)))
        conn.sock.recv(8_192)
        worker.enqueue_req(conn)
        drip(client, worker, REQUEST[len(with_the_first) : -1])
        assert worker.begun == []
        drip(client, worker, REQUEST[-1:])
        assert (worker.begun == [conn], conn.sock.recv(8_192)) == (True, REQUEST)
        worker.begun.pop().close()


def test_a_head_that_never_ends_is_refused(worker: Any, connect: Callable[[], socket]) -> None:
    client = connect()
    while not worker.begun:
        client.sendall(b"A" * 8_192)
        turn(worker)
    (conn,) = worker.begun
    conn.sock.await_head(5)
    assert len(conn.sock.recv(8_192)) <= 2 * MOST_HEAD_BYTES
    with pytest.raises(LimitRequestHeaders):
        conn.sock.recv(8_192)


def test_the_end_of_a_connection_behind_a_large_request_is_no_long_head(
    worker: Any, connect: Callable[[], socket]
) -> None:
    """Head and body that came in one read were called a head that is too long, in the log, at the connection's end."""
    client = connect()
    client.sendall(REQUEST)
    turn(worker)
    (conn,) = worker.begun
    conn.sock._early += b"{" * MOST_HEAD_BYTES
    conn.sock.await_head(5)
    assert conn.sock.recv(8_192)[: len(REQUEST)] == REQUEST
    client.close()
    conn.sock.await_head(5)
    assert conn.sock.recv(8_192) == b""


def test_who_does_not_end_a_head_in_time_is_told(worker: Any, connect: Callable[[], socket]) -> None:
    silent, slow = connect(), connect()
    drip(slow, worker, b"GET")
    for conn in worker.pending_conns:
        conn.timeout = 0
    worker.murder_pending()
    assert (silent.recv(99), slow.recv(99)[:12]) == (b"", b"HTTP/1.1 408")
    assert worker.nr_conns == 0


def test_where_there_are_too_many_connections_the_longest_silent_one_makes_room(
    worker: Any, connect: Callable[[], socket]
) -> None:
    clients = []
    for _ in range(5):
        clients.append(connect())
        worker.notify()
    assert worker.nr_conns == len(worker.pending_conns) == 2
    assert [client.recv(1) for client in clients[:3]] == [b"", b"", b""]
    worker.keepalived_conns, worker.pending_conns = worker.pending_conns, deque()
    clients.append(connect())
    worker.notify()
    assert clients[3].recv(1) == b""
