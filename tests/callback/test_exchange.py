"""One connection, where what matters is what comes between two looks at it."""

import math
import select
import socket
import ssl

import pytest
import trustme

from tests.callback.calls import MachineClock, Outcomes
from wangtimer.callback import Limits
from wangtimer.callback.exchange import Exchange, Opened
from wangtimer.callback.places import App, Flow, Host, Way
from wangtimer.callback.reply import SENT_ONCE
from wangtimer.callback.tls import client_context
from wangtimer.callback.tls_stream import TlsStream
from wangtimer.core.egress.egress_rules import Peer


def test_an_answer_without_a_length_that_ends_in_a_reset_is_broken_off() -> None:
    """Nobody knows whether that was all."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        target, _ = listener.accept()
    ended = []
    exchange = Exchange(
        Opened(ours, ("app", "http://target:80"), Peer("", "127.0.0.1", 80), 0),
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


@pytest.mark.parametrize("ends_tcp", [False, True])
def test_who_has_ended_tls_but_not_tcp_may_act_on_what_comes_then(
    authority: trustme.CA, server_context: ssl.SSLContext, *, ends_tcp: bool
) -> None:
    """What it reads after its farewell is acknowledged after that."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        target, _ = listener.accept()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = server_context.wrap_bio(incoming, outgoing, server_side=True)
    ours.setblocking(False)
    stream = TlsStream(ours, client_context(), "127.0.0.1", None)
    _shake_hands(stream, tls, incoming, outgoing, target)
    ended: list[str] = []
    exchange = Exchange(
        Opened(stream, ("app", "https://target:443"), Peer("", "127.0.0.1", 443), 0),
        MachineClock(),
        Limits(),
        lambda *_: None,
        lambda _, error, _now: ended.append(error),
        lambda _, _now: ended.append("goes again"),
    )
    exchange.on_ready(select.EPOLLIN)  # session tickets
    with pytest.raises(ssl.SSLWantReadError):
        tls.unwrap()
    target.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)  # both ends come at once
    target.sendall(outgoing.read())
    if ends_tcp:
        target.shutdown(socket.SHUT_WR)
    target.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
    assert select.select([ours], [], [], 10.0)[0]
    ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)  # the request is on its way for a while
    exchange.begin(
        Outcomes().call("https://target/", body=b"pay"),
        Flow(App("app"), Way(Host("target:443", 1), ("app", "https://target:443"), "/")),
        exchange.idle_since,
        math.inf,
        math.inf,
        None,
        False,
    )
    exchange.on_ready(select.EPOLLIN)
    assert ended == ["goes again" if ends_tcp else SENT_ONCE]
    ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
    incoming.write(target.recv(65_536))
    assert tls.read(65_536).endswith(b"pay"), "it is read after the farewell"
    target.close()
    exchange.close()


def _shake_hands(
    stream: TlsStream,
    tls: ssl.SSLObject,
    incoming: ssl.MemoryBIO,
    outgoing: ssl.MemoryBIO,
    target: socket.socket,
) -> None:
    done = {stream.shake_hands: False, tls.do_handshake: False}
    while not all(done.values()):
        for step, is_done in done.items():
            if not is_done:
                try:
                    step()
                    done[step] = True
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    pass
                if step == stream.shake_hands:
                    incoming.write(target.recv(65_536))
                elif outgoing.pending:
                    target.sendall(outgoing.read())
