"""How an answer goes out: its head together with the beginning of its body, in one packet."""

from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from math import inf
from pathlib import Path
from selectors import DefaultSelector
from socket import AF_UNIX, SOCK_SEQPACKET, create_connection, create_server, socket, socketpair
from types import SimpleNamespace
from typing import Any

import pytest

from wangtimer.api.http.web_worker import PatientSocket, WebWorker

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


def test_where_there_are_too_many_connections_the_longest_silent_one_makes_room() -> None:
    worker: Any = object.__new__(WebWorker)
    worker.poller, worker.pending_conns, worker.keepalived_conns = DefaultSelector(), deque(), deque()
    worker.cfg, worker.nr_conns, worker.worker_connections = SimpleNamespace(keepalive=75), 0, 3
    worker._head_s, worker._next_sign_at = 5, inf
    with ExitStack() as held:
        held.callback(worker.poller.close)
        listener = held.enter_context(create_server(("127.0.0.1", 0)))
        clients = []
        for _ in range(5):
            clients.append(held.enter_context(create_connection(listener.getsockname(), timeout=5)))
            worker.accept(listener)
            worker.notify()
        assert worker.nr_conns == len(worker.pending_conns) == 2
        assert [client.recv(1) for client in clients[:3]] == [b"", b"", b""]
        worker.keepalived_conns, worker.pending_conns = worker.pending_conns, deque()
        clients.append(held.enter_context(create_connection(listener.getsockname(), timeout=5)))
        worker.accept(listener)
        worker.notify()
        assert clients[3].recv(1) == b""
        for conn in (*worker.pending_conns, *worker.keepalived_conns):
            conn.close()
