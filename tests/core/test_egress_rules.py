"""What the rules of egress allow: every special network in every embedding, and how the rules are written."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK, EgressRules, OwnServer, Peer, read_egress
from wangtimer.core.egress.embedded_addresses import all_readings, judged_as
from wangtimer.core.egress.special_networks import METADATA, SPECIAL_V4, SPECIAL_V6

ANYWHERE = "public,0.0.0.0/0,::/0"


def refusal(rules: str, address: str, port: int = 80, name: str = "", *own_servers: OwnServer) -> str:
    return EgressRules(read_egress(rules), own_servers).refusal(Peer(name, address, port))


def v6(bits: int) -> str:
    return str(IPv6Address(bits))


EMBEDDINGS = {
    "as it is": lambda v4: str(IPv4Address(v4)),
    "mapped": lambda v4: v6(0xFFFF << 32 | v4),
    "compatible": lambda v4: v6(v4),
    "translated": lambda v4: v6(0xFFFF << 48 | v4),
    "NAT64": lambda v4: v6(0x64FF9B << 96 | v4),
    "local NAT64": lambda v4: v6(0x64FF9B0001 << 80 | v4),
    "6to4": lambda v4: v6(0x2002 << 112 | v4 << 80 | 1),
    "Teredo's client": lambda v4: v6(0x20010000 << 96 | 0x08080808 << 64 | v4 ^ 0xFFFFFFFF),
    "Teredo's server": lambda v4: v6(0x20010000 << 96 | v4 << 64 | 0x08080808 ^ 0xFFFFFFFF),
    "ISATAP": lambda v4: v6(0x2606470000000000 << 64 | 0x00005EFE << 32 | v4),
    "ISATAP of a unique address": lambda v4: v6(0x2606470000000000 << 64 | 0x02005EFE << 32 | v4),
}

special_v4 = st.sampled_from(SPECIAL_V4).flatmap(
    lambda row: st.integers(int(row.network.network_address), int(row.network.broadcast_address))
)
special_v6 = st.sampled_from(SPECIAL_V6).flatmap(
    lambda row: st.integers(int(row.network.network_address), int(row.network.broadcast_address))
)


@pytest.mark.parametrize("embedded", EMBEDDINGS.values(), ids=EMBEDDINGS)
@given(v4=special_v4, port=st.integers(1, 65_535))
def test_an_address_of_a_special_network_is_refused_in_each_embedding(embedded, v4: int, port: int) -> None:
    assert refusal("public", embedded(v4), port)


@given(v6_bits=special_v6)
def test_an_address_of_a_special_network_of_version_6_is_refused_unless_it_stands_for_a_public_one(
    v6_bits: int,
) -> None:
    address = IPv6Address(v6_bits)
    stands_for_v4 = address not in judged_as(address)
    assert bool(refusal("public", str(address))) or stands_for_v4


@pytest.mark.parametrize(
    ("embedding", "is_allowed"),
    [
        ("as it is", True),
        ("mapped", True),
        ("NAT64", True),
        ("6to4", True),
        ("ISATAP", True),
        ("compatible", False),
        ("translated", False),
        ("local NAT64", False),
        ("Teredo's client", False),
    ],
)
def test_a_public_address_is_allowed_in_embeddings_that_are_in_use(embedding: str, is_allowed: bool) -> None:
    assert (refusal("public", EMBEDDINGS[embedding](0x08080808)) == "") is is_allowed


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "172.15.255.255",
        "172.32.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "2606:4700::1111",
        "2a00:1450:4001::200e",
        "223.255.255.255",
    ],
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert refusal("public", address) == ""


@pytest.mark.parametrize("embedded", EMBEDDINGS.values(), ids=EMBEDDINGS)
@pytest.mark.parametrize("metadata", sorted(map(str, (one for one in METADATA if one.version == 4))))
def test_metadata_is_refused_whatever_is_allowed(embedded, metadata: str) -> None:
    address = embedded(int(IPv4Address(metadata)))
    assert "metadata" in refusal(ANYWHERE, address)
    assert "metadata" in refusal(f"{ANYWHERE},metadata.corp", address, name="metadata.corp")


@pytest.mark.parametrize("metadata", sorted(map(str, (one for one in METADATA if one.version == 6))))
def test_metadata_of_version_6_is_refused_whatever_is_allowed(metadata: str) -> None:
    assert "metadata" in refusal(ANYWHERE, metadata)


@pytest.mark.parametrize(
    "address", ["fd00:c1::a9fe:a9fe", "169.254.42.42", "fd00:42::42", "::ffff:169.254.42.42"]
)
def test_metadata_of_oracle_and_scaleway_is_refused_where_its_network_is_allowed(address: str) -> None:
    assert "metadata" in refusal("public,169.254.0.0/16,fc00::/7", address)


def test_a_local_nat64_of_48_bits_hides_no_metadata() -> None:
    high, low = 0xA9FE, 0xA9FE
    address = v6(0x64FF9B0001 << 80 | high << 64 | low << 40)
    assert IPv4Address("169.254.169.254") in all_readings(ip_address(address))
    assert "metadata" in refusal(ANYWHERE, address)


def test_what_is_allowed_beside_counts_for_the_address_inside() -> None:
    assert refusal("public,10.0.0.0/8", "::ffff:10.1.2.3") == ""
    assert refusal("public,10.0.0.0/8", "64:ff9b::10.1.2.3") == ""
    assert "Private-Use" in refusal("public,64:ff9b:1::/48", "64:ff9b:1::10.1.2.3")
    assert refusal("public,64:ff9b:1::/48,10.0.0.0/8", "64:ff9b:1::10.1.2.3") == ""


@pytest.mark.parametrize(
    ("rules", "address", "port", "name", "is_allowed"),
    [
        ("public", "8.8.8.8", 25, "", True),
        ("public:443,public:80", "8.8.8.8", 443, "", True),
        ("public:443,public:80", "8.8.8.8", 25, "", False),
        ("10.0.0.0/8", "8.8.8.8", 443, "", False),
        ("10.0.0.0/8", "10.9.8.7", 443, "", True),
        ("public, 10.0.0.0/8:8000-8999", "10.9.8.7", 8000, "", True),
        ("public, 10.0.0.0/8:8000-8999", "10.9.8.7", 8999, "", True),
        ("public, 10.0.0.0/8:8000-8999", "10.9.8.7", 7999, "", False),
        ("192.168.7.9", "192.168.7.9", 1, "", True),
        ("192.168.7.9", "192.168.7.10", 1, "", False),
        ("fd00:1::/64", "fd00:1::9", 1, "", True),
        ("[fd00:1::/64]:443", "fd00:1::9", 443, "", True),
        ("[fd00:1::/64]:443", "fd00:1::9", 80, "", False),
        ("PUBLIC", "8.8.8.8", 1, "", True),
        ("*.corp.example", "10.0.0.1", 1, "a.corp.example", True),
        ("*.corp.example", "10.0.0.1", 1, "a.b.corp.example.", True),
        ("*.corp.example", "10.0.0.1", 1, "A.CORP.example", True),
        ("*.corp.example", "10.0.0.1", 1, "corp.example", False),
        ("*.corp.example", "10.0.0.1", 1, "evilcorp.example", False),
        ("*.corp.example", "10.0.0.1", 1, "a.corp.example.evil", False),
        ("*.corp.example", "10.0.0.1", 1, "", False),
        ("app.corp.example:8080", "10.0.0.1", 8080, "app.corp.example", True),
        ("app.corp.example:8080", "10.0.0.1", 8081, "app.corp.example", False),
        ("my_service", "10.0.0.1", 1, "my_service", True),
        ("*.bücher.example", "10.0.0.1", 1, "a.xn--bcher-kva.example", True),
        ("public,*.corp.example", "10.0.0.1", 1, "other.example", False),
    ],
)  # fmt: skip
def test_rules_allow_what_they_name_and_nothing_else(
    rules: str, address: str, port: int, name: str, is_allowed: bool
) -> None:
    assert (refusal(rules, address, port, name) == "") is is_allowed


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("", "nothing is allowed"),
        (" , ", "nothing is allowed"),
        ("public,10.0.0.1/8", "write 10.0.0.0/8"),
        ("public,fd00::1/8", "write fd00::/8"),
        ("public,*", "0.0.0.0/0"),
        ("10.0.0.0/8:0", "ports"),
        ("10.0.0.0/8:443-80", "ports"),
        ("public:65536", "ports"),
        ("public:", "ports"),
        ("http://a.example", "ports"),
        ("300.1.1.1", "no network"),
        ("0x7f.1", "no network"),
        ("127.1", "no network"),
        ("10.0.0.0/33", "no network"),
        ("fd00::/8:443", "[fd00::/8]:443"),
        ("fe80::1%eth0", "zone"),
        ("a.*.example", "no name"),
        ("a b", "no name"),
        ("-a.example", "no name"),
        (f"{'a' * 64}.example", "no name"),
        ("::ffff:10.0.0.0/104", "IPv4 network"),
        ("64:ff9b::/96", "IPv4 network"),
    ],
)  # fmt: skip
def test_rules_that_cannot_be_read_say_which_and_what_to_write(rules: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        read_egress(rules)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_allowed_by_its_rules(address: str) -> None:
    """`::1` is in the network of addresses with IPv4 addresses in them, and has none."""
    assert refusal("public", address)
    assert refusal(PUBLIC_AND_LOOPBACK, address) == ""


@pytest.mark.parametrize("address", ["", "localhost", "127.1", "fe80::1%eth0", "1.2.3.4.5"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert refusal(ANYWHERE, address)


def test_our_own_servers_are_refused_whatever_is_allowed() -> None:
    sql = OwnServer("SQL", "mysql.internal", frozenset({ip_address("10.0.0.5"), ip_address("fd00::5")}), 3306)
    for address in ("10.0.0.5", "::ffff:10.0.0.5", "64:ff9b::10.0.0.5", "fd00::5"):
        assert refusal(ANYWHERE, address, 3306, "", sql) == "our own server: SQL"
    assert refusal(ANYWHERE, "10.0.0.6", 3306, "mysql.internal", sql) == "our own server: SQL"
    assert refusal(f"{ANYWHERE},*.internal", "10.0.0.5", 3306, "other.internal", sql) == "our own server: SQL"
    assert refusal(ANYWHERE, "10.0.0.5", 443, "mysql.internal", sql) == ""
    assert refusal(ANYWHERE, "10.0.0.6", 3306, "", sql) == ""


def test_a_server_of_this_machine_is_refused_by_each_of_its_addresses() -> None:
    store = OwnServer("store", "localhost", frozenset({ip_address("127.0.0.1")}), 6379, is_here=True)
    for address in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "2002:7f00:1::"):
        assert refusal(ANYWHERE, address, 6379, "", store) == "our own server: store"
    assert refusal(ANYWHERE, "127.0.0.1", 6380, "", store) == ""


def test_the_table_has_each_network_that_python_calls_not_global() -> None:
    """Python's list is the oracle in one direction; ours is longer."""
    for text in ("0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/29",
                 "192.0.0.170/31", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
                 "203.0.113.0/24", "240.0.0.0/4", "255.255.255.255/32", "::1/128", "::/128", "100::/64",
                 "2001::/23", "2001:2::/48", "2001:db8::/32", "2001:10::/28", "fc00::/7", "fe80::/10"):  # fmt: skip
        network = ip_network(text)
        rows = SPECIAL_V4 if network.version == 4 else SPECIAL_V6
        assert any(network.subnet_of(row.network) for row in rows), text


@pytest.mark.parametrize("slip", ["pubic", "publc,10.0.0.0/8", "10.0.0.0/8, publlic"])
def test_a_slip_in_public_is_no_name(slip: str) -> None:
    with pytest.raises(ValueError, match=r"did you mean public\?"):
        read_egress(slip)


@pytest.mark.parametrize("name", ["republic", "public.example", "*.public", "publisher:80"])
def test_a_name_that_is_another_word_is_one(name: str) -> None:
    assert read_egress(name)[0].name
