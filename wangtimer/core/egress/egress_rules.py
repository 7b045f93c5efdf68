"""What callbacks may connect to: the rules of `WANGTIMER_EGRESS`, as they are written and as they are judged.

    public, 10.0.0.0/8:443, 192.168.7.9, [fd00:1::/64]:8000-8999, *.corp.example, billing.svc:8080

Each item allows something: `public` (all that is in no special network), a network or an address, or names. `*.` before
a name stands for all names under it, and not for the name itself. `:443` or `:8000-8999` bounds the ports of an item.
What no item allows is refused. Addresses of a cloud's metadata, and our own servers, are refused whatever is allowed.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from ipaddress import IPv4Network, ip_address, ip_network
from typing import NamedTuple

from wangtimer.core.egress.embedded_addresses import all_readings, is_only_v4, judged_as
from wangtimer.core.egress.special_networks import METADATA, Address, Network, special_network_of
from wangtimer.core.egress.way_out import AppEgress

PUBLIC = "public"
# How alike a name is that was meant so: one letter is missing or too many.
_SLIP = 0.9
# The loopback beside what is public: for a machine of one's own, and for tests.
PUBLIC_AND_LOOPBACK = "public,127.0.0.0/8,::1"

_MOST_PORT = 65_535
_PORTS = re.compile(r"(?P<first>[0-9]{1,5})(?:-(?P<last>[0-9]{1,5}))?", re.ASCII)
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*", re.ASCII)
# inet_aton takes a name whose last label is such a number for an address.
_LIKE_A_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_BRACKETED = re.compile(r"\[([^\[\]]*)\](?::(.*))?")


class Peer(NamedTuple):
    """The other end of a connection: the name that led there ("" where the URL has an address), address and port."""

    name: str
    address: str
    port: int
    is_tls: bool = False


class Allowed(NamedTuple):
    """One item of the rules: a network, a name, or what is public where it has neither; and its ports."""

    network: Network | None
    name: str
    first_port: int
    last_port: int


@dataclass(frozen=True, slots=True)
class OwnServer:
    """A server of ours: what it is, its name and addresses, its port. `is_here`: it runs on this machine."""

    what: str
    name: str
    addresses: frozenset[Address]
    port: int
    is_here: bool = False


@dataclass(frozen=True, slots=True)
class EgressRules:
    """What is allowed, and our own servers, which never are. `is_of_this_machine` tells it of an address."""

    allowed: tuple[Allowed, ...]
    own_servers: tuple[OwnServer, ...] = ()
    is_of_this_machine: Callable[[Address], bool] = lambda address: address.is_loopback
    is_https_only: bool = False

    def of_app(self, own: AppEgress) -> "EgressRules":
        """Return the rules of an app that has its own beside these. Items that cannot be read allow nothing."""
        return replace(
            self,
            allowed=self.allowed + _readable(own.allow),
            is_https_only=self.is_https_only or own.https_only,
        )

    def refusal(self, peer: Peer) -> str:
        """Return why nobody may connect there, for operators; "" where they may."""
        try:
            address = ip_address(peer.address)
        except ValueError:
            return "not an address"
        if getattr(address, "scope_id", None):
            return "an address with a zone"
        if self.is_https_only and not peer.is_tls:
            return "its app may use https only"
        return self._never(peer, all_readings(address)) or self._not_allowed(peer, address)

    def never(self, peer: Peer) -> str:
        """Return why nobody may connect there, whatever is allowed; "" where that depends."""
        try:
            return self._never(peer, all_readings(ip_address(peer.address)))
        except ValueError:
            return "not an address"

    def _never(self, peer: Peer, readings: tuple[Address, ...]) -> str:
        if not METADATA.isdisjoint(readings):
            return "an address of a cloud's metadata"
        name = _bare(peer.name)
        for server in self.own_servers:
            if server.port == peer.port and (
                (name and name == server.name)
                or not server.addresses.isdisjoint(readings)
                or (server.is_here and any(map(self.is_of_this_machine, readings)))
            ):
                return f"our own server: {server.what}"
        return ""

    def _not_allowed(self, peer: Peer, address: Address) -> str:
        port, name = peer.port, _bare(peer.name)
        items = [item for item in self.allowed if item.first_port <= port <= item.last_port]
        if name and any(item.name and _is_named(name, item.name) for item in items):
            return ""
        for judged in judged_as(address):
            row = special_network_of(judged)
            if not any(_has(item, judged, is_public=row is None) for item in items):
                return f"{judged} is {row.name if row else 'public'}, and not allowed at port {port}"
        return ""


@lru_cache(maxsize=64)
def read_egress(text: str) -> tuple[Allowed, ...]:
    """Read the rules; raises ValueError that names the item and the mend."""
    items = tuple(_item(part.strip()) for part in text.split(",") if part.strip())
    if not items:
        raise ValueError(f"nothing is allowed; write {PUBLIC}, or networks and names, separated by commas")
    # Read as a host's name, it would refuse every call.
    for item in items:
        if get_close_matches(item.name, [PUBLIC], 1, _SLIP):
            raise ValueError(f"{item.name!r} is a host's name; did you mean {PUBLIC}?")
    return items


def _readable(items: Iterable[str]) -> tuple[Allowed, ...]:
    read: list[Allowed] = []
    for item in items:
        with suppress(ValueError):
            read.append(_item(item.strip()))
    return tuple(read)


def is_only_metadata(item: str) -> bool:
    """Tell whether an item allows nothing but an address of a cloud's metadata, which never is; raises ValueError."""
    network = _item(item.strip()).network
    return network is not None and network.num_addresses == 1 and network.network_address in METADATA


