"""What TLS adds: whom to trust, how long a handshake may take, and how an answer ends."""

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from threading import Thread

import pytest
import trustme

from tests.callback.calls import Outcomes
from tests.callback.target import NO_CONTENT, Target, answer_with, hang_up, wait_until
from tests.callback.ticket_flood import TicketFlood
from tests.callback.tls_front import front_of
from wangtimer.callback import DeliveryEngine
from wangtimer.callback.tls import client_context
from wangtimer.callback.tls_stream import TlsStream


@pytest.fixture
def tls(server_context: ssl.SSLContext) -> ssl.SSLContext:
    return server_context


def context_of(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


@pytest.fixture
def target_with() -> Iterator[Callable[[ssl.SSLContext], Target]]:
    targets: list[Target] = []

    def build(context: ssl.SSLContext) -> Target:
        targets.append(Target(tls=context))
        return targets[-1]

    yield build
    for target in targets:
        target.close()


def test_who_is_vouched_for_by_nobody_is_sent_nothing(engine, target_with, outcomes) -> None:
    target = target_with(context_of(trustme.CA(), "127.0.0.1"))
    engine.submit([outcomes.call(target.url)])
    (reply,) = outcomes.wait(1)
    assert "not to be trusted" in reply.error
    assert (reply.was_sent, reply.connect_ms) == (False, None)
    assert not target.requests


def test_who_has_the_certificate_of_another_is_sent_nothing(engine, target_with, authority, outcomes) -> None:
    target = target_with(context_of(authority, "other.example"))
    for url in (target.url, target.url.replace("127.0.0.1", "localhost")):
        engine.submit([outcomes.call(url)])
    replies = outcomes.wait(2)
    assert all("not to be trusted" in reply.error and not reply.was_sent for reply in replies)
    assert not target.requests


def test_a_target_that_speaks_no_tls_is_sent_nothing(engine, outcomes) -> None:
    plain = Target()
    engine.submit([outcomes.call(plain.url.replace("http:", "https:"))])
    hang_up_when_spoken_to(plain)
    (reply,) = outcomes.wait(1)
    assert "TLS with 127.0.0.1" in reply.error
    assert not reply.was_sent
    plain.close()


def hang_up_when_spoken_to(target: Target) -> None:
    wait_until(lambda: bool(target.connections))
    hang_up(target.connections[0])


def test_the_name_that_is_called_is_said_and_http_1_1_chosen(
    engine, authority, target_with, outcomes
) -> None:
    said = []
    context = context_of(authority, "localhost")
    context.sni_callback = lambda _socket, name, _context: said.append(name)
    context.set_alpn_protocols(["h2", "http/1.1"])
    target = target_with(context)
    engine.submit([outcomes.call(target.url.replace("127.0.0.1", "localhost."))])
    assert outcomes.wait(1)[0].succeeded
    assert said == ["localhost"]


def test_no_target_picks_the_group_of_a_key_exchange() -> None:
    """One of 10,000 bits took the engine's thread 0.9 s."""
    exchanges = {(cipher["protocol"], cipher["kea"]) for cipher in client_context().get_ciphers()}
    assert exchanges == {("TLSv1.2", "kx-ecdhe"), ("TLSv1.3", "kx-any")}


def test_a_target_that_knows_no_tls_1_3_is_called(engine, authority, target_with, outcomes) -> None:
    context = context_of(authority, "127.0.0.1")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    engine.submit([outcomes.call(target_with(context).url)])
    assert outcomes.wait(1)[0].succeeded


def test_a_target_that_never_shakes_hands_ends_at_the_connect_time_out(new_engine, target, outcomes) -> None:
    engine = new_engine(connect_timeout_ms=300)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/"
        engine.submit(outcomes.call(url) for _ in range(20))
        engine.submit(outcomes.call(target.url) for _ in range(20))
        replies = outcomes.wait(21)
        assert all(reply.succeeded for reply in replies[:20])
        assert "shaking hands" in replies[20].error
        assert "timed out" in replies[20].error
        assert not replies[20].was_sent


def test_many_handshakes_at_once_leave_others_their_turn(engine: DeliveryEngine, target, outcomes) -> None:
    """Between two steps of handshakes the engine looks at everything else."""
    steps, most = 0, 0
    act = engine._exchanges.act

    def note_turn() -> None:
        nonlocal steps, most
        most, steps = max(most, steps), 0
        act()

    engine._exchanges.act = note_turn
    shake = TlsStream.shake_hands

    def count(stream: TlsStream) -> None:
        nonlocal steps
        steps += 1
        shake(stream)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TlsStream, "shake_hands", count)
        engine.submit(outcomes.call(target.url) for _ in range(60))
        assert all(reply.succeeded for reply in outcomes.wait(60))
    assert 1 <= most <= 2


