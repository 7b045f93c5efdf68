import socket
import time
from threading import Event

import pytest

from tests.callback.target import answer_with, hang_up, hold

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


def test_an_error_that_quotes_odd_bytes_is_still_text(engine, new_target, outcomes) -> None:
    target = new_target(answer_with(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: \xff\xfezz\r\n\r\n"))
    reply = the_reply(engine, target, outcomes)
    assert "\ufffd\ufffd" in reply.error
    assert reply.error.encode()


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
    assert 299 <= reply.cost_ms < 2000
    assert (reply.http_status, reply.succeeded) == (status, False)


def test_a_silent_target_is_cut_at_the_deadline(new_engine, new_target, outcomes) -> None:
    reply = the_reply(new_engine(timeout_ms=200), new_target(hold), outcomes)
    assert (reply.http_status, reply.was_sent, reply.succeeded) == (None, True, False)
    assert 199 <= reply.cost_ms < 2000


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


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    hang_up(connection)


@pytest.mark.parametrize("end", [hang_up, reset])
@pytest.mark.parametrize("calls_before", [0, 1, 3])
def test_a_target_that_takes_a_request_and_hangs_up_is_called_once(
    engine, new_target, outcomes, end, calls_before: int
) -> None:
    """On a connection used before, libcurl by itself would send the request again, five times."""

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
