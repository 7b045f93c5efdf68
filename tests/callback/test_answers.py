import contextlib
import socket
import time
from threading import Event

import pytest

from tests.callback.target import answer_with, hang_up, hold, reset
from tests.callback.tls_front import front_of

HEAD = b"HTTP/1.1 %d Some\r\nContent-Length: %d\r\n\r\n"


def the_reply(engine, target, outcomes):
    engine.submit([outcomes.call(target.url)])
    (reply,) = outcomes.wait(1)
    return reply


def test_204_is_success(engine, target, outcomes) -> None:
    reply = the_reply(engine, target, outcomes)
    assert (reply.http_status, reply.output, reply.error, reply.was_sent) == (204, "", "", True)
    assert reply.succeeded


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_other_answers_are_answers_and_no_success(engine, new_target, outcomes, status: int) -> None:
    target = new_target(answer_with(HEAD % (status, 4) + b"nope"))
    reply = the_reply(engine, target, outcomes)
    assert (reply.http_status, reply.output, reply.error) == (status, "nope", "")
    assert not reply.succeeded


def test_a_redirect_is_not_followed_and_no_success(engine, new_target, target, outcomes) -> None:
    moved = f"HTTP/1.1 301 Moved\r\nLocation: {target.url}\r\nContent-Length: 0\r\n\r\n".encode()
    reply = the_reply(engine, new_target(answer_with(moved)), outcomes)
    assert (reply.http_status, reply.error, reply.succeeded) == (301, "", False)
    assert not target.requests


def test_only_the_beginning_of_an_answer_is_kept(engine, new_target, outcomes) -> None:
    target = new_target(answer_with(HEAD % (200, 5000) + b"x" * 5000))
    assert the_reply(engine, target, outcomes).output == "x" * 1024
    engine.submit([outcomes.call(target.url)])
    outcomes.wait(2)
    assert len(target.connections) == 1, "a short answer is read to its end, and its connection kept"


def test_an_answer_cut_inside_a_character_ends_before_it(new_engine, new_target, outcomes) -> None:
    text = "定时器".encode()
    target = new_target(answer_with(HEAD % (200, len(text)) + text))
    assert the_reply(new_engine(excerpt_bytes=8), target, outcomes).output == "定时"


def test_an_answer_that_is_not_text_is_still_shown(engine, new_target, outcomes) -> None:
    target = new_target(answer_with(HEAD % (200, 4) + b"\xff\xfeok"))
    assert the_reply(engine, target, outcomes).output == "\ufffd\ufffdok"


def test_a_huge_answer_is_broken_off_and_counts_as_the_answer(engine, new_target, outcomes) -> None:
    is_broken_off = Event()

    def pour(received) -> None:
        received.connection.sendall(HEAD % (200, 1 << 40))
        try:
            while True:
                received.connection.sendall(b"y" * 65536)
        except OSError:
            is_broken_off.set()

    reply = the_reply(engine, new_target(pour), outcomes)
    assert (reply.http_status, reply.output, reply.error) == (200, "y" * 1024, "")
    assert reply.succeeded
    assert is_broken_off.wait(5)


