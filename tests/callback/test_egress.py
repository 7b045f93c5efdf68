"""Where callbacks may connect: judged at the socket, by the address, whatever the URL or DNS says."""

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from threading import Thread

import pytest
import trustme

from tests.callback.calls import Outcomes, egress_of
from tests.callback.name_server import NameServer
from tests.callback.target import NO_CONTENT, Target, answer_with, wait_until
from tests.patience import Deadline
from wangtimer.callback import Reply
from wangtimer.callback.egress import REFUSED
from wangtimer.core.egress.egress_rules import EgressRules, OwnServer, Peer, read_egress

ANYWHERE = "public,0.0.0.0/0,::/0"

# Hosts of URLs, each a way to write loopback, a private or other special address, or one of a cloud's metadata.
LOOPBACK = (
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "127.0.0.1.", "2130706433", "017700000001",
    "0x7f000001", "0x7F000001", "0177.0.0.1", "0x7f.0.0.1", "0x7f.1", "0177.1", "127.0x0.0.0x1",
    "00000177.0.0.0001", "127.0.0.01", "localhost", "LOCALHOST", "localhost.", "a.localhost", "user@127.0.0.1",
    "user:password@127.0.0.1", "good.example@127.0.0.1", "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1", "127．0．0．1",
    "𝟏𝟐𝟕.𝟎.𝟎.𝟏", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "0", "0.0.0.0", "0x0", "00", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]", "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::]",
    "[2001::7f00:1:0:0:8080:fefe]", "[2606:4700::5efe:7f00:1]", "[::1%25lo]", "[::1%lo]", "[fe80::1%25eth0]",
)  # fmt: skip
SPECIAL = (
    "10.0.0.1", "10.1", "012.0.0.1", "0xa.0.0.1", "167772161", "172.16.0.1", "172.31.255.255", "192.168.0.1",
    "192.168.1", "3232235521", "100.64.0.1", "169.254.1.1", "192.0.0.8", "192.0.2.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.255.255.250", "240.0.0.1",
    "255.255.255.255", "4294967295", "[fc00::1]", "[fd12::1]", "[fe80::1]", "[fec0::1]", "[ff02::1]",
    "[100::1]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]", "[::ffff:10.0.0.1]", "[::ffff:c0a8:1]",
    "[64:ff9b::a00:1]", "[2002:a00:1::1]", "[4000::1]",
)  # fmt: skip
METADATA = (
    "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "0xa9.254.0251.254", "169.254.43518",
    "169.16689662", "[fd00:ec2::254]", "[fd00:0ec2:0:0:0:0:0:254]", "168.63.129.16", "0xa83f8110",
    "100.100.100.200", "192.0.0.192", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]",
    "[64:ff9b::169.254.169.254]", "[2002:a9fe:a9fe::]", "[::169.254.169.254]", "１６９.254.169.254",
)  # fmt: skip
SPELLINGS = (*LOOPBACK, *SPECIAL, *METADATA)


class Counting:
    """Accepts and closes connections, and counts them."""

    def __init__(self, listener: socket.socket) -> None:
        self.accepted = 0
        self._listener = listener
        self.port: int = self._listener.getsockname()[1]
        self._thread = Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # closed before
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            connection.close()


@pytest.fixture
def counting() -> Iterator[Counting]:
    """What listens at every address of this machine, of both versions."""
    everywhere = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)
    listening = Counting(everywhere)
    yield listening
    listening.close()


@pytest.fixture
def inside() -> Iterator[Counting]:
    """What listens at 127.0.0.1 alone, which is to be reached by nobody."""
    listening = Counting(socket.create_server(("127.0.0.1", 0), backlog=512))
    yield listening
    listening.close()


