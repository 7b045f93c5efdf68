"""Connections that are opened before the moment of the call that uses them."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.callback.calls import egress_of, engine_of
from tests.callback.name_server import NameServer
from tests.callback.target import Target, hang_up, wait_until
from tests.servers.distant import Distant
from wangtimer.callback import Call, DeliveryEngine
from wangtimer.core.egress.egress_rules import EgressRules, read_egress
from wangtimer.testing.doubles import NoLimits

pytestmark = pytest.mark.alone

SOON_MS = 700
ONE_WAY_S = 0.04


def soon(in_ms: float = SOON_MS) -> float:
    return time.time() * 1_000 + in_ms


def late_ms(outcomes) -> list[float]:
    return [reply.sent_at_ms - call.due_at_ms for call, reply in outcomes.replies]


@pytest.fixture
def names() -> Iterator[NameServer]:
    server = NameServer(takes_s=0.02)
    yield server
    server.close()


@pytest.fixture
def far(server_context) -> Iterator[Distant]:
    """A TLS target far away, at the name `localhost`."""
    with ExitStack() as opened:
        target = Target(tls=server_context)
        opened.callback(target.close)
        yield opened.enter_context(Distant(target.port, ONE_WAY_S))


def far_url(far: Distant) -> str:
    return f"https://localhost:{far.port}/"


def test_a_request_leaves_at_its_moment_though_connecting_takes_longer_than_that(
    new_engine, far, names, outcomes
) -> None:
    names.addresses["localhost"] = ["127.0.0.1"]
    engine = new_engine(name_servers=[names.address])
    engine.submit([outcomes.call(far_url(far), soon())])
    (reply,) = outcomes.wait(1)
    assert reply.succeeded, reply.error
    assert 0 <= late_ms(outcomes)[0] < ONE_WAY_S * 1_000, "a handshake takes a way there and one back"
    assert reply.connect_ms == 0, "the call has not waited for it"
    assert (far.accepted, far.open) == (1, 1)


def test_as_many_connections_as_calls_are_opened_ahead_to_a_host(engine, far, outcomes) -> None:
    due_at_ms = soon()
    engine.submit(outcomes.call(far_url(far), due_at_ms) for _ in range(6))
    assert all(reply.succeeded for reply in outcomes.wait(6))
    assert max(late_ms(outcomes)) < ONE_WAY_S * 1_000
    assert far.accepted == 6


def test_calls_one_after_the_other_share_what_was_opened_ahead(engine, target, outcomes) -> None:
    due_at_ms = soon()
    engine.submit(outcomes.call(target.url, due_at_ms + 100 * number) for number in range(3))
    assert all(reply.succeeded for reply in outcomes.wait(3))
    assert len(target.connections) == 1


def test_a_kept_connection_is_used_and_none_is_opened(engine, target, outcomes) -> None:
    engine.submit([outcomes.call(target.url)])
    outcomes.wait(1)
    engine.submit([outcomes.call(target.url, soon())])
    outcomes.wait(2)
    assert len(target.connections) == 1


def test_a_kept_connection_that_grows_stale_before_the_moment_is_replaced_ahead(
    new_engine, far, outcomes
) -> None:
    engine = new_engine(reuse_idle_s=1)
    engine.submit([outcomes.call(far_url(far))])
    outcomes.wait(1)
    engine.submit([outcomes.call(far_url(far), soon(1_200))])
    assert outcomes.wait(2)[-1].connect_ms == 0
    assert late_ms(outcomes)[-1] < ONE_WAY_S * 1_000
    assert far.accepted == 2


def test_a_resting_engine_is_woken_in_time_for_a_call_to_come(engine, target, far, outcomes) -> None:
    """While a connection idles, the engine rests for up to a second."""
    engine.submit([outcomes.call(target.url)])
    outcomes.wait(1)
    wait_until(lambda: 600 < engine._inbox._rests_until_ms - time.time() * 1_000 < 2_000)
    engine.submit([outcomes.call(far_url(far), engine._inbox._rests_until_ms + 50)])
    outcomes.wait(2)
    assert late_ms(outcomes)[1] < ONE_WAY_S * 1_000


def test_no_connection_is_opened_long_before_the_moment(engine, plain_target, outcomes) -> None:
    engine.submit([outcomes.call(plain_target.url, soon(900))])
    time.sleep(0.4)
    assert not plain_target.connections
    wait_until(lambda: len(plain_target.connections) == 1, 0.3)
    assert not plain_target.requests
    outcomes.wait(1)


def test_a_target_that_took_long_lately_is_opened_earlier(new_engine, server_context, outcomes) -> None:
    target = Target(tls=server_context)
    with Distant(target.port, 0.25) as far:
        engine = new_engine(reuse_idle_s=1)
        engine.submit([outcomes.call(far_url(far))])
        outcomes.wait(1)
        wait_until(lambda: not far.open)
        engine.submit([outcomes.call(far_url(far), soon(900))])
        outcomes.wait(2)
        assert late_ms(outcomes)[-1] < 100
    target.close()


@pytest.fixture
def plain_target() -> Iterator[Target]:
    target = Target()
    yield target
    target.close()


def test_what_was_opened_and_not_used_is_closed(new_engine, plain_target, outcomes) -> None:
    engine = new_engine(reuse_idle_s=1)
    engine.submit([outcomes.call(plain_target.url, soon(), may_send=lambda: False)])
    outcomes.wait(1)
    (connection,) = plain_target.connections
    assert not is_closed(connection), "another call could use it"
    wait_until(lambda: is_closed(connection), 3)
    assert not plain_target.requests


def is_closed(connection: socket.socket) -> bool:
    return connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) == b"" if readable(connection) else False


def readable(connection: socket.socket) -> bool:
    try:
        connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def test_what_was_opened_for_a_call_that_is_not_made_serves_another(engine, plain_target, outcomes) -> None:
    due_at_ms = soon()
    engine.submit([outcomes.call(plain_target.url, due_at_ms, may_send=lambda: False)])
    engine.submit([outcomes.call(plain_target.url, due_at_ms + 100)])
    assert outcomes.wait(2)[-1].succeeded
    assert len(plain_target.connections) == 1


def test_a_connection_that_its_target_closes_before_the_moment_is_opened_again(
    engine, new_target, outcomes
) -> None:
    target = new_target()
    engine.submit([outcomes.call(target.url, soon())])
    wait_until(lambda: len(target.connections) == 1)
    wait_until(lambda: any(engine._exchanges._idle.values()))
    hang_up(target.connections[0])
    (reply,) = outcomes.wait(1)
    assert reply.succeeded, reply.error
    assert len(target.connections) == 2


def test_what_fails_ahead_is_tried_again_at_the_moment(engine, outcomes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    due_at_ms = soon()
    engine.submit([outcomes.call(f"http://127.0.0.1:{port}/", due_at_ms)])
    time.sleep((due_at_ms - 150) / 1_000 - time.time())
    assert not outcomes.ends
    target = Target(address=("127.0.0.1", port))
    assert outcomes.wait(1)[0].succeeded
    assert len(target.connections) == 1
    target.close()


def test_nobody_is_told_of_a_failure_before_the_moment(engine, outcomes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        url = f"http://127.0.0.1:{found.getsockname()[1]}/"
    call = outcomes.call(url, soon(500))
    engine.submit([call])
    (reply,) = outcomes.wait(1)
    assert "could not connect" in reply.error
    assert time.time() * 1_000 >= call.due_at_ms
    health = engine.health_of(call.request.way)
    assert health is not None
    assert health.failures == 1


def test_a_call_goes_on_with_the_opening_that_is_under_way(new_engine, server_context, outcomes) -> None:
    target = Target(tls=server_context)
    with Distant(target.port, 0.3) as far:
        engine = new_engine()
        engine.submit([outcomes.call(far_url(far), soon())])
        (reply,) = outcomes.wait(1)
    target.close()
    assert reply.succeeded, reply.error
    assert far.accepted == 1
    assert reply.connect_ms is not None
    assert 100 < reply.connect_ms < 500, "of 600 ms, those after the moment"
    assert reply.connect_ms <= reply.cost_ms


def test_a_call_that_goes_on_with_an_opening_has_its_own_time_to_connect(
    new_engine, deaf_address, outcomes
) -> None:
    engine = new_engine(connect_timeout_ms=600)
    call = outcomes.call("http://{}:{}/".format(*deaf_address), soon())
    engine.submit([call])
    (reply,) = outcomes.wait(1)
    assert "timed out after" in reply.error
    assert 550 < reply.cost_ms < 1_000


def test_a_failing_host_is_not_opened_ahead(engine, new_target, outcomes) -> None:
    target = new_target(lambda received: hang_up(received.connection))
    for number in range(5):
        engine.submit([outcomes.call(target.url)])
        outcomes.wait(number + 1)
        time.sleep(0.06)
    assert engine.failing()
    before = len(target.connections)
    due_at_ms = soon(500)
    engine.submit(outcomes.call(target.url, due_at_ms) for _ in range(5))
    time.sleep(due_at_ms / 1_000 - time.time() - 0.02)
    assert len(target.connections) == before


def test_one_connection_is_opened_ahead_where_a_limit_may_hold_calls_back(
    new_engine, plain_target, outcomes
) -> None:
    class Limited(NoLimits):
        def may_begin(self, *_: object) -> bool:
            return False

    engine = new_engine(permits=Limited())
    due_at_ms = soon(500)
    engine.submit(outcomes.call(plain_target.url, due_at_ms) for _ in range(5))
    outcomes.wait(5)
    assert len(plain_target.connections) == 1


def test_rules_that_change_before_the_moment_count_for_it(new_engine, plain_target, outcomes) -> None:
    egress = egress_of()
    engine = new_engine(egress=egress)
    engine.submit([outcomes.call(plain_target.url, soon(500))])
    wait_until(lambda: len(plain_target.connections) == 1)
    egress.change(EgressRules(read_egress("public")))
    (reply,) = outcomes.wait(1)
    assert reply.is_refused
    assert not plain_target.requests
    refused, _ = egress.take_refusals()
    assert refused.total() == 1


def test_what_is_refused_ahead_is_noted_once(new_engine, plain_target, outcomes) -> None:
    egress = egress_of("public")
    engine = new_engine(egress=egress)
    engine.submit([outcomes.call(plain_target.url, soon(500))])
    (reply,) = outcomes.wait(1)
    assert reply.is_refused
    refused, _ = egress.take_refusals()
    assert refused.total() == 1
    assert not plain_target.connections


def test_apps_share_no_connection_that_was_opened_ahead(engine, plain_target, outcomes) -> None:
    due_at_ms = soon()
    engine.submit(outcomes.call(plain_target.url, due_at_ms, app=app) for app in "ab")
    outcomes.wait(2)
    assert len({received.connection for received in plain_target.requests}) == 2


@pytest.fixture
def silent_hosts() -> Iterator[Callable[[int], str]]:
    """Hosts that accept connections and never shake hands: each opening stays under way."""
    with socket.create_server(("0.0.0.0", 0), backlog=4_096) as listener:
        port = listener.getsockname()[1]
        yield lambda number: f"https://127.1.{number // 250}.{number % 250 + 1}:{port}/"


def under_way(engine: DeliveryEngine) -> int:
    return len(engine._openings)


def test_an_engine_opens_no_more_ahead_than_a_part_of_its_connections(
    new_engine, silent_hosts, outcomes
) -> None:
    engine = new_engine(connections_total=400)
    due_at_ms = soon(1_000)
    engine.submit(
        outcomes.call(silent_hosts(number), due_at_ms, app=f"app-{number % 20}") for number in range(3_000)
    )
    most = 0
    while time.time() * 1_000 < due_at_ms - 20:
        most = max(most, under_way(engine))
        time.sleep(0.005)
    assert 90 <= most <= 100
    engine.stop(0)


def test_an_app_whose_openings_hang_leaves_others_theirs(new_engine, silent_hosts, far, outcomes) -> None:
    engine = new_engine(connections_total=400, reuse_idle_s=1)
    engine.submit([outcomes.call(far_url(far), app="other")])
    outcomes.wait(1)
    wait_until(lambda: not far.open)  # how long opening took is known: the next one begins after the hog's
    due_at_ms = soon(1_000)
    engine.submit(outcomes.call(silent_hosts(number), due_at_ms, app="hog") for number in range(500))
    engine.submit([outcomes.call(far_url(far), due_at_ms - 50, app="other")])
    outcomes.wait(2)
    assert late_ms(outcomes)[1] < ONE_WAY_S * 1_000
    engine.stop(0)


class Step:
    """An opening whose handshake has a step to do."""

    is_shaking_hands = is_over = False

    def __init__(self, name: str, placed: object, done: list[str]) -> None:
        self.placed = placed
        self._name = name
        self._done = done

    def shake_hands(self) -> None:
        self._done.append(self._name)


def test_handshakes_of_calls_that_are_due_go_first() -> None:
    done: list[str] = []
    openings = engine_of()._openings
    openings._running[object()] = None
    ahead, taken_over = (Step(name, None, done) for name in ("ahead", "taken over"))
    for step in (ahead, taken_over, Step("due", object(), done)):
        openings.queue_handshake(step)
    taken_over.placed = object()
    openings.act_ahead()
    assert not done, "one of a call that is due waits"
    openings.act()
    openings.act_ahead()
    openings.act_ahead()
    assert done == ["due", "ahead"], "what a call has taken over stands in its queue"


def test_a_call_that_is_due_goes_before_what_is_done_for_calls_to_come(new_engine, outcomes, target) -> None:
    engine = new_engine()
    engine.submit([outcomes.call(target.url)])
    outcomes.wait(1)
    steps: list[float] = []
    engine._openings.act_ahead = lambda: steps.append(engine._to_come[0][0] - time.time() * 1_000)
    engine._openings._handshakes_ahead.append(object())
    engine.submit(outcomes.call(target.url, soon(300) + 20 * number) for number in range(20))
    outcomes.wait(15)
    engine._openings._handshakes_ahead.clear()
    assert len(steps) > 100
    in_the_way = sum(in_ms < 2 for in_ms in steps)
    assert in_the_way < len(steps) / 50, "this thread may be held up after it has looked"


def test_a_stop_opens_nothing_more(engine, plain_target, outcomes) -> None:
    call: Call = outcomes.call(plain_target.url, soon(500))
    engine.submit([call])
    wait_until(lambda: bool(engine._ahead._expected))
    assert engine.stop(1) == [call]
    time.sleep(0.3)
    assert not plain_target.connections
