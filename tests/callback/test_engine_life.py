import time
from threading import Thread

import pytest

from tests.callback.calls import engine_of
from tests.callback.target import NO_CONTENT, hold, wait_until
from wangtimer.callback import EngineStopped
from wangtimer.callback.engine import next_look_at


def test_a_call_that_may_not_be_sent_is_held_back_and_can_come_again(engine, target, outcomes) -> None:
    is_mine = False
    call = outcomes.call(target.url, may_send=lambda: is_mine)
    engine.submit([call])
    outcomes.wait(1)
    assert outcomes.held_back == [call]
    assert not target.requests
    is_mine = True
    engine.submit([call])
    outcomes.wait(2)
    assert [reply.succeeded for _, reply in outcomes.replies] == [True]


def test_a_question_that_raises_means_no(engine, target, outcomes, caplog) -> None:
    engine.submit([outcomes.call(target.url, may_send=lambda: 1 // 0), outcomes.call(target.url)])
    outcomes.wait(2)
    assert len(outcomes.held_back) == len(target.requests) == 1
    assert "may_send_raised" in caplog.text


def test_may_send_is_asked_after_the_wait_for_a_connection(new_engine, new_target, outcomes) -> None:
    target = new_target(hold)
    engine = new_engine(connections_per_host=1)
    asked = []
    engine.submit(
        outcomes.call(target.url, may_send=lambda number=number: asked.append(number) or True)
        for number in range(2)
    )
    target.wait_for_requests(1)
    assert asked == [0]
    target.requests[0].connection.sendall(NO_CONTENT)
    target.wait_for_requests(2)
    assert asked == [0, 1]


def test_a_listener_that_raises_is_logged_and_the_engine_goes_on(engine, target, outcomes, caplog) -> None:
    bad = outcomes.call(target.url)
    bad.on_reply = lambda call, reply: 1 // 0
    bad_too = outcomes.call(target.url, may_send=lambda: False)
    bad_too.on_held_back = lambda call: 1 // 0
    engine.submit([bad, bad_too])
    wait_until(lambda: caplog.text.count("callback.listener_raised") == 2)
    engine.submit([outcomes.call(target.url)])
    assert outcomes.wait(1)[0].succeeded


def test_a_listener_may_submit_the_next_call(engine, target, outcomes) -> None:
    first = outcomes.call(target.url)
    first.on_reply = lambda call, reply: engine.submit([outcomes.call(target.url + "next")])
    engine.submit([first])
    outcomes.wait(1)
    assert [received.path for received in target.requests] == ["/", "/next"]


def test_stop_returns_what_was_not_sent_and_lets_the_rest_finish(new_engine, new_target, outcomes) -> None:
    target = new_target(hold)
    engine = new_engine(connections_per_host=1)
    calls = [outcomes.call(target.url + "sent"), outcomes.call(target.url + "no-place")]
    calls.append(outcomes.call(target.url + "later", time.time() * 1000 + 60_000))
    engine.submit(calls)
    target.wait_for_requests(1)
    returned = []
    stopping = Thread(target=lambda: returned.extend(engine.stop(5)))
    stopping.start()
    wait_until(lambda: engine.counts.waiting == 0)
    with pytest.raises(EngineStopped):
        engine.submit([calls[1]])
    target.requests[0].connection.sendall(NO_CONTENT)
    stopping.join(5)
    assert {call.request.url for call in returned} == {target.url + "no-place", target.url + "later"}
    assert [reply.succeeded for _, reply in outcomes.replies] == [True]
    assert not engine._thread.is_alive()


def test_stop_cuts_off_and_returns_what_does_not_finish(new_engine, new_target, outcomes) -> None:
    target = new_target(hold)
    engine = new_engine()
    call = outcomes.call(target.url)
    engine.submit([call])
    target.wait_for_requests(1)
    assert engine.stop(0.1) == [call]
    assert outcomes.ends == 0
    assert target.requests[0].connection.recv(1) == b""


def test_an_idle_engine_stops_at_once(new_engine) -> None:
    engine = new_engine()
    began_at = time.monotonic()
    assert engine.stop(5) == []
    assert time.monotonic() - began_at < 1


def test_an_engine_never_started_returns_all(target, outcomes) -> None:
    engine = engine_of()
    call = outcomes.call(target.url)
    engine.submit([call])
    assert engine.stop(0) == [call]


def test_counts_tell_waiting_from_in_flight(new_engine, new_target, outcomes) -> None:
    target = new_target(hold)
    engine = new_engine(connections_per_host=2)
    later_ms = time.time() * 1000 + 60_000
    engine.submit(outcomes.call(target.url, due) for due in (0, 0, 0, later_ms))
    target.wait_for_requests(2)
    assert (engine.counts.waiting, engine.counts.in_flight) == (2, 2)


def test_a_look_for_what_waits_too_long_takes_a_tenth_of_the_time_at_most() -> None:
    assert next_look_at(7.0, 7.001) == pytest.approx(7.05)
    assert next_look_at(7.0, 7.04) == pytest.approx(7.4)
