"""A kept connection that its target closes just as a request leaves: nothing of an answer comes."""

import socket
import time
from collections.abc import Callable

import pytest

from tests.callback.target import NO_CONTENT, Received, Target, hang_up, hold, reset, wait_until
from wangtimer.callback import DeliveryEngine, Reply
from wangtimer.callback.reply import SENT_AGAIN, SENT_ONCE
from wangtimer.core.timers.call_options import Timeouts

Close = Callable[[socket.socket], None]


def called(engine: DeliveryEngine, outcomes, target: Target, **call: object) -> Reply:
    before = outcomes.ends
    engine.submit([outcomes.call(target.url, **call)])
    return outcomes.wait(before + 1)[-1]


def called_on_a_dead_one(
    engine: DeliveryEngine, outcomes, target: Target, close: Close, **call: object
) -> Reply:
    """Call a target that closes its kept connection after the last look at it, before the request is written."""
    assert called(engine, outcomes, target).succeeded
    kept = target.connections[-1]
    closings = iter([lambda: close(kept)])

    def may_send() -> bool:
        next(closings, lambda: None)()
        return True

    return called(engine, outcomes, target, may_send=may_send, **call)


def close_unanswered(received: Received) -> None:
    """Act on a request, and close its connection in place of an answer."""
    hang_up(received.connection)


@pytest.mark.parametrize("timeouts", [Timeouts(), Timeouts(60_000)], ids=["as deployed", "its own"])
@pytest.mark.parametrize("body", [b"{}", b"x" * 200_000], ids=["short", "long"])
def test_what_a_closed_connection_did_not_take_is_sent_again_at_once(
    engine, target, outcomes, timeouts, body
) -> None:
    reply = called_on_a_dead_one(engine, outcomes, target, hang_up, timeouts=timeouts, body=body)
    assert (reply.succeeded, reply.http_status, reply.shown_error) == (True, 204, SENT_AGAIN)
    assert [len(received.body) for received in target.requests] == [2, len(body)]
    assert outcomes.replies[-1][0].is_written == (timeouts != Timeouts())


def test_what_may_go_twice_is_sent_again_whatever_the_target_took_of_it(engine, target, outcomes) -> None:
    assert called_on_a_dead_one(engine, outcomes, target, hang_up, method="PUT").succeeded
    assert called(engine, outcomes, target).succeeded
    target.answer = lambda received: (close_unanswered if len(target.requests) == 4 else _answer)(received)
    reply = called(engine, outcomes, target, method="GET", body=b"")
    assert (reply.succeeded, reply.shown_error) == (True, SENT_AGAIN)
    assert [received.method for received in target.requests] == ["POST", "PUT", "POST", "GET", "GET"]


def _answer(received: Received) -> None:
    received.connection.sendall(NO_CONTENT)


def test_what_the_target_took_and_may_have_acted_on_is_not_sent_again(engine, target, outcomes) -> None:
    assert called(engine, outcomes, target).succeeded
    target.answer = close_unanswered
    reply = called(engine, outcomes, target)
    assert (reply.succeeded, reply.was_sent, reply.shown_error) == (False, True, SENT_ONCE)
    assert len(target.requests) == 2


def test_after_a_reset_nobody_knows_what_the_target_took(engine, new_target, outcomes) -> None:
    """It may have read the request, acted, and aborted, before it acknowledged a byte."""
    target = new_target()
    assert called(engine, outcomes, target).succeeded
    target.answer = lambda received: reset(received.connection)
    assert called(engine, outcomes, target).shown_error == SENT_ONCE
    assert len(target.requests) == 2


def test_a_new_connection_that_is_closed_has_failed_whatever_the_method(engine, new_target, outcomes) -> None:
    target = new_target(close_unanswered)
    assert called(engine, outcomes, target, method="PUT").shown_error == SENT_ONCE
    assert len(target.requests) == 1


def test_a_call_goes_again_once_and_its_end_tells_of_both(engine, target, outcomes) -> None:
    def close_for_good(kept: socket.socket) -> None:
        target.stop_listening()
        hang_up(kept)

    reply = called_on_a_dead_one(engine, outcomes, target, close_for_good)
    assert (reply.succeeded, reply.was_sent) == (False, True)
    assert "without an answer; not sent again: " in reply.error
    assert engine.counts.in_flight == 0


def test_a_call_that_may_not_go_now_is_not_sent_again(engine, target, outcomes) -> None:
    assert called(engine, outcomes, target).succeeded
    kept = target.connections[-1]
    answers = iter([True, False])
    reply = called(engine, outcomes, target, may_send=lambda: hang_up(kept) is None and next(answers))
    assert "not sent again: it is not to be called now" in reply.error
    assert len(target.requests) == 1


def test_a_call_that_hangs_lets_go_of_its_request_once_its_connection_proved_to_be_open(
    engine, target, outcomes
) -> None:
    assert called(engine, outcomes, target).succeeded
    target.answer = hold
    call = outcomes.call(target.url, timeouts=Timeouts(30_000))
    engine.submit([call])
    target.wait_for_requests(2)
    assert not call.is_written
    wait_until(lambda: call.is_written)
    assert engine.counts.in_flight == 1


def test_a_time_out_shorter_than_that_holds(engine, target, outcomes) -> None:
    assert called(engine, outcomes, target).succeeded
    target.answer = hold
    assert "timed out after" in called(engine, outcomes, target, timeouts=Timeouts(200)).error


def test_a_connection_idles_no_longer_than_its_target_announced(engine, new_target, outcomes) -> None:
    target = new_target(
        lambda received: received.connection.sendall(
            b"HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=1\r\n\r\n"
        )
    )
    in_ms = time.time() * 1_000
    engine.submit(outcomes.call(target.url, in_ms + after_ms) for after_ms in (0, 700))
    assert all(reply.succeeded for reply in outcomes.wait(2))
    assert len(target.connections) == 2
