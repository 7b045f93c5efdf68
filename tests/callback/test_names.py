"""Names and addresses: whoever does not answer holds up nobody else."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.callback.calls import ClockByHand, MachineClock, Outcomes, engine_of
from tests.callback.name_server import NameServer
from tests.callback.target import Target, hang_up, wait_until
from tests.patience import Deadline
from wangtimer.callback import DeliveryEngine, Limits


@pytest.fixture
def name_server() -> Iterator[NameServer]:
    server = NameServer()
    yield server
    server.close()


@pytest.fixture
def plain_target() -> Iterator[Target]:
    target = Target()
    yield target
    target.close()


@pytest.fixture
def naming_engine(name_server: NameServer) -> Iterator[Callable[..., DeliveryEngine]]:
    engines: list[DeliveryEngine] = []

    def build(clock: MachineClock | None = None, server: NameServer = name_server, **limits: int):
        engine = engine_of(clock, None, Limits(**limits), [server.address])
        engines.append(engine)
        engines[-1].start()
        return engines[-1]

    yield build
    for engine in engines:
        if engine._thread.is_alive():
            engine.stop(0)


def hung_urls(number: int) -> list[str]:
    return [f"http://hang{each}.example/" for each in range(number)]


@pytest.mark.parametrize("hung", [40, 200])
def test_names_that_are_never_answered_hold_up_no_others(
    naming_engine, name_server, plain_target, outcomes, hung: int
) -> None:
    engine = naming_engine()
    hanging = Outcomes()
    engine.submit(hanging.call(url, app="a") for url in hung_urls(hung))
    wait_until(lambda: len({name for name, _ in name_server.asked}) >= min(hung, 64))
    for number in range(20):
        name_server.addresses[f"good{number}.example"] = ["127.0.0.1"]
    engine.submit(
        outcomes.call(f"http://good{number}.example:{plain_target.port}/", app="b") for number in range(20)
    )
    assert all(reply.succeeded for reply in outcomes.wait(20))
    assert hanging.ends == 0, "the others were called while these still waited for their names"
    replies = hanging.wait(hung)
    assert not any(reply.was_sent for reply in replies)
    assert all("resolve" in reply.error or "looking up its name" in reply.error for reply in replies)


def test_a_name_is_looked_up_before_the_moment(naming_engine, name_server, plain_target, outcomes) -> None:
    clock = ClockByHand(now_ms=0)
    engine = naming_engine(clock)
    name_server.addresses["target.example"] = ["127.0.0.1"]
    engine.submit([outcomes.call(f"http://target.example:{plain_target.port}/", 1_000)])
    wait_until(lambda: name_server.asked_for("target.example") == 1)
    clock.at_ms = 1_000
    assert outcomes.wait(1)[0].succeeded
    assert name_server.asked_for("target.example") == 1


def test_calls_to_one_host_share_a_look_up(naming_engine, name_server, plain_target, outcomes) -> None:
    engine = naming_engine()
    name_server.addresses["target.example"] = ["127.0.0.1"]
    url = f"http://target.example:{plain_target.port}/"
    engine.submit(outcomes.call(url, app=f"app{number % 5}") for number in range(50))
    assert all(reply.succeeded for reply in outcomes.wait(50))
    for connection in plain_target.connections:
        hang_up(connection)
    engine.submit([outcomes.call(url)])
    assert outcomes.wait(51)[-1].succeeded
    assert name_server.asked_for("target.example") == 1


def test_a_name_nobody_has_is_an_error_with_nothing_sent(naming_engine, outcomes) -> None:
    naming_engine().submit([outcomes.call("http://nobody.example/")])
    (reply,) = outcomes.wait(1)
    assert "could not resolve host nobody.example" in reply.error
    assert (reply.http_status, reply.was_sent, reply.connect_ms) == (None, False, None)


def test_a_target_whose_address_changes_is_called_at_the_new_one(naming_engine, outcomes) -> None:
    name_server = NameServer(ttl_s=0)
    name_server.addresses["target.example"] = ["127.0.0.1"]
    engine = naming_engine(server=name_server, connection_age_s=1)
    old = Target()
    with socket.create_server(("127.0.0.2", old.port)) as new:
        url = f"http://target.example:{old.port}/"
        engine.submit([outcomes.call(url)])
        outcomes.wait(1)
        name_server.addresses["target.example"] = ["127.0.0.2"]
        new.setblocking(False)

        came: list[socket.socket] = []

        def is_over(before: int) -> bool:
            with contextlib.suppress(BlockingIOError):
                came.append(new.accept()[0])
            return bool(came) or outcomes.ends > before

        deadline = Deadline(8)
        while not came and not deadline.is_over:  # one at a time: they go over the kept connection
            before = outcomes.ends
            engine.submit([outcomes.call(url)])
            wait_until(lambda before=before: is_over(before))
        assert came, "called at its old address all the time"
        came[0].close()
    old.close()
    name_server.close()


def test_names_of_this_machine_are_known_without_any_server(outcomes, plain_target) -> None:
    lines = (line.partition("#")[0].split() for line in Path("/etc/hosts").read_text().splitlines())
    names = [name for line in lines if line[:1] == ["127.0.0.1"] for name in line[1:]]
    names += ["localhost", "localhost.", "a.localhost"]
    silent = NameServer()
    silent.close()
    engine = engine_of(name_servers=[silent.address])
    engine.start()
    engine.submit(outcomes.call(f"http://{name}:{plain_target.port}/") for name in names)
    assert [reply.error for reply in outcomes.wait(len(names))] == [""] * len(names)
    engine.stop(1)


def found_at(engine: DeliveryEngine, *addresses: str) -> None:
    """Have each name lead to these."""
    engine._lookups.find = lambda _name, _app, on_found: on_found(addresses, "")


def test_where_one_address_does_not_answer_the_next_one_is_tried(new_engine, outcomes, deaf_address) -> None:
    deaf, port = deaf_address
    with socket.create_server(("127.0.0.1", port)) as listener:
        listener.settimeout(5)
        engine = new_engine()
        found_at(engine, deaf, "127.0.0.1")
        engine.submit([outcomes.call(f"http://target.example:{port}/")])
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(5) == b"POST "
            connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            (reply,) = outcomes.wait(1)
    assert reply.succeeded
    assert reply.connect_ms >= 250


def test_where_addresses_refuse_the_next_one_is_tried_at_once(new_engine, plain_target, outcomes) -> None:
    engine = new_engine()
    found_at(engine, "::1", "127.0.0.8", "127.0.0.7", "127.0.0.1")
    engine.submit([outcomes.call(f"http://target.example:{plain_target.port}/")])
    assert outcomes.wait(1)[0].succeeded


def test_an_address_of_version_6_is_called(new_engine, outcomes) -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with listener:
        listener.settimeout(5)
        port = listener.getsockname()[1]
        new_engine().submit([outcomes.call(f"http://[::1]:{port}/")])
        connection, _ = listener.accept()
        with connection:
            assert f"\r\nHost: [::1]:{port}\r\n".encode() in connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            assert outcomes.wait(1)[0].succeeded


def test_connecting_ends_at_its_time_out(new_engine, outcomes, deaf_address) -> None:
    deaf, port = deaf_address
    new_engine(connect_timeout_ms=200).submit([outcomes.call(f"http://{deaf}:{port}/")])
    (reply,) = outcomes.wait(1)
    assert "timed out" in reply.error
    assert "connecting" in reply.error
    assert 199 <= reply.cost_ms < 2_000
    assert (reply.was_sent, reply.connect_ms) == (False, None)


def test_stopping_ends_look_ups_too(naming_engine, outcomes) -> None:
    engine = naming_engine()
    calls = [outcomes.call(url) for url in hung_urls(3)]
    engine.submit(calls)
    wait_until(lambda: engine.counts.in_flight == 3)
    assert engine.stop(0.1) == calls
    assert outcomes.ends == 0
