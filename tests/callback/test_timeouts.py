"""The time-outs of a call's own: to connect, to the first byte of its answer, to its whole answer."""

import time

import pytest

from tests.callback.calls import MachineClock
from tests.callback.target import NO_CONTENT, answer_with, hold, wait_until
from wangtimer.core.timers.call_options import AS_DEPLOYED, Timeouts


class HastenedClock(MachineClock):
    """A stop-watch that a test puts ahead."""

    ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


def answer_slowly(received) -> None:
    """Send the first byte at once, the rest after 0.6 s."""
    received.connection.sendall(NO_CONTENT[:1])
    time.sleep(0.6)
    received.connection.sendall(NO_CONTENT[1:])


def answer_late(received) -> None:
    time.sleep(0.6)
    received.connection.sendall(NO_CONTENT)


def test_a_call_may_have_less_time_than_its_engine_gives(engine, new_target, outcomes) -> None:
    target = new_target(hold)
    engine.submit([outcomes.call(target.url, timeout_ms=200)])
    (cut,) = outcomes.wait()
    assert (cut.http_status, cut.was_sent, cut.succeeded) == (None, True, False)
    assert "timed out" in cut.error
    target.answer = answer_with(NO_CONTENT)
    engine.submit([outcomes.call(target.url), outcomes.call(target.url, timeout_ms=5_000)])
    assert all(reply.succeeded for reply in outcomes.wait(3)[1:])


def test_a_call_may_have_more_time_than_its_engine_gives(new_engine, new_target, outcomes) -> None:
    target = new_target(answer_late)
    engine = new_engine(timeout_ms=200)
    engine.submit([outcomes.call(target.url, timeout_ms=5_000)])
    (reply,) = outcomes.wait()
    assert reply.succeeded
    assert reply.cost_ms >= 550
    engine.submit([outcomes.call(target.url)])
    assert "timed out" in outcomes.wait(2)[1].error


def test_the_time_of_a_call_begins_when_its_request_is_sent(new_engine, new_target, outcomes) -> None:
    target, clock = new_target(hold), HastenedClock()
    engine = new_engine(clock, connections_per_host=1)
    engine.submit([outcomes.call(target.url)])
    target.wait_for_requests(1)
    engine.submit([outcomes.call(target.url, timeout_ms=2_000)])
    wait_until(lambda: engine.has_calls_waiting)
    clock.ahead_s = 5  # for so long it waits for a place
    target.answer = answer_with(NO_CONTENT)
    target.requests[0].connection.sendall(NO_CONTENT)
    assert all(reply.succeeded for reply in outcomes.wait(2))


def test_a_silent_target_is_cut_off_when_its_first_byte_is_due(engine, new_target, outcomes) -> None:
    target = new_target(hold)
    engine.submit([outcomes.call(target.url, timeouts=Timeouts(first_byte_ms=200))])
    (reply,) = outcomes.wait()
    assert "without a byte of an answer" in reply.error
    assert (reply.was_sent, reply.succeeded) == (True, False)
    assert 199 <= reply.cost_ms < 2_000


def test_an_answer_that_began_in_time_has_the_whole_time(engine, new_target, outcomes) -> None:
    target = new_target(answer_slowly)
    engine.submit([outcomes.call(target.url, timeouts=Timeouts(first_byte_ms=300))])
    assert outcomes.wait()[0].succeeded
    engine.submit([outcomes.call(target.url, timeouts=Timeouts(total_ms=400, first_byte_ms=300))])
    error = outcomes.wait(2)[1].error
    assert "timed out" in error
    assert "without a byte" not in error


def test_a_kept_connection_forgets_the_time_outs_of_the_call_before(engine, new_target, outcomes) -> None:
    target = new_target(answer_with(NO_CONTENT))
    engine.submit([outcomes.call(target.url, timeouts=Timeouts(first_byte_ms=300))])
    outcomes.wait()
    target.answer = answer_late
    engine.submit([outcomes.call(target.url)])
    assert outcomes.wait(2)[1].succeeded


@pytest.mark.parametrize("size", [10, 5_000_000])
def test_a_call_with_time_outs_learns_when_it_is_wholly_written(engine, new_target, outcomes, size) -> None:
    """It frees its body then: an answer may take minutes."""
    target = new_target(hold)
    usual, own = (
        outcomes.call(target.url, body=b"x" * size, timeouts=timeouts)
        for timeouts in (AS_DEPLOYED, Timeouts(60_000))
    )
    engine.submit([usual, own])
    target.wait_for_requests(2)
    wait_until(lambda: own.is_written)
    assert not usual.is_written


def test_connecting_may_have_less_time_than_the_engine_gives(new_engine, outcomes, deaf_address) -> None:
    deaf, port = deaf_address
    call = outcomes.call(f"http://{deaf}:{port}/", timeouts=Timeouts(connect_ms=200))
    new_engine(connect_timeout_ms=5_000).submit([call])
    (reply,) = outcomes.wait(1)
    assert "timed out" in reply.error
    assert "connecting" in reply.error
    assert 199 <= reply.cost_ms < 2_000


@pytest.mark.test_all
def test_connecting_may_have_more_time_than_the_engine_gives(new_engine, outcomes, deaf_listener) -> None:
    """Linux tries again to connect after 1 s."""
    engine = new_engine(connect_timeout_ms=200, timeout_ms=300)
    url = f"http://127.0.0.9:{deaf_listener.getsockname()[1]}/"
    engine.submit([outcomes.call(url, timeouts=Timeouts(8_000, 8_000))])
    time.sleep(0.5)
    assert outcomes.ends == 0
    deaf_listener.settimeout(5)
    while True:
        connection, _ = deaf_listener.accept()
        connection.settimeout(2)
        try:
            if connection.recv(65_536):
                break
        except TimeoutError:
            continue
    connection.sendall(NO_CONTENT)
    assert outcomes.wait(1)[0].succeeded
