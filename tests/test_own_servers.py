"""Which servers are our own, from the settings, and at which addresses."""

import socket
from ipaddress import ip_address

import pytest

from wangtimer.base.own_servers import (
    addresses_of,
    egress_rules_of,
    found_servers,
    is_of_this_machine,
    named_servers,
    require_egress,
)
from wangtimer.base.settings import Settings
from wangtimer.core.egress.egress_rules import EgressRules, OwnServer, Peer, read_egress
from wangtimer.core.errors import BadSetting

FAR = Settings(
    database_url="mysql+mysqldb://u:p@db.internal/wangtimer",
    store_url="redis://:p@10.0.0.7:6380/0",
    broker_url="amqp://broker.internal//;amqps://[fd00::9]//",
    http_bind="0.0.0.0:5000,[fd00::8]:5001,unix:/run/web.sock",
    http_hosts="web, timers.internal,*",
    egress="public,0.0.0.0/0,::/0",
    own_servers="Flower:5555, [fd00::9]:33060",
)


def told(servers: tuple[OwnServer, ...]) -> list[tuple[str, str, list[str], int, bool]]:
    return [(one.what, one.name, sorted(map(str, one.addresses)), one.port, one.is_here) for one in servers]


def test_each_server_of_the_settings_is_ours() -> None:
    assert told(named_servers(FAR)) == [
        ("SQL", "db.internal", [], 3306, False),
        ("store", "", ["10.0.0.7"], 6380, False),
        ("broker", "broker.internal", [], 5672, False),
        ("broker", "", ["fd00::9"], 5671, False),
        ("API", "", [], 5000, True),
        ("API", "", ["fd00::8"], 5001, False),
        ("stream of consumers", "", ["127.0.0.1"], 5001, True),
        ("API", "web", [], 5000, False),
        ("API", "web", [], 5001, False),
        ("API", "timers.internal", [], 5000, False),
        ("API", "timers.internal", [], 5001, False),
        ("Flower:5555", "flower", [], 5555, False),
        ("[fd00::9]:33060", "", ["fd00::9"], 33060, False),
    ]


def test_files_and_sockets_are_no_servers() -> None:
    settings = Settings(
        database_url="sqlite:///a.db",
        store_url="unix:///run/valkey.sock?db=0",
        broker_url="redis+socket:///run/valkey.sock?virtual_host=1",
        http_bind="unix:/run/web.sock",
        stream_bind="unix:/run/stream.sock",
    )
    assert named_servers(settings) == ()
    by_socket = Settings(
        database_url="mysql://u@localhost/d?unix_socket=/run/m.sock",
        http_bind="unix:/a",
        stream_bind="unix:/b",
        broker_url="redis:///1",
    )
    assert told(named_servers(by_socket)) == [
        ("store", "", ["127.0.0.1"], 6379, True),
        ("broker", "localhost", ["127.0.0.1", "::1"], 6379, True),
    ]


def test_names_are_looked_up_and_keep_what_they_had_where_that_fails() -> None:
    known = {"db.internal": frozenset({ip_address("10.0.0.5"), ip_address("fd00::5")})}
    first = found_servers(named_servers(FAR), lambda name: known.get(name, frozenset()))
    assert told(first)[0] == ("SQL", "db.internal", ["10.0.0.5", "fd00::5"], 3306, False)
    assert told(first)[2] == ("broker", "broker.internal", [], 5672, False)
    assert found_servers(first, lambda _name: frozenset()) == first
    moved = found_servers(first, lambda _name: frozenset({ip_address("127.0.0.1")}))
    assert told(moved)[0] == ("SQL", "db.internal", ["127.0.0.1"], 3306, True)


@pytest.mark.parametrize(
    ("address", "port", "is_allowed"),
    [
        ("10.0.0.5", 3306, False),
        ("10.0.0.5", 443, True),
        ("10.0.0.7", 6380, False),
        ("::ffff:10.0.0.7", 6380, False),
        ("127.0.0.1", 5000, False),
        ("127.8.8.8", 5000, False),
        ("::1", 5000, False),
        ("0.0.0.0", 5000, False),
        ("10.0.0.9", 5000, True),
        ("fd00::8", 5001, False),
        ("fd00::9", 33060, False),
        ("fd00::9", 33061, True),
    ],
)
def test_no_call_reaches_one_of_them(address: str, port: int, is_allowed: bool) -> None:
    found = found_servers(
        named_servers(FAR), lambda name: frozenset({ip_address("10.0.0.5")} if "db" in name else ())
    )
    assert (egress_rules_of(FAR, found).refusal(Peer("", address, port)) == "") is is_allowed


def test_an_address_of_this_machine_is_one_that_a_socket_can_be_bound_to() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing; chooses the address that packets would leave from
        own = ip_address(probe.getsockname()[0])
    assert is_of_this_machine(own)
    assert all(is_of_this_machine(ip_address(one)) for one in ("127.0.0.1", "127.9.9.9", "::1", "0.0.0.0"))
    assert not any(is_of_this_machine(ip_address(one)) for one in ("192.0.2.1", "8.8.8.8", "2001:db8::1"))
    here = OwnServer("API", "", frozenset(), 5000, is_here=True)
    rules = EgressRules(read_egress("public,0.0.0.0/0"), (here,), is_of_this_machine)
    assert rules.refusal(Peer("", str(own), 5000)) == "our own server: API"
    assert rules.refusal(Peer("", str(own), 5001)) == ""


def test_names_are_looked_up_as_this_machine_is_configured() -> None:
    assert ip_address("127.0.0.1") in addresses_of("localhost")
    assert addresses_of("no-such-name.invalid") == frozenset()
    assert addresses_of("a" * 70) == frozenset()


def test_without_a_choice_one_line_says_what_to_write() -> None:
    with pytest.raises(BadSetting, match="WANGTIMER_EGRESS=public") as caught:
        require_egress(Settings(egress=""))
    assert "\n" not in str(caught.value)
    require_egress(Settings(egress="public"))


@pytest.mark.parametrize(
    "servers", ["flower", "flower:", "flower:0", "http://flower:5555", "a:1/b", "u@a:1", "a:1:2", "a:x"]
)
def test_a_server_without_a_name_and_a_port_stops_the_start(servers: str) -> None:
    with pytest.raises(ValueError, match="write servers as flower:5555"):
        Settings(own_servers=f"mysql:33060,{servers}")