@pytest.mark.parametrize(
    ("begin", "status"), [(b"", None), (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", 200)]
)
def test_a_dripping_target_is_cut_at_the_deadline(new_engine, new_target, outcomes, begin, status) -> None:
    def drip(received) -> None:
        received.connection.sendall(begin)
        for byte in b"HTTP/1.1 200 OK\r\n" + b"x" * 80:
            received.connection.sendall(bytes([byte]))
            time.sleep(0.05)

    reply = the_reply(new_engine(timeout_ms=300), new_target(drip), outcomes)
    assert "timed out" in reply.error.lower()
    # The deadline counts from when the call was due, the cost from when it was sent: a little later.
    assert 250 <= reply.cost_ms < 2000
    assert (reply.http_status, reply.succeeded) == (status, False)


def test_a_silent_target_is_cut_at_the_deadline(new_engine, new_target, outcomes) -> None:
    reply = the_reply(new_engine(timeout_ms=200), new_target(hold), outcomes)
    assert (reply.http_status, reply.was_sent, reply.succeeded) == (None, True, False)
    assert 150 <= reply.cost_ms < 2000


def test_a_refused_connection_is_an_error_with_nothing_sent(engine, target, outcomes) -> None:
    target.close()
    reply = the_reply(engine, target, outcomes)
    assert "connect" in reply.error
    assert (reply.http_status, reply.was_sent) == (None, False)


def test_an_answer_broken_off_by_the_target_is_no_success(engine, new_target, outcomes) -> None:
    def stop_short(received) -> None:
        received.connection.sendall(HEAD % (200, 100) + b"half")
        hang_up(received.connection)

    reply = the_reply(engine, new_target(stop_short), outcomes)
    assert (reply.http_status, reply.output, reply.succeeded) == (200, "half", False)
    assert reply.error


@pytest.mark.parametrize("end", [hang_up, reset])
@pytest.mark.parametrize("calls_before", [0, 1, 3])
def test_a_target_that_takes_a_request_and_hangs_up_is_called_once(
    engine, new_target, outcomes, end, calls_before: int
) -> None:
    def answer(received) -> None:
        if received.path == "/fatal":
            end(received.connection)
        else:
            answer_with(HEAD % (200, 0))(received)

    target = new_target(answer)
    for number in range(calls_before):
        engine.submit([outcomes.call(target.url)])
        outcomes.wait(number + 1)
    engine.submit([outcomes.call(target.url + "fatal")])
    reply = outcomes.wait(calls_before + 1)[-1]
    assert reply.error
    assert (reply.http_status, reply.was_sent) == (None, True)
    engine.submit([outcomes.call(target.url)])
    assert outcomes.wait(calls_before + 2)[-1].succeeded
    assert [received.path for received in target.requests].count("/fatal") == 1


def test_the_cost_is_split_into_connecting_first_byte_and_the_whole(engine, new_target, outcomes) -> None:
    def answer_slowly(received) -> None:
        time.sleep(0.1)
        received.connection.sendall(HEAD % (200, 4))
        time.sleep(0.1)
        received.connection.sendall(b"done")

    target = new_target(answer_slowly)
    for number in (1, 2):  # the second one on the connection of the first
        engine.submit([outcomes.call(target.url)])
        reply = outcomes.wait(number)[-1]
        assert 0 <= reply.connect_ms <= reply.first_byte_ms - 90
        assert reply.first_byte_ms <= reply.cost_ms - 90
    assert len(target.connections) == 1


def test_what_never_connected_or_answered_has_no_such_times(new_engine, new_target, outcomes) -> None:
    engine, silent, refusing = new_engine(timeout_ms=200), new_target(hold), new_target()
    refusing.close()
    engine.submit([outcomes.call(silent.url), outcomes.call(refusing.url)])
    refused, unanswered = sorted(outcomes.wait(2), key=lambda reply: reply.was_sent)
    assert (refused.connect_ms, refused.first_byte_ms) == (None, None)
    assert 0 <= unanswered.connect_ms < 200
    assert unanswered.first_byte_ms is None


AN_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ndone"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ndo\r\n2\r\nne\r\n0\r\n\r\n"


@pytest.mark.parametrize("answer", [AN_ANSWER, CHUNKED], ids=["a length", "chunks"])
def test_an_answer_may_come_byte_by_byte_and_the_connection_is_kept(
    engine, new_target, outcomes, answer: bytes
) -> None:
    def drip(received) -> None:
        front_of(received.connection).setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in answer:
            received.connection.sendall(bytes([byte]))

    target = new_target(drip)
    for number in (1, 2):
        engine.submit([outcomes.call(target.url)])
        reply = outcomes.wait(number)[-1]
        assert (reply.http_status, reply.output, reply.error) == (200, "done", "")
    assert len(target.connections) == 1


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", "until the end"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndone", "done"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\ndone", "done"),
        (b"HTTP/1.0 200 OK\r\n\r\n", ""),
    ],
)
def test_an_answer_may_end_with_its_connection(
    engine, new_target, outcomes, answer: bytes, output: str
) -> None:
    def end(received) -> None:
        received.connection.sendall(answer)
        hang_up(received.connection)

    target = new_target(end)
    for number in (1, 2):
        engine.submit([outcomes.call(target.url)])
        reply = outcomes.wait(number)[-1]
        assert (reply.http_status, reply.output, reply.error) == (200, output, "")
    assert len(target.connections) == 2


