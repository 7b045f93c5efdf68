"""One plain connection, where what matters is what comes between two looks at it."""

import math
import select
import socket

from tests.callback.calls import MachineClock, Outcomes
from wangtimer.callback import Limits
from wangtimer.callback.exchange import Exchange
from wangtimer.callback.places import App, Flow, Host, Way
from wangtimer.core.egress.egress_rules import Peer


def test_an_answer_without_a_length_that_ends_in_a_reset_is_broken_off() -> None:
    """Nobody knows whether that was all."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        target, _ = listener.accept()
    ended = []
    exchange = Exchange(
        ours,
        ("app", "http://target:80"),
        Peer("", "127.0.0.1", 80),
        0,
        MachineClock(),
        Limits(),
        lambda *_: None,
        lambda _, error, now: ended.append((error, now)),
        lambda _, now: ended.append(("dead", now)),
    )
    exchange.begin(
        Outcomes().call("http://target/"),
        Flow(App("app"), Way(Host("target:80", 1), ("app", "http://target:80"), "")),
        0.0,
        math.inf,
        10.0,
        0,
        False,
    )
    target.sendall(b"HTTP/1.1 200 OK\r\n\r\nuntil the")
    exchange.on_ready(select.EPOLLIN)
    assert ended == []
    target.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    target.close()
    exchange.on_ready(select.EPOLLIN | select.EPOLLERR | select.EPOLLHUP)
    ((error, now),) = ended
    assert "before its answer was whole" in error
    reply = exchange.reply(error, now)
    assert (reply.http_status, reply.output, reply.was_sent, reply.succeeded) == (
        200,
        "until the",
        True,
        False,
    )
    exchange.close()