@pytest.fixture
def server_context(authority: trustme.CA) -> ssl.SSLContext:
    """Targets have the names of these tests too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "target.example", "*.corp.example").configure_cert(context)
    return context


@pytest.fixture
def name_server() -> Iterator[NameServer]:
    server = NameServer(ttl_s=0)
    yield server
    server.close()


def scheme_of(tls: ssl.SSLContext | None) -> str:
    return "https" if tls else "http"


def assert_refused(reply: Reply) -> None:
    assert (reply.error, reply.is_refused) == (f"not sent: {REFUSED}", True)
    assert (reply.was_sent, reply.http_status, reply.output, reply.connect_ms) == (False, None, "", None)


def test_no_spelling_of_an_address_inside_reaches_it(new_engine, counting, tls) -> None:
    """Those that are no URL, or a name that nobody knows, have their own error. None is connected to."""
    engine = new_engine(egress=egress_of("public"))
    outcomes = Outcomes()
    urls = [f"{scheme_of(tls)}://{spelling}:{counting.port}/" for spelling in SPELLINGS]
    engine.submit(outcomes.call(url) for url in urls)
    outcomes.wait(len(urls), 30)
    ends = {call.request.url: reply for call, reply in outcomes.replies}
    connected = [url for url, reply in ends.items() if reply.was_sent or reply.connect_ms is not None]
    unread = [url for url, reply in ends.items() if not reply.is_refused]
    assert (connected, counting.accepted) == ([], 0)
    assert all(
        "cannot be read" in ends[url].error or "could not resolve" in ends[url].error for url in unread
    )
    assert len(urls) - len(unread) >= 95


def test_the_same_spellings_reach_loopback_where_that_is_allowed(new_engine, counting) -> None:
    """Else the test above would show nothing."""
    engine = new_engine(egress=egress_of(ANYWHERE))
    outcomes = Outcomes()
    urls = [f"http://{spelling}:{counting.port}/" for spelling in LOOPBACK[:38]]
    engine.submit(outcomes.call(url) for url in urls)
    outcomes.wait(len(urls), 30)
    assert counting.accepted >= 35


@pytest.fixture
def beside(tls: ssl.SSLContext | None) -> Iterator[Callable[[int], Target]]:
    """Targets at 127.0.0.2, which these tests allow as if it were public."""
    made: list[Target] = []

    def build(port: int) -> Target:
        made.append(Target(answer_with(CLOSING), tls, ("127.0.0.2", port)))
        return made[-1]

    yield build
    for target in made:
        target.close()


CLOSING = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
ONE_ALLOWED = "public,127.0.0.2"


def test_a_name_that_is_rebound_reaches_nothing_inside(
    new_engine, inside, beside, name_server: NameServer, outcomes, tls
) -> None:
    """It answers with an allowed address first, and with loopback once the first call was made."""
    allowed = beside(inside.port)
    url = f"{scheme_of(tls)}://target.example:{inside.port}/"
    name_server.addresses["target.example"] = ["127.0.0.2"]
    engine = new_engine(egress=egress_of(ONE_ALLOWED), name_servers=[name_server.address])
    engine.submit([outcomes.call(url)])
    assert outcomes.wait(1)[0].succeeded
    # This one's name is looked up now, and perhaps again at its moment.
    engine.submit([outcomes.call(url, time.time() * 1000 + 1_500)])
    name_server.addresses["target.example"] = ["127.0.0.1"]
    deadline = Deadline(10)
    number = 2
    while not outcomes.wait(number)[-1].is_refused and not deadline.is_over:
        engine.submit([outcomes.call(url)])
        number += 1
    assert_refused(outcomes.replies[-1][1])
    assert inside.accepted == 0
    assert allowed.requests


@pytest.mark.parametrize("addresses", [["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"]], ids=str)
def test_of_several_addresses_only_allowed_ones_are_tried(
    new_engine, inside, beside, name_server: NameServer, outcomes, tls, addresses: list[str]
) -> None:
    beside(inside.port)
    name_server.addresses["target.example"] = addresses
    engine = new_engine(egress=egress_of(ONE_ALLOWED), name_servers=[name_server.address])
    engine.submit([outcomes.call(f"{scheme_of(tls)}://target.example:{inside.port}/")])
    assert outcomes.wait(1)[0].succeeded
    assert inside.accepted == 0


def test_where_an_allowed_address_fails_that_is_the_error_and_worth_another_attempt(
    new_engine, inside, name_server: NameServer, outcomes
) -> None:
    inside.close()  # nothing listens at 127.0.0.2 either
    name_server.addresses["target.example"] = ["127.0.0.1", "127.0.0.2"]
    engine = new_engine(egress=egress_of(ONE_ALLOWED), name_servers=[name_server.address])
    engine.submit([outcomes.call(f"http://target.example:{inside.port}/")])
    (reply,) = outcomes.wait(1)
    assert "Connection refused" in reply.error
    assert not reply.is_refused


def test_a_refusal_tells_nothing_of_what_is_there(new_engine, counting, outcomes) -> None:
    """Something listens; nothing listens; nobody answers."""
    engine = new_engine(egress=egress_of("public"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()[1]
    hosts = (f"127.0.0.1:{counting.port}", f"127.0.0.1:{closed}", "10.255.255.1:80", "[fd00::1]:443")
    engine.submit(outcomes.call(f"http://{host}/") for host in hosts)
    replies = outcomes.wait(4)
    for reply in replies:
        assert_refused(reply)
    assert all(reply.cost_ms < 1_000 for reply in replies)


def test_a_name_that_is_allowed_may_lead_inside_but_to_no_metadata(
    new_engine, target, name_server: NameServer, outcomes, tls
) -> None:
    name_server.addresses |= {
        "app.corp.example": ["127.0.0.1"],
        "data.corp.example": ["169.254.169.254"],
        "app.other.example": ["127.0.0.1"],
    }
    engine = new_engine(egress=egress_of("public,*.corp.example"), name_servers=[name_server.address])
    for number, host in enumerate(name_server.addresses, 1):
        engine.submit([outcomes.call(f"{scheme_of(tls)}://{host}:{target.port}/")])
        outcomes.wait(number)
    allowed, metadata, other = (reply for _, reply in outcomes.replies)
    assert allowed.succeeded, allowed
    assert_refused(metadata)
    assert_refused(other)


def test_our_own_servers_are_not_reached_where_loopback_is_allowed(new_engine, counting, outcomes) -> None:
    store = OwnServer("store", "localhost", frozenset({ip_address("127.0.0.1")}), counting.port, is_here=True)
    engine = new_engine(egress=egress_of("public,127.0.0.0/8,::1", store))
    hosts = ("127.0.0.1", "127.0.0.9", "[::1]", "localhost", "2130706433", "[::ffff:127.0.0.1]")
    engine.submit(outcomes.call(f"http://{host}:{counting.port}/") for host in hosts)
    for reply in outcomes.wait(len(hosts)):
        assert_refused(reply)
    assert counting.accepted == 0


def test_a_kept_connection_is_judged_anew_when_the_rules_change(new_engine, target, outcomes) -> None:
    egress = egress_of()
    engine = new_engine(egress=egress)

    def called(number: int) -> Reply:
        engine.submit([outcomes.call(target.url)])
        return outcomes.wait(number)[-1]

    assert called(1).succeeded
    egress.change(EgressRules(read_egress("public,127.0.0.1")))
    assert called(2).succeeded
    assert len(target.connections) == 1
    egress.change(EgressRules(read_egress("public")))
    assert_refused(called(3))
    assert (len(target.connections), len(target.requests)) == (1, 2)
    egress.change(EgressRules(read_egress("public,127.0.0.1")))
    assert called(4).succeeded
    assert len(target.connections) == 2


def test_a_connection_whose_rules_change_while_it_opens_carries_nothing(new_engine, outcomes) -> None:
    """TLS is still being agreed on when the change comes."""
    egress = egress_of()
    engine = new_engine(egress=egress)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        adopted = engine._openings._on_open

        def change_first(connection, opening) -> None:
            egress.change(EgressRules(read_egress("public")))
            adopted(connection, opening)

        engine._openings._on_open = change_first
        engine.submit([outcomes.call(f"http://127.0.0.1:{listener.getsockname()[1]}/")])
        (reply,) = outcomes.wait(1)
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(100) == b""
    assert (reply.error, reply.is_refused, reply.was_sent) == (f"not sent: {REFUSED}", True, False)


def test_a_kept_connection_is_not_judged_while_the_rules_stay(
    new_engine, target, outcomes, monkeypatch, tls
) -> None:
    judged: list[Peer] = []
    judge = EgressRules.refusal

    def note(rules: EgressRules, peer: Peer) -> str:
        judged.append(peer)
        return judge(rules, peer)

    monkeypatch.setattr(EgressRules, "refusal", note)
    engine = new_engine()
    for number in range(1, 11):
        engine.submit([outcomes.call(target.url)])
        assert outcomes.wait(number)[-1].succeeded
    assert judged == [Peer("", "127.0.0.1", target.port, is_tls=tls is not None)] * len(target.connections)


def test_a_redirect_is_not_followed(new_engine, new_target, counting, outcomes) -> None:
    location = f"http://127.0.0.1:{counting.port}/".encode()
    target = new_target(
        answer_with(
            b"HTTP/1.1 307 Temporary Redirect\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n"
        )
    )
    new_engine().submit([outcomes.call(target.url)])
    (reply,) = outcomes.wait(1)
    assert (reply.http_status, reply.succeeded) == (307, False)
    assert counting.accepted == 0


def test_a_refused_call_is_told_to_operators_with_its_rule(new_engine, counting, outcomes) -> None:
    egress = egress_of("public")
    engine = new_engine(egress=egress)
    engine.submit(outcomes.call(f"http://127.0.0.1:{counting.port}/", app="shop") for _ in range(3))
    outcomes.wait(3)
    refusals, left_out = egress.take_refusals()
    ((refusal, times),) = refusals.items()
    assert (refusal.app, refusal.peer.address, times, left_out) == ("shop", "127.0.0.1", 3, 0)
    assert "Loopback" in refusal.rule
    assert not egress.take_refusals()[0]


def test_refusals_of_many_kinds_fill_no_memory() -> None:
    egress = egress_of("public")
    for number in range(1, 3_001):
        egress.allows(Peer("", "127.0.0.1", number), "app")
    refusals, left_out = egress.take_refusals()
    assert (len(refusals), left_out) == (1_000, 2_000)


def test_refused_calls_hold_up_no_others(new_engine, new_target, counting, outcomes) -> None:
    target = new_target(answer_with(NO_CONTENT))
    engine = new_engine(egress=egress_of(f"public,127.0.0.1:{target.port}"))
    engine.submit(outcomes.call(f"http://127.0.0.1:{counting.port}/") for _ in range(500))
    others = Outcomes()
    engine.submit(others.call(target.url) for _ in range(50))
    assert {reply.error for reply in others.wait(50, 30)} == {""}
    wait_until(lambda: outcomes.ends == 500, 30)
    assert counting.accepted == 0
