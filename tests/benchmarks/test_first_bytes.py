"""When the first byte of a request left, read from what is on the wire."""

import re
import socket
import ssl
import time
from pathlib import Path

from benchmarks.first_bytes import FirstBytes
from benchmarks.target import DOMAIN, Target
from tests.servers.distant import HOST, Distant

NAME = re.compile(rb"h(\d+)\." + re.escape(DOMAIN.encode()))


def record(kind: int, length: int) -> bytes:
    return bytes([kind, 3, 3]) + length.to_bytes(2) + b"x" * length


def test_the_first_long_record_of_data_is_the_request() -> None:
    first = FirstBytes(NAME)
    first.hear(1, b"hello h42.target.test", 1.0)
    first.hear(1, record(0x14, 1) + record(0x17, 69), 2.0)
    first.hear(2, b"hello h43.target.test", 3.0)
    first.hear(1, record(0x17, 400), 4.0)
    first.hear(1, record(0x17, 400), 5.0)
    first.hear(2, record(0x17, 53) + record(0x17, 400), 6.0)
    assert first.left() == {"42": 4.0, "43": 6.0}


def test_a_real_request_over_tls_is_seen_when_it_leaves(tmp_path: Path) -> None:
    first = FirstBytes(NAME)
    with Target(tmp_path / "target") as target, Distant(target.tls_port, 0.05, first.hear) as far:
        context = ssl.create_default_context(cafile=str(target.authority))
        before_ms = time.time() * 1_000
        with (
            socket.create_connection((HOST, far.port)) as plain,
            context.wrap_socket(plain, server_hostname=f"h7.{DOMAIN}") as connection,
        ):
            connection.sendall(
                b"GET /callback HTTP/1.1\r\nHost: h7\r\nX-Padding: " + b"x" * 200 + b"\r\n\r\n"
            )
            answer = connection.recv(1_000)
        after_ms = time.time() * 1_000
    assert answer.startswith(b"HTTP/1.1 204")
    assert before_ms + 100 <= first.left()["7"] <= after_ms - 100, "after the handshake, before the answer"
