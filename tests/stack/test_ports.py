"""Ports for servers that are started here."""

import socket

import pytest

from wangtimer.stack import ports
from wangtimer.stack.ports import HOST, free_port


def test_the_port_behind_a_free_one_is_free_and_never_given(monkeypatch: pytest.MonkeyPatch) -> None:
    first = free_port()
    assert first % 2 == 0
    with socket.socket() as taken:
        taken.bind((HOST, first + 1))
        monkeypatch.setattr(ports, "PORTS", range(first, first + 2, 2))
        with pytest.raises(OSError, match="no free port"):
            free_port()
    assert free_port() == first