def test_a_third_connection_resumes_what_the_second_agreed_but_not_for_another_app(
    engine, new_target, outcomes
) -> None:
    target = new_target(answer_with(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"))
    resumed = []
    shake = TlsStream.shake_hands

    def note(stream: TlsStream) -> None:
        shake(stream)
        resumed.append(stream._tls.session_reused)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TlsStream, "shake_hands", note)
        for number, app in enumerate(["a", "a", "a", "b", "b", "b"], 1):
            engine.submit([outcomes.call(target.url, app=app)])
            assert outcomes.wait(number)[-1].succeeded
    assert resumed == [False, False, True, False, False, True]


def test_no_session_is_read_of_a_target_that_is_called_once_in_a_while(
    engine, new_target, outcomes, monkeypatch
) -> None:
    monkeypatch.setattr("wangtimer.callback.tls._SESSION_S", 0.1)
    target = new_target(answer_with(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"))
    for number in range(1, 4):
        engine.submit([outcomes.call(target.url)])
        assert outcomes.wait(number)[-1].succeeded
        time.sleep(0.15)
    assert not engine._exchanges._tls._sessions


def test_of_more_sessions_than_are_kept_the_oldest_is_forgotten(
    engine, new_target, outcomes, monkeypatch
) -> None:
    monkeypatch.setattr("wangtimer.callback.tls._MOST_SESSIONS", 2)
    target = new_target(answer_with(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"))
    for number, app in enumerate("aabbcc", 1):
        engine.submit([outcomes.call(target.url, app=app)])
        assert outcomes.wait(number)[-1].succeeded
    assert [app for app, _ in engine._exchanges._tls._sessions] == ["b", "c"]


def test_an_answer_without_a_length_that_ends_without_a_farewell_is_broken_off(
    engine, new_target, outcomes
) -> None:
    """Anybody on the way may have cut it."""

    def cut(received) -> None:
        received.connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nuntil the")
        time.sleep(0.05)
        front_of(received.connection).shutdown(socket.SHUT_RDWR)

    target = new_target(cut)
    engine.submit([outcomes.call(target.url)])
    (reply,) = outcomes.wait(1)
    assert "before its answer was whole" in reply.error
    assert (reply.http_status, reply.was_sent, reply.succeeded) == (200, True, False)


def test_a_target_that_takes_nothing_of_a_large_body_is_not_sent_it_twice(new_engine, outcomes, tls) -> None:
    """What was written before the connection broke may have been read."""
    received = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)

        def serve() -> None:
            connection = tls.wrap_socket(listener.accept()[0], server_side=True)
            received.extend(connection.recv(100))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()

        thread = Thread(target=serve)
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        new_engine(timeout_ms=3_000).submit([outcomes.call(url, body=b"x" * 20_000_000)])
        (reply,) = outcomes.wait(1)
        thread.join()
        listener.settimeout(0.1)
        with pytest.raises(TimeoutError):
            listener.accept()
    assert received.startswith(b"POST / ")
    assert (reply.was_sent, reply.succeeded) == (True, False)


def test_a_kept_connection_that_hears_of_new_tickets_is_still_used(engine, new_target, outcomes) -> None:
    target = new_target(answer_with(NO_CONTENT))
    for number in range(1, 6):
        engine.submit([outcomes.call(target.url)])
        assert outcomes.wait(number)[-1].succeeded
    assert len(target.connections) == 1


@pytest.fixture
def flood_of(authority, tmp_path) -> Iterator[Callable[..., TicketFlood]]:
    floods: list[TicketFlood] = []

    def build(answer: bytes = b"") -> TicketFlood:
        floods.append(TicketFlood(context_of(authority, "127.0.0.1"), tmp_path / "keys", answer))
        return floods[-1]

    yield build
    for flood in floods:
        flood.close()


def test_a_target_that_sends_tickets_without_end_holds_up_no_other_and_has_failed(
    new_engine, flood_of, target, outcomes
) -> None:
    engine = new_engine(timeout_ms=4_000)
    engine.submit([outcomes.call(flood_of().url)])
    begin_ms = time.time() * 1000
    others = Outcomes()
    engine.submit(others.call(target.url, begin_ms + 20 * number, app="other") for number in range(50))
    assert all(reply.sent_at_ms < begin_ms + 3_000 for reply in others.wait(50))
    (reply,) = outcomes.wait(1)
    assert "no data in it" in reply.error
    assert (reply.was_sent, reply.http_status) == (True, None)


def test_an_idle_connection_on_which_tickets_come_without_end_is_closed(engine, flood_of, outcomes) -> None:
    flood = flood_of(NO_CONTENT)
    engine.submit([outcomes.call(flood.url)])
    assert outcomes.wait(1)[0].succeeded
    assert flood.was_closed.wait(5)


def test_an_answer_that_comes_with_the_end_of_the_handshake_is_read(engine, authority, outcomes) -> None:
    """Its bytes are read with those of the handshake, and the socket has nothing more to tell."""
    context = context_of(authority, "127.0.0.1")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_side=True)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        engine.submit([outcomes.call(f"https://127.0.0.1:{listener.getsockname()[1]}/")])
        connection, _ = listener.accept()
        with connection:
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    connection.sendall(outgoing.read())
                    incoming.write(connection.recv(65_536))
            tls.write(NO_CONTENT)
            connection.sendall(outgoing.read())
            assert outcomes.wait(1)[0].succeeded
