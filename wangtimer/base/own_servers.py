"""Our own servers, as the settings name them: SQL, Redis, the API, and those listed. No callback may reach them."""

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address
from urllib.parse import urlsplit

from sqlalchemy.engine import make_url

from wangtimer.base.settings import ENV_PREFIX, Settings
from wangtimer.core.egress.egress_rules import EgressRules, OwnServer, Peer, read_egress
from wangtimer.core.egress.special_networks import Address
from wangtimer.core.errors import BadSetting

SETTING = f"{ENV_PREFIX}EGRESS"

_PORTS = {"redis": 6379, "rediss": 6379, "amqp": 5672, "amqps": 5671, "pyamqp": 5672, "sentinel": 26379}
_MYSQL_PORT = 3306
_LOOPBACK = frozenset({ip_address("127.0.0.1"), ip_address("::1")})
# Bound to these, a server is at every address of its machine.
_EVERY_ADDRESS = frozenset({"", "*", "0.0.0.0", "::"})

LookUp = Callable[[str], frozenset[Address]]


def require_egress(settings: Settings) -> None:
    """Raise `BadSetting` unless somebody has chosen what callbacks may connect to."""
    if not settings.egress:
        raise BadSetting(
            f"{SETTING} is not set: write {SETTING}=public to let callbacks reach the public internet only, or add "
            f"your own networks and names, as in {SETTING}=public,10.0.0.0/8,*.corp.example"
        )


def egress_rules_of(settings: Settings, own_servers: Iterable[OwnServer]) -> EgressRules:
    """Return the rules of the settings; raises `BadSetting` where nobody has chosen them."""
    require_egress(settings)
    return EgressRules(read_egress(settings.egress), tuple(own_servers), is_of_this_machine)


def named_servers(settings: Settings) -> tuple[OwnServer, ...]:
    """Return our servers with the addresses that the settings write out; nothing is looked up."""
    return tuple(_located(server) for server in _servers(settings))


def found_servers(servers: Iterable[OwnServer], look_up: LookUp | None = None) -> tuple[OwnServer, ...]:
    """Return the servers with the addresses of their names; a name that is not found keeps those it had."""
    look_up = look_up or addresses_of
    return tuple(_found(server, look_up) for server in servers)


def broker_refusal(url: str, rules: EgressRules) -> str:
    """Return why no message may go to a broker: a server of ours, a cloud's metadata. Its name is looked up."""
    parts = urlsplit(url)
    name, port = parts.hostname or "localhost", parts.port or _PORTS.get(parts.scheme) or 0
    for address in addresses_of(name):
        if why := rules.never(Peer(name, str(address), port, False)):
            return f"no message may go there: {why.partition(':')[0]}"
    return ""


def addresses_of(name: str) -> frozenset[Address]:
    """Look a name up as this machine is configured; empty where that fails."""
    with suppress(OSError, ValueError, UnicodeError):
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        return frozenset(ip_address(str(place[0]).partition("%")[0]) for *_, place in found)
    return frozenset()


def is_of_this_machine(address: Address) -> bool:
    """Tell whether who connects to the address connects to this machine: a socket can be bound to it."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return address.is_loopback
    return True


def _servers(settings: Settings) -> Iterator[OwnServer]:
    yield from _of_database(settings.database_url)
    yield from _of_url("store", settings.store_url)
    # Celery takes several brokers, with ; between.
    for url in settings.broker_url.split(";"):
        yield from _of_url("broker", url)
    if mail := settings.mail_server:
        yield _server("mail", mail.host, mail.port)
    ports = set()
    for bind in settings.http_bind.split(","):
        if not bind.strip().startswith(("unix:", "fd://")):
            parts = urlsplit(f"//{bind.strip()}")
            ports.add(parts.port or 0)
            yield _server("API", parts.hostname or "", parts.port or 0)
    if not settings.stream_bind.startswith(("unix:", "fd://")):
        parts = urlsplit(f"//{settings.stream_bind}")
        yield _server("stream of consumers", parts.hostname or "", parts.port or 0)
    for name in settings.http_hosts.split(","):
        for port in sorted(ports):
            if name.strip() not in ("", "*"):
                yield _server("API", name.strip(), port)
    for listed in filter(None, (item.strip() for item in settings.own_servers.split(","))):
        parts = urlsplit(f"//{listed}")
        yield _server(listed, parts.hostname or "", parts.port or 0)


def _of_database(url: str) -> Iterator[OwnServer]:
    parsed = make_url(url)
    socket_path = parsed.query.get("unix_socket")
    if not parsed.drivername.startswith("sqlite") and not socket_path:
        yield _server("SQL", parsed.host or "localhost", parsed.port or _MYSQL_PORT)


def _of_url(what: str, url: str) -> Iterator[OwnServer]:
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme)
    if parts.hostname and port:
        yield _server(what, parts.hostname, port)
    elif parts.scheme in ("redis", "rediss") and port:
        yield _server(what, "localhost", port)


def _server(what: str, name: str, port: int) -> OwnServer:
    return OwnServer(what, name.lower().rstrip("."), frozenset(), port)


def _located(server: OwnServer) -> OwnServer:
    """Return the server with the addresses that are clear without a look-up."""
    if server.name in _EVERY_ADDRESS:
        return replace(server, name="", is_here=True)
    if server.name == "localhost":
        return replace(server, addresses=_LOOPBACK, is_here=True)
    try:
        address = ip_address(server.name)
    except ValueError:
        return server
    return replace(server, name="", addresses=frozenset({address}), is_here=is_of_this_machine(address))


def _found(server: OwnServer, look_up: LookUp) -> OwnServer:
    if not server.name:
        return server
    addresses = look_up(server.name) or server.addresses
    return replace(server, addresses=addresses, is_here=any(map(is_of_this_machine, addresses)))
