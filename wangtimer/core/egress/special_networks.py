"""The networks that are not the public internet, by the names of IANA's registries.

Python's own answer (`ipaddress.is_global` of 3.11) calls `fec0::1`, `64:ff9b::7f00:1`, `2002:7f00:1::` and multicast
global. So the rows are ours, as the registries had them in November 2026.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class SpecialNetwork(NamedTuple):
    """A row: its network, and the name that the registry gives it."""

    network: Network
    name: str


def _rows(*rows: tuple[str, str]) -> tuple[SpecialNetwork, ...]:
    return tuple(SpecialNetwork(ip_network(network), name) for network, name in rows)


# iana.org/assignments/iana-ipv4-special-registry (RFC 6890) and .../multicast-addresses (RFC 5771). Left out are rows
# within other rows, and those that are globally reachable: AS112 and AMT. The few reachable addresses of 192.0.0.0/24
# (anycast of PCP and TURN) are no targets of HTTP.
SPECIAL_V4 = _rows(
    ("0.0.0.0/8", "This network"),
    ("10.0.0.0/8", "Private-Use"),
    ("100.64.0.0/10", "Shared Address Space"),
    ("127.0.0.0/8", "Loopback"),
    ("169.254.0.0/16", "Link Local"),
    ("172.16.0.0/12", "Private-Use"),
    ("192.0.0.0/24", "IETF Protocol Assignments"),
    ("192.0.2.0/24", "Documentation (TEST-NET-1)"),
    ("192.88.99.0/24", "Deprecated (6to4 Relay Anycast)"),
    ("192.168.0.0/16", "Private-Use"),
    ("198.18.0.0/15", "Benchmarking"),
    ("198.51.100.0/24", "Documentation (TEST-NET-2)"),
    ("203.0.113.0/24", "Documentation (TEST-NET-3)"),
    ("224.0.0.0/4", "Multicast"),
    ("240.0.0.0/4", "Reserved"),
)

# .../iana-ipv6-special-registry, then .../ipv6-address-space (RFC 4291): all but 2000::/3 is no global unicast.
# 2001::/23 has Teredo, benchmarking and ORCHID in it; of its reachable rows none is a target of HTTP.
SPECIAL_V6 = _rows(
    ("::/128", "Unspecified Address"),
    ("::1/128", "Loopback Address"),
    ("64:ff9b:1::/48", "IPv4-IPv6 Translat. (local use)"),
    ("100::/64", "Discard-Only Address Block"),
    ("100:0:0:1::/64", "Dummy IPv6 Prefix"),
    ("2001::/32", "TEREDO"),
    ("2001:2::/48", "Benchmarking"),
    ("2001:10::/28", "Deprecated (previously ORCHID)"),
    ("2001::/23", "IETF Protocol Assignments"),
    ("2001:db8::/32", "Documentation"),
    ("3fff::/20", "Documentation"),
    ("5f00::/16", "Segment Routing (SRv6) SIDs"),
    ("fc00::/7", "Unique-Local"),
    ("fe80::/10", "Link-Local Unicast"),
    ("fec0::/10", "Deprecated (Site-Local)"),
    ("ff00::/8", "Multicast"),
    ("::/3", "Reserved by IETF"),
    ("4000::/2", "Reserved by IETF"),
    ("8000::/1", "Reserved by IETF"),
)

# Where clouds tell a machine its credentials: all of AWS, Azure, Google and most others; AWS by IPv6; Azure's agent;
# Alibaba; Oracle; AWS's containers (ECS and EKS) in both families; Tencent; Google by IPv6; Oracle by IPv6; Scaleway in
# both families.
METADATA = frozenset(
    ip_address(address)
    for address in (
        "169.254.169.254",
        "fd00:ec2::254",
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "169.254.170.2",
        "169.254.170.23",
        "fd00:ec2::23",
        "169.254.0.23",
        "fd20:ce::254",
        "fd00:c1::a9fe:a9fe",
        "169.254.42.42",
        "fd00:42::42",
    )
)


@lru_cache(maxsize=4_096)  # up to 5 µs, and most calls go to few addresses
def special_network_of(address: Address) -> SpecialNetwork | None:
    """Return the first row that has the address; None for a public one."""
    rows = SPECIAL_V4 if isinstance(address, IPv4Address) else SPECIAL_V6
    return next((row for row in rows if address in row.network), None)
