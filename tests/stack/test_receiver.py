"""The receiver writes down each request, with its own clock."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from tests.patience import wait_for


@dataclass(frozen=True, slots=True)
class RunningReceiver:
    port: int
    out: Path

    def lines(self, count: int) -> list[dict[str, object]]:
        assert wait_for(lambda: self.out.read_text().count("\n") >= count, seconds=5), self.out.read_text()
        return [json.loads(line) for line in self.out.read_text().splitlines()]


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[RunningReceiver]:
    out = tmp_path / "requests.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "wangtimer.stack.receiver", "--port", "0", "--out", str(out)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield RunningReceiver(int(process.stdout.readline()), out)
    process.terminate()
    assert process.wait(5) == 0


def test_a_request_is_written_down_with_its_time_and_contents(receiver: RunningReceiver) -> None:
    before = time.time() * 1000
    answer = requests.put(
        f"http://127.0.0.1:{receiver.port}/a?b=1", data="héllo".encode(), headers={"X-It": "1"}
    )
    (line,) = receiver.lines(1)
    assert answer.status_code == 200
    assert (line["method"], line["path"], line["body"]) == ("PUT", "/a?b=1", "héllo")
    assert before <= float(str(line["arrivedAt"])) <= time.time() * 1000
    assert isinstance(line["headers"], dict)
    assert line["headers"]["x-it"] == "1"


def test_many_requests_on_one_connection_in_any_cuts_are_read_apart(receiver: RunningReceiver) -> None:
    raw = b"POST /1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nonePOST /2 HTTP/1.1\r\nContent-Length: 3\r\n\r\ntwo"
    raw += b"GET /3 HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", receiver.port), timeout=5) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for cut in range(0, len(raw), 7):
            connection.sendall(raw[cut : cut + 7])
            time.sleep(0.001)
        answers = b""
        while answers.count(b"200 OK") < 3:
            answers += connection.recv(4096)
    assert [(line["path"], line["body"]) for line in receiver.lines(3)] == [
        ("/1", "one"),
        ("/2", "two"),
        ("/3", ""),
    ]


def test_what_is_not_http_is_refused_and_hurts_nobody_else(receiver: RunningReceiver) -> None:
    with socket.create_connection(("127.0.0.1", receiver.port), timeout=5) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 400")
    assert requests.get(f"http://127.0.0.1:{receiver.port}/").status_code == 200


def test_it_takes_two_thousand_requests_a_second(receiver: RunningReceiver) -> None:
    """4,000 requests, sent as 20 connections' worth of bursts, cost it less than two seconds of CPU."""
    request = b"POST /x HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nX-B: 2\r\nX-C: 3\r\nContent-Length: 2\r\n\r\nhi"
    connections = [socket.create_connection(("127.0.0.1", receiver.port), timeout=5) for _ in range(20)]
    began = time.monotonic()
    for _ in range(20):
        for connection in connections:
            connection.sendall(request * 10)
        for connection in connections:
            received = b""
            while received.count(b"200 OK") < 10:
                received += connection.recv(65536)
    took = time.monotonic() - began
    for connection in connections:
        connection.close()
    assert len(receiver.lines(4000)) == 4000
    assert took < 2.0
