"""The nginx.conf that docker-compose.yml ships, on a real nginx: only where it listens and what it leads to differ."""

import http.server
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import requests
import trustme

from tests.stack.shipped_proxy import shipped_proxy
from tests.stack.test_deployment import ROOT, services
from wangtimer.stack.ports import HOST, free_port
from wangtimer.stream.stream import COMMENT_EVERY_S

pytestmark = pytest.mark.processes


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers a GET with the Host it was called by; one request at a time, as an API of one thread.

    It reads a PUT and ends without an answer, as an API process that dies.
    """

    server: "EchoServer"

    def do_GET(self) -> None:
        said = str(self.headers["Host"]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def do_PUT(self) -> None:
        self.server.puts.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


class EchoServer(http.server.HTTPServer):
    """Keeps the bodies of every PUT it was sent."""

    def __init__(self) -> None:
        super().__init__((HOST, 0), Echo)
        self.puts: list[bytes] = []


@pytest.fixture
def web() -> Iterator[EchoServer]:
    server = EchoServer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def tls(tmp_path: Path) -> Path:
    """The folder that compose mounts for a certificate: as shipped, none."""
    folder = tmp_path / "tls"
    folder.mkdir()
    return folder


@pytest.fixture
def proxy(tmp_path: Path, web: EchoServer, tls: Path) -> Iterator[str]:
    """The proxy in front of what it takes for two API processes."""
    with shipped_proxy(tmp_path, web.server_port, tls) as address:
        yield address


def test_it_passes_on_the_host_and_does_not_hand_half_requests_to_the_api(proxy: str) -> None:
    host, _, port = proxy.partition(":")
    halves = (b"GET / HTTP/1.1\r\nHost: ", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{")
    with ExitStack() as held:
        for half in halves * 8:
            client = held.enter_context(socket.create_connection((host, int(port)), timeout=10))
            client.sendall(half)
        answered = requests.get(f"http://{proxy}/", headers={"Host": "timers.example"}, timeout=10)
    assert (answered.status_code, answered.text) == (200, "timers.example")


def test_an_address_that_floods_it_without_a_key_is_refused_and_with_one_is_served(proxy: str) -> None:
    host, _, port = proxy.partition(":")
    one = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as client:
        client.sendall(one * 1_999 + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        answered = b"".join(iter(partial(client.recv, 65_536), b""))
    assert answered.count(b"HTTP/1.1 200 ") >= 400
    assert answered.count(b"HTTP/1.1 429 ") > 100
    assert (
        requests.get(f"http://{proxy}/", headers={"Authorization": "Bearer a"}, timeout=10).status_code == 200
    )


def test_a_change_that_was_sent_is_not_sent_again(proxy: str, web: EchoServer) -> None:
    answered = requests.put(f"http://{proxy}/", data=b"{}", timeout=10)
    assert (answered.status_code, web.puts) == (502, [b"{}"])


def test_with_a_certificate_it_speaks_tls_and_says_that_browsers_are_to_stay_with_it(
    tmp_path: Path, web: EchoServer, tls: Path
) -> None:
    authority, port = trustme.CA(), free_port()
    issued = authority.issue_cert(HOST)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    (tls / "timers.crt").write_bytes(b"".join(one.bytes() for one in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(tls / "timers.key"))
    shipped = (ROOT / "deploy/tls/listen.conf.example").read_text()
    assert shipped.count("listen 5443 ssl;") == 1
    ours = shipped.replace("listen 5443 ssl;", f"listen {HOST}:{port} ssl;").replace(
        "/etc/nginx/tls/", f"{tls}/"
    )
    (tls / "listen.conf").write_text(ours)
    with shipped_proxy(tmp_path, web.server_port, tls):
        answered = requests.get(f"https://{HOST}:{port}/", verify=str(tmp_path / "authority.pem"), timeout=10)
        assert answered.text == f"{HOST}:{port}"
        assert "max-age=31536000" in answered.headers["Strict-Transport-Security"]
        with pytest.raises(requests.exceptions.SSLError):
            requests.get(f"https://{HOST}:{port}/", timeout=10)


def test_compose_mounts_it_and_publishes_nothing_else_of_the_api() -> None:
    proxy = services()["proxy"]
    assert proxy["volumes"] == ["./nginx.conf:/etc/nginx/nginx.conf:ro", "./deploy/tls:/etc/nginx/tls:ro"]
    assert "http://web:5000" in (ROOT / "nginx.conf").read_text()
    assert "ports" not in services()["web"]


class SlowEvents(http.server.BaseHTTPRequestHandler):
    """Writes one event, and the next only once the test has read the first."""

    server: "EventsServer"

    def do_GET(self) -> None:
        self.server.protocols.append(self.request_version)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"data: first\n\n")
        self.wfile.flush()
        self.server.was_read.wait(20)
        self.wfile.write(b"data: second\n\n")

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


class EventsServer(http.server.ThreadingHTTPServer):
    """What stands for the stream."""

    def __init__(self) -> None:
        super().__init__((HOST, 0), SlowEvents)
        self.was_read = threading.Event()
        self.protocols: list[str] = []


def test_an_event_of_the_stream_is_passed_on_before_the_next_is_written(
    tmp_path: Path, web: EchoServer, tls: Path
) -> None:
    with EventsServer() as stream:
        threading.Thread(target=stream.serve_forever, daemon=True).start()
        with shipped_proxy(tmp_path, web.server_port, tls, stream.server_port) as address:
            url = f"http://{address}/v1/consumers/work/events"
            with requests.get(url, stream=True, timeout=10) as answer:
                lines = answer.iter_lines()
                assert next(lines) == b"data: first"
                stream.was_read.set()
                assert b"data: second" in list(lines)
        stream.shutdown()
    assert stream.protocols == ["HTTP/1.1"]


def test_a_silent_stream_is_kept_for_longer_than_it_is_ever_silent() -> None:
    text = (ROOT / "nginx.conf").read_text()
    (location,) = re.findall(r"location /v1/consumers/ \{(.*?)\}", text, re.S)
    (seconds,) = re.findall(r"proxy_read_timeout (\d+)s;", location)
    assert int(seconds) >= 3 * COMMENT_EVERY_S
    assert "proxy_buffering off;" in location
