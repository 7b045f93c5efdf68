"""How an answer goes out: its head together with the beginning of its body, in one packet."""

from collections.abc import Iterator
from pathlib import Path
from socket import AF_UNIX, SOCK_SEQPACKET, socket, socketpair

import pytest

from wangtimer.api.http.web_worker import PatientSocket

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
