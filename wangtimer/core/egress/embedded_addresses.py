"""IPv4 addresses inside IPv6 addresses: who connects to the one may reach the other."""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network

from wangtimer.core.egress.special_networks import Address, Network

# A packet for these leaves, or goes on, as IPv4. So they are judged as the IPv4 address, and as nothing else.
_MAPPED = IPv6Network("::ffff:0:0/96")  # RFC 4291, 2.5.5.2
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052, 2.1
# These are judged as both.
_COMPATIBLE = IPv6Network("::/96")  # RFC 4291, 2.5.5.1
_OF_THEIR_OWN = (0, 1)  # ::, ::1: in that network, and with no IPv4 address in them
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")  # RFC 2765, 2.1
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")  # RFC 8215
_6TO4 = IPv6Network("2002::/16")  # RFC 3056, 2
_TEREDO = IPv6Network("2001::/32")  # RFC 4380, 4
# The third quarter of an ISATAP address, without its bit for "unique" (RFC 5214, 6.1).
_ISATAP, _ISATAP_BITS = 0x00005EFE, 0xFDFFFFFF

_LAST_32 = 0xFFFFFFFF


def is_only_v4(network: Network) -> bool:
    """Tell whether the network's addresses are judged as the IPv4 addresses inside them."""
    return isinstance(network, IPv6Network) and any(network.subnet_of(outer) for outer in (_MAPPED, _NAT64))


@lru_cache(maxsize=4_096)  # up to 10 µs, and most calls go to few addresses
def judged_as(address: Address) -> tuple[Address, ...]:
    """Return the addresses that must all be allowed, so that this one is."""
    if isinstance(address, IPv4Address):
        return (address,)
    if address in _MAPPED or address in _NAT64:
        return (IPv4Address(int(address) & _LAST_32),)
    return (address, *map(IPv4Address, _inside(address)))


@lru_cache(maxsize=4_096)
def all_readings(address: Address) -> tuple[Address, ...]:
    """Return the address and every address that may be meant by it."""
    readings = (address, *judged_as(address))
    if isinstance(address, IPv4Address) or address not in _LOCAL_NAT64:
        return readings
    # A prefix of 48 bits has the address around its bits 64 to 71 (RFC 6052, 2.2).
    bits = int(address)
    return (*readings, IPv4Address((bits >> 64 & 0xFFFF) << 16 | bits >> 40 & 0xFFFF))


def _inside(address: IPv6Address) -> Iterator[int]:
    bits = int(address)
    if bits in _OF_THEIR_OWN:
        return
    if address in _COMPATIBLE or address in _TRANSLATED or address in _LOCAL_NAT64:
        yield bits & _LAST_32
    elif address in _6TO4:
        yield bits >> 80 & _LAST_32
    elif address in _TEREDO:
        yield bits >> 64 & _LAST_32  # its server
        yield bits & _LAST_32 ^ _LAST_32  # its client
    if bits >> 32 & _ISATAP_BITS == _ISATAP:
        yield bits & _LAST_32