def read_item(text: str) -> Allowed:
    """Read one item of the rules; raises ValueError that names it and the mend."""
    if "," in text:
        raise ValueError(f"{text!r} has a comma; write one item")
    return _item(text.strip())


def _item(text: str) -> Allowed:
    what, ports = _parted(text)
    first, last = _ports(text, ports)
    if what.lower() == PUBLIC:
        return Allowed(None, "", first, last)
    network = _network(text, what)
    if network is not None:
        return Allowed(network, "", first, last)
    return Allowed(None, _name(text, what), first, last)


def _parted(text: str) -> tuple[str, str | None]:
    """Return what an item allows, and its ports. An IPv6 network with ports stands in brackets."""
    found = _BRACKETED.fullmatch(text)
    if found is not None:
        return found[1], found[2]
    if text.count(":") > 1:
        return text, None
    what, colon, ports = text.partition(":")
    return what, ports if colon else None


def _ports(text: str, ports: str | None) -> tuple[int, int]:
    if ports is None:
        return 1, _MOST_PORT
    found = _PORTS.fullmatch(ports)
    first = int(found["first"]) if found else 0
    last = int(found["last"] or first) if found else 0
    if not 1 <= first <= last <= _MOST_PORT:
        raise ValueError(f"{text!r}: its ports cannot be read; write :443 or :8000-8999 behind it")
    return first, last


def _network(text: str, what: str) -> Network | None:
    try:
        network = ip_network(what)
    except ValueError:
        if "/" in what and _is_network(what):
            meant = ip_network(what, strict=False)
            raise ValueError(f"{text!r} has bits beyond its prefix; write {meant}") from None
        if "/" in what or ":" in what or _LIKE_A_NUMBER.fullmatch(what.rpartition(".")[2]):
            raise ValueError(
                f"{text!r} is no network; write it as 10.0.0.0/8 or fd00::/8, with ports as [fd00::/8]:443"
            ) from None
        return None
    if is_only_v4(network):
        raise ValueError(f"{text!r} stands for IPv4 addresses; write their IPv4 network")
    if getattr(network.network_address, "scope_id", None):
        raise ValueError(f"{text!r} has a zone; leave it out")
    return network


def _is_network(what: str) -> bool:
    try:
        ip_network(what, strict=False)
    except ValueError:
        return False
    return True


def _name(text: str, what: str) -> str:
    name = _bare(what)
    try:
        name = name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        name = ""
    if name == "*":
        raise ValueError(
            "'*' stands before a domain, as in *.corp.example; for any address write 0.0.0.0/0 and ::/0"
        )
    if not _NAME.fullmatch(name) or len(name) > 253:
        raise ValueError(
            f"{text!r} is no network and no name; write it as 10.0.0.0/8, app.corp.example or *.corp.example"
        )
    return name


def _bare(name: str) -> str:
    return name.rstrip(".").lower()


def _is_named(name: str, pattern: str) -> bool:
    return name.endswith(pattern[1:]) if pattern.startswith("*") else name == pattern


def _has(item: Allowed, address: Address, *, is_public: bool) -> bool:
    if item.network is not None:
        return isinstance(item.network, IPv4Network) is (address.version == 4) and address in item.network
    return is_public and not item.name
