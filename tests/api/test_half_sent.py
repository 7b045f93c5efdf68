"""Clients that send half a request, on the API as it is deployed: none holds a thread for longer than the bounds."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from tests.api.test_web_process import COMMAND, environment, wait_until_it_listens
from tests.made_apps import make_apps
from tests.patience import patience
from tests.servers.prepared_databases import PreparedFile
from wangtimer.stack.child import dying_with
from wangtimer.stack.ports import HOST, free_port

pytestmark = pytest.mark.processes

THREADS, HALVES = 8, 16
HEAD_S, BODY_S = 1, 2
# 16 halves on 8 threads are two rounds; a busy machine takes its time between.
ANSWERED_WITHIN_S = 2 * BODY_S + 10

HALF_HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Half: "
HALF_BODY = (
    b"POST /api/timer/v1/def HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{"
)
HALF_CHUNKS = HALF_BODY.replace(b"Content-Length: 1000", b"Transfer-Encoding: chunked")[:-1] + b"5\r\n{"


@dataclass
class Served:
    port: int
    log: Path

    def half(self, sent: bytes) -> socket.socket:
        client = socket.create_connection((HOST, self.port), timeout=ANSWERED_WITHIN_S)
        client.sendall(sent)
        return client


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, prepared_file: PreparedFile) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("served")
    sqlite_url = prepared_file.copied_to(home / "wangtimer.db")
    make_apps(sqlite_url, "shop")
    port, log = free_port(), home / "web.log"
    settings = {
        "database_url": sqlite_url,
        "store_url": f"redis://{HOST}:{free_port()}/0",
        "broker_url": f"redis://{HOST}:{free_port()}/0",
        "http_bind": f"{HOST}:{port}",
        "http_workers": "1",
        "http_threads": str(THREADS),
        "http_head_timeout_s": str(HEAD_S),
        "http_body_timeout_s": str(BODY_S),
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            COMMAND,
            env=environment(home, **settings),
            stdout=out,
            stderr=out,
            preexec_fn=dying_with(os.getpid()),
        )
    wait_until_it_listens(f"http://{HOST}:{port}", process)
    yield Served(port, log)
    process.terminate()
    assert process.wait(30 * patience()) == 0


def read_all(client: socket.socket) -> bytes:
    found = b""
    while part := client.recv(65_536):
        found += part
    return found


@pytest.mark.parametrize("sent", [HALF_HEAD, HALF_BODY, HALF_CHUNKS], ids=["head", "body", "chunks"])
def test_sixteen_half_requests_do_not_keep_a_whole_one_from_its_answer(served: Served, sent: bytes) -> None:
    with ExitStack() as held:
        clients = [held.enter_context(served.half(sent)) for _ in range(HALVES)]
        began = time.monotonic()
        answered = requests.get(f"http://{HOST}:{served.port}/healthz", timeout=ANSWERED_WITHIN_S)
        assert answered.status_code == 200
        assert time.monotonic() - began < ANSWERED_WITHIN_S
        ends = [read_all(client) for client in clients]
    wanted = b"408" if sent == HALF_HEAD else b"400"
    assert {end.split(b" ")[1] for end in ends} == {wanted}
    assert "Traceback" not in served.log.read_text()


@pytest.mark.parametrize("sent", [HALF_HEAD, HALF_BODY], ids=["head", "body"])
def test_a_drip_ends_as_silence_does(served: Served, sent: bytes) -> None:
    """A byte now and then: each read has its answer, the request never."""
    with served.half(sent) as client:
        began = time.monotonic()
        client.settimeout(0.1)
        found = b""
        while not found and time.monotonic() - began < ANSWERED_WITHIN_S:
            client.sendall(b"1")
            try:
                found = client.recv(100)
            except TimeoutError:
                continue
    assert found.split(b" ")[1] in (b"408", b"400")


def test_the_rest_of_a_late_body_is_no_request(served: Served) -> None:
    """What a client sends after it was given up is not answered as a request of its own: that is smuggling."""
    with served.half(HALF_BODY) as client:
        found = client.recv(65_536)
        assert found.split(b" ")[1] == b"400"
        try:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            found += read_all(client)
        except OSError:
            pass
    assert found.count(b"HTTP/1.1 ") == 1


def test_a_header_that_cannot_be_read_is_quoted_nowhere(served: Served) -> None:
    secret = b"canary-of-a-broken-header"
    for sent in (
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nAuthorization Bearer " + secret + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + secret + b"\0\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: b\r\n " + secret + b"\r\n\r\n",
        b"GET /healthz " + secret + b" HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/" + secret + b"\r\n\r\n",
        b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: " + secret + b"\r\n\r\n",
        b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: " + secret + b"\r\n\r\n",
    ):
        with served.half(sent) as client:
            answer = read_all(client)
        assert answer.split(b" ")[1][:1] in (b"4", b"5")
        assert secret not in answer
    assert secret.decode() not in served.log.read_text()


CHUNKED = HALF_BODY.replace(b"Content-Length: 1000", b"Transfer-Encoding: chunked")[:-1].replace(
    b"/api/timer/v1/def HTTP/1.1\r\n", b"/v1/timers:batchCreate HTTP/1.1\r\nWangTimer-App: shop\r\n"
)


@pytest.mark.parametrize(
    ("piece", "number"),
    [(b"1\r\n \r\n", 100_100), (b"1;" + b"a" * 8_000 + b"\r\n \r\n", 2_200)],
    ids=["chunks", "extensions"],
)
def test_a_body_in_too_many_pieces_is_refused_as_one_too_large(
    served: Served, piece: bytes, number: int
) -> None:
    """1.5 MB in chunks of one byte took 2.6 s of CPU before any budget began."""
    with served.half(CHUNKED) as client:
        answer = b""
        with suppress(OSError):  # the rest is not taken
            client.sendall(piece * number)
        with suppress(OSError):
            answer = read_all(client)
    assert answer.split(b" ")[1] == b"413"
    assert b'"code":41301' in answer
    assert "Traceback" not in served.log.read_text()


@pytest.mark.parametrize(
    "chunks",
    [
        b"+1\r\n{\r\n",
        b"0x1\r\n{\r\n",
        b"g\r\n",
        b"1\r\n{}\r\n",
        b"1;a\rb\r\n{\r\n",
        b"0\r\nnocolon-canary-of-a-trailer\r\n\r\n",
        b"0\r\nContent-Length: 5\r\nX: canary-of-a-trailer\r\n\r\n",
        b"0\r\nX: canary-of-a-trailer\nY: a\r\n\r\n",
        b"0\r\nX: " + b"canary-of-a-trailer" * 500 + b"\r\n\r\n",
    ],
)
def test_chunks_that_cannot_be_read_are_the_clients_fault_and_end_the_connection(
    served: Served, chunks: bytes
) -> None:
    """What follows is read as no request of its own."""
    with served.half(CHUNKED) as client:
        client.sendall(chunks + b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = read_all(client)
    assert (answer.split(b" ")[1], answer.count(b"HTTP/1.1 ")) == (b"400", 1)
    assert b'"code":40000' in answer
    assert b"canary" not in answer
    assert not {"Traceback", "canary"} & set(re.findall("Traceback|canary", served.log.read_text()))


def test_a_connection_that_sends_nothing_is_closed_and_holds_no_thread(served: Served) -> None:
    """Each held a thread for 5 s, and was closed after 80."""
    with ExitStack() as held:
        clients = [held.enter_context(served.half(b"")) for _ in range(10 * THREADS)]
        answered = requests.get(f"http://{HOST}:{served.port}/healthz", timeout=ANSWERED_WITHIN_S)
        assert answered.status_code == 200
        assert {read_all(client) for client in clients} == {b""}


def test_a_body_in_small_chunks_is_read(served: Served) -> None:
    head = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with served.half(head) as client:
        client.sendall(b"".join(b"1\r\n%c\r\n" % one for one in b'{"timers":[],"colour":1}'))
        client.sendall(b"1\r\n \r\n" * 50_000 + b"0\r\n\r\n")
        assert b'"pointer":"/colour"' in read_all(client)


def test_a_body_that_nobody_reads_costs_no_more(served: Served) -> None:
    """It is read away before the connection's next request."""
    with served.half(CHUNKED.replace(b"timers:batchCreate", b"nothing")) as client:
        with suppress(OSError):
            client.sendall(b"1\r\n \r\n" * 100_100)
        with suppress(OSError):
            answer = read_all(client)
    assert answer.split(b" ")[1] == b"404"
    assert "Traceback" not in served.log.read_text()
