import contextlib
import errno
import os
import resource
import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.callback.target import NO_CONTENT, Target, answer_with, hang_up, hold, reset, wait_until
from wangtimer.callback import exchanges, opening


def test_connections_are_kept_and_used_again(engine, target, outcomes) -> None:
    for number in range(100):
        engine.submit([outcomes.call(target.url)])
        outcomes.wait(number + 1)
    assert len(target.connections) == 1


def test_a_connection_the_target_closed_while_idle_is_replaced(engine, target, outcomes) -> None:
    for number in range(3):
        engine.submit([outcomes.call(target.url)])
        assert outcomes.wait(number + 1)[-1].succeeded
        hang_up(target.connections[-1])
    assert len(target.requests) == len(target.connections) == 3


def test_a_target_that_restarts_while_idle_fails_no_call(engine, new_target, outcomes) -> None:
    target = new_target(hold)
    engine.submit(outcomes.call(target.url) for _ in range(20))
    target.wait_for_requests(20)
    target.answer = answer_with(NO_CONTENT)
    for received in target.requests:
        received.connection.sendall(NO_CONTENT)
    outcomes.wait(20)
    for connection in list(target.connections):
        hang_up(connection)
    engine.submit(outcomes.call(target.url) for _ in range(20))
    assert all(reply.succeeded for reply in outcomes.wait(40))
    assert len(target.requests) == 40


def test_a_host_may_be_a_name(engine, target, outcomes) -> None:
    url = target.url.replace("127.0.0.1", "localhost")
    engine.submit(outcomes.call(url if number % 2 else target.url) for number in range(20))
    assert all(reply.succeeded for reply in outcomes.wait(20))


def test_a_connection_idle_for_too_long_is_not_used_again(new_engine, target, outcomes, monkeypatch) -> None:
    monkeypatch.setattr(exchanges, "_LOOK_FOR_STALE_S", 60.0)  # nor before it is closed for that
    engine = new_engine(reuse_idle_s=1)
    engine.submit([outcomes.call(target.url), outcomes.call(target.url, time.time() * 1000 + 1200)])
    assert all(reply.succeeded for reply in outcomes.wait(2))
    assert len(target.connections) == 2


def test_a_call_that_is_held_back_makes_no_idle_connection_younger(new_engine, outcomes) -> None:
    engine = new_engine(reuse_idle_s=1)
    target = Target()
    engine.submit([outcomes.call(target.url)])
    outcomes.wait(1)
    for number in range(2):
        time.sleep(0.6)
        engine.submit([outcomes.call(target.url, may_send=lambda: False)])
        outcomes.wait(2 + number)
    engine.submit([outcomes.call(target.url)])
    assert outcomes.wait(4)[-1].succeeded
    assert len(target.connections) == 2
    target.close()


def test_a_host_is_sent_no_more_at_once_than_its_share(new_engine, new_target, outcomes) -> None:
    target = new_target(hold)
    engine = new_engine(connections_per_host=3)
    engine.submit(outcomes.call(target.url) for _ in range(10))
    for answered in range(10):
        target.wait_for_requests(min(10, answered + 3))
        under_way = len(target.requests) - answered
        assert under_way <= 3
        assert engine.counts.in_flight <= 3
        target.requests[answered].connection.sendall(NO_CONTENT)
        outcomes.wait(answered + 1)
    assert all(reply.succeeded for reply in outcomes.wait(10))


def test_a_host_that_answers_on_a_kept_connection_has_all_its_places_again(
    engine, new_target, outcomes
) -> None:
    """One refused connection had taken them away; no other is opened where an idle one serves."""
    target = new_target()
    engine.submit([outcomes.call(target.url)])
    outcomes.wait(1)
    target.stop_listening()
    engine.submit(outcomes.call(target.url) for _ in range(2))
    assert sorted(reply.succeeded for reply in outcomes.wait(3)) == [False, True, True]
    with socket.create_server(("127.0.0.1", target.port)) as listener, contextlib.ExitStack() as opened:
        engine.submit([outcomes.call(target.url)])
        outcomes.wait(4)
        target.answer = hold
        engine.submit(outcomes.call(target.url) for _ in range(5))
        listener.settimeout(5)
        for _ in range(4):
            opened.enter_context(listener.accept()[0])