def test_what_says_it_closes_is_not_used_again_though_it_stays_open(engine, new_target, outcomes) -> None:
    target = new_target(answer_with(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"))
    for number in (1, 2):
        engine.submit([outcomes.call(target.url)])
        assert outcomes.wait(number)[-1].succeeded
    assert len(target.connections) == 2


def test_an_answer_announced_by_others_is_the_last_one(engine, new_target, outcomes) -> None:
    announced = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + AN_ANSWER
    reply = the_reply(engine, new_target(answer_with(announced)), outcomes)
    assert (reply.http_status, reply.output, reply.error) == (200, "done", "")


def test_more_than_one_answer_ends_the_connection(engine, new_target, outcomes) -> None:
    """Or the second one would be taken for the answer to the next call."""
    target = new_target(answer_with(AN_ANSWER + b"HTTP/1.1 500 Of nobody\r\nContent-Length: 0\r\n\r\n"))
    for number in (1, 2):
        engine.submit([outcomes.call(target.url)])
        reply = outcomes.wait(number)[-1]
        assert (reply.http_status, reply.output, reply.error) == (200, "done", "")
    assert len(target.connections) == 2


def test_lines_may_end_without_a_return_and_need_no_reason(engine, new_target, outcomes) -> None:
    reply = the_reply(engine, new_target(answer_with(b"HTTP/1.1 200\nContent-Length: 4\n\ndone")), outcomes)
    assert (reply.http_status, reply.output, reply.error) == (200, "done", "")


@pytest.mark.parametrize(
    "answer", [b"hello, world\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 2x0 OK\r\n\r\n"]
)
def test_what_is_no_http_is_an_error(engine, new_target, outcomes, answer: bytes) -> None:
    def end(received) -> None:
        received.connection.sendall(answer)
        hang_up(received.connection)

    reply = the_reply(engine, new_target(end), outcomes)
    assert reply.error
    assert (reply.http_status, reply.was_sent, reply.succeeded) == (None, True, False)


def test_headers_without_end_are_an_error(engine, new_target, outcomes) -> None:
    is_broken_off = Event()

    def pour(received) -> None:
        received.connection.sendall(b"HTTP/1.1 200 OK\r\n")
        try:
            while True:
                received.connection.sendall(b"X-More: " + b"x" * 1000 + b"\r\n")
        except OSError:
            is_broken_off.set()

    reply = the_reply(engine, new_target(pour), outcomes)
    assert "header" in reply.error
    assert not reply.succeeded
    assert is_broken_off.wait(5)


def test_an_early_answer_to_a_large_body_is_the_answer_and_ends_the_connection(engine, outcomes) -> None:
    """A target may refuse a body before it has read it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        engine.submit(
            [outcomes.call(f"http://127.0.0.1:{listener.getsockname()[1]}/", body=b"x" * 20_000_000)]
        )
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(HEAD % (413, 0))
            (reply,) = outcomes.wait(1)
            connection.settimeout(5)
            with contextlib.suppress(ConnectionResetError):
                while connection.recv(65_536):
                    pass
    assert (reply.http_status, reply.error, reply.was_sent) == (413, "", True)


def test_a_target_that_reads_slowly_gets_the_whole_body(engine, outcomes) -> None:
    body = bytes(range(256)) * 40_000
    with socket.create_server(("127.0.0.1", 0)) as listener:
        engine.submit([outcomes.call(f"http://127.0.0.1:{listener.getsockname()[1]}/", body=body)])
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as stream:
            time.sleep(0.1)
            while stream.readline() != b"\r\n":
                pass
            arrived = b""
            while len(arrived) < len(body):
                arrived += stream.read(min(100_000, len(body) - len(arrived)))
            connection.sendall(HEAD % (200, 0))
            (reply,) = outcomes.wait(1)
    assert arrived == body
    assert reply.succeeded
