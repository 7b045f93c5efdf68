"""The proxy does what the rows rely on: through, held back, cut, and through again."""

import socket
from collections.abc import Iterator

import pytest

from tests.chaos.proxy import Proxy
from wangtimer.stack.ports import HOST


@pytest.fixture
def upstream() -> Iterator[socket.socket]:
    with socket.create_server((HOST, 0)) as listener:
        listener.settimeout(5)
        yield listener


def _connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), timeout=5)


def test_bytes_pass_both_ways(upstream: socket.socket) -> None:
    with Proxy(upstream.getsockname()[1]) as proxy, _connect(proxy) as client, upstream.accept()[0] as server:
        client.sendall(b"to")
        assert server.recv(9) == b"to"
        server.sendall(b"fro")
        assert client.recv(9) == b"fro"


def test_a_black_hole_holds_bytes_back_until_it_ends(upstream: socket.socket) -> None:
    with Proxy(upstream.getsockname()[1]) as proxy, _connect(proxy) as client, upstream.accept()[0] as server:
        client.sendall(b"a")
        assert server.recv(9) == b"a"
        proxy.black_hole()
        client.sendall(b"b")
        server.settimeout(0.3)
        with pytest.raises(TimeoutError):
            server.recv(9)
        proxy.restore()
        server.settimeout(5)
        assert server.recv(9) == b"b"


def test_a_cut_resets_connections_and_refuses_new_ones(upstream: socket.socket) -> None:
    with Proxy(upstream.getsockname()[1]) as proxy:
        with _connect(proxy) as client, upstream.accept()[0]:
            proxy.cut()
            with pytest.raises(ConnectionResetError):
                client.recv(9)
        with pytest.raises(ConnectionRefusedError):
            _connect(proxy)
        proxy.restore()
        with _connect(proxy) as client, upstream.accept()[0] as server:
            client.sendall(b"back")
            assert server.recv(9) == b"back"


def test_a_cut_within_answers_lets_their_first_bytes_through(upstream: socket.socket) -> None:
    with Proxy(upstream.getsockname()[1]) as proxy:
        with _connect(proxy) as client, upstream.accept()[0] as server:
            proxy.cut_within_answers(3)
            client.sendall(b"question")
            assert server.recv(9) == b"question"
            server.sendall(b"answer")
            assert client.recv(9) == b"ans"
            with pytest.raises(ConnectionResetError):
                client.recv(9)
        with pytest.raises(ConnectionRefusedError):
            _connect(proxy)
        proxy.restore()
        with _connect(proxy) as client, upstream.accept()[0] as server:
            server.sendall(b"whole again")
            assert client.recv(99) == b"whole again"