def test_a_slow_host_delays_nobody_else(new_engine, new_target, outcomes) -> None:
    slow, quick = new_target(hold), new_target()
    engine = new_engine(connections_per_host=2, connections_total=4)
    engine.submit(outcomes.call(slow.url) for _ in range(50))
    slow.wait_for_requests(2)
    now_ms = time.time() * 1000
    engine.submit(outcomes.call(quick.url, now_ms + 5 * number) for number in range(40))
    assert all(reply.succeeded for reply in outcomes.wait(40))
    assert len(quick.requests) == 40
    assert (engine.counts.in_flight, engine.counts.waiting) == (2, 48)


def test_waiting_for_a_connection_counts_towards_the_deadline(new_engine, new_target, outcomes) -> None:
    target = new_target(hold)
    engine = new_engine(connections_per_host=1, timeout_ms=500)
    began_at = time.monotonic()
    engine.submit(outcomes.call(target.url) for _ in range(5))
    replies = outcomes.wait(5)
    assert time.monotonic() - began_at < 2, "one after the other they would take 2.5 s"
    assert [reply.was_sent for reply in replies] == [True]
    assert len(outcomes.without_room) == 4
    assert len(target.requests) == 1


def test_a_call_that_waited_has_only_the_rest_of_its_time(new_engine, new_target, outcomes) -> None:
    target = new_target(hold)
    engine = new_engine(connections_per_host=1, timeout_ms=600)
    engine.submit(outcomes.call(target.url) for _ in range(2))
    target.wait_for_requests(1)
    time.sleep(0.3)  # what the second call has to wait
    target.requests[0].connection.sendall(NO_CONTENT)
    reply = outcomes.wait(2)[1]
    assert reply.was_sent
    assert reply.cost_ms < 550


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip("needs 4,096 file descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_more_sockets_than_select_can_watch(new_engine, outcomes) -> None:
    engine = new_engine(connections_per_host=1500, connections_total=5000)
    with socket.create_server(("127.0.0.1", 0), backlog=2000) as listener:
        listener.settimeout(5)
        engine.submit(outcomes.call(f"http://127.0.0.1:{listener.getsockname()[1]}/") for _ in range(1500))
        connections = [listener.accept()[0] for _ in range(1500)]
        wait_until(lambda: engine.counts.in_flight == 1500)
        for connection in connections:
            assert connection.recv(65536).startswith(b"POST / ")
            connection.sendall(NO_CONTENT)
        assert all(reply.succeeded for reply in outcomes.wait(1500))
        for connection in connections:
            connection.close()


@pytest.fixture
def plain_target() -> Iterator[Target]:
    target = Target()
    yield target
    target.close()


@contextlib.contextmanager
def hand_made_targets(number: int) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as opened:
        yield [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]


def answered(engine, outcomes, listener: socket.socket, **request: object) -> socket.socket:
    """Call a target made by hand, and return its end of the connection, open."""
    before = outcomes.ends
    engine.submit([outcomes.call(f"http://127.0.0.1:{listener.getsockname()[1]}/", **request)])
    listener.settimeout(5)
    connection, _ = listener.accept()
    connection.settimeout(5)
    connection.recv(65_536)
    connection.sendall(NO_CONTENT)
    assert outcomes.wait(before + 1)[-1].succeeded
    return connection


def aborted(connection: socket.socket) -> bool:
    """Have the target reset its connection after the last look at it, before the request is written."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
    return True


def test_a_connection_that_takes_nothing_of_a_request_is_replaced(engine, outcomes) -> None:
    with hand_made_targets(1) as (listener,):
        kept = answered(engine, outcomes, listener)
        may_send = iter([lambda: aborted(kept), lambda: True])
        again = answered(engine, outcomes, listener, may_send=lambda: next(may_send)())
        assert next(may_send, None) is None, "asked again for the new connection"
        again.close()


def test_a_target_that_takes_nothing_on_a_new_connection_either_is_an_error_with_nothing_sent(
    engine, outcomes
) -> None:
    with hand_made_targets(1) as (listener,):
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        engine.submit([outcomes.call(url, may_send=lambda: aborted(listener.accept()[0]))])
        (reply,) = outcomes.wait(1)
    assert "closed the connection" in reply.error
    assert (reply.http_status, reply.was_sent) == (None, False)


def test_what_is_held_up_beyond_its_time_is_not_written_any_more(new_engine, outcomes) -> None:
    engine = new_engine(timeout_ms=300)
    with hand_made_targets(1) as (listener,), answered(engine, outcomes, listener) as kept:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        engine.submit([outcomes.call(url, may_send=lambda: time.sleep(0.4) or True)])
        reply = outcomes.wait(2)[-1]
        assert "its time was over" in reply.error
        assert (reply.http_status, reply.was_sent) == (None, False)
        engine.stop(1)
        assert kept.recv(1) == b"", "closed, and nothing written"


def test_a_connection_idle_for_too_long_is_closed(new_engine, outcomes) -> None:
    engine = new_engine(reuse_idle_s=1)
    with hand_made_targets(2) as (first, second), answered(engine, outcomes, first) as stale:
        time.sleep(1.1)
        answered(engine, outcomes, second).close()
        assert stale.recv(1) == b""


@pytest.mark.alone
def test_a_connection_that_is_used_all_the_time_is_given_up_at_its_age(
    new_engine, plain_target, outcomes
) -> None:
    engine = new_engine(connection_age_s=1)
    began_at = time.monotonic()
    while len(plain_target.connections) < 2 and time.monotonic() < began_at + 5:
        before = outcomes.ends
        engine.submit([outcomes.call(plain_target.url)])
        assert outcomes.wait(before + 1)[-1].succeeded
    assert len(plain_target.connections) == 2
    assert 0.7 < time.monotonic() - began_at < 5


def test_no_more_connections_stay_open_than_there_may_be_calls(new_engine, outcomes) -> None:
    engine = new_engine(connections_total=2)
    with hand_made_targets(3) as listeners, contextlib.ExitStack() as opened:
        ends = [opened.enter_context(answered(engine, outcomes, listener)) for listener in listeners]
        assert ends[0].recv(1) == b"", "the one that has idled for longest"
        ends[1].settimeout(0.05)
        with pytest.raises(TimeoutError):
            ends[1].recv(1)


def test_descriptors_are_given_back(new_engine, plain_target, outcomes) -> None:
    before = len(os.listdir("/proc/self/fd"))
    engine = new_engine()
    for number in range(20):
        engine.submit([outcomes.call(plain_target.url)])
        assert outcomes.wait(number + 1)[-1].succeeded
        reset(plain_target.connections[-1])
    assert engine.stop(1) == []
    plain_target.close()
    wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before)


def test_without_descriptors_left_a_call_is_an_error_with_nothing_sent(
    engine, plain_target, outcomes, monkeypatch
) -> None:
    def none_left(*_args: object) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(opening, "socket", SimpleNamespace(**{**vars(socket), "socket": none_left}))
        engine.submit([outcomes.call(plain_target.url)])
        (reply,) = outcomes.wait(1)
    assert "Too many open files" in reply.error
    assert (reply.http_status, reply.was_sent) == (None, False)
    engine.submit([outcomes.call(plain_target.url)])
    assert outcomes.wait(2)[-1].succeeded
    assert engine.counts.in_flight == 0


def test_a_request_of_which_a_part_was_written_is_not_sent_again(new_engine, outcomes) -> None:
    engine = new_engine(timeout_ms=500)
    with hand_made_targets(1) as (listener,), answered(engine, outcomes, listener) as kept:

        def out_of_memory(_fd: int, _events: int) -> None:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")

        for exchange in engine._exchanges._open.values():
            exchange._watch = out_of_memory
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        engine.submit([outcomes.call(url, body=b"x" * 20_000_000)])
        assert kept.recv(5) == b"POST "
        reply = outcomes.wait(2)[-1]
        listener.settimeout(0.1)
        with pytest.raises(TimeoutError):
            listener.accept()
    assert (reply.was_sent, reply.succeeded) == (True, False)
