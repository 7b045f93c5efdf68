"""From which address a request comes: the far end of its connection, or what trusted proxies say that was."""

from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from flask import request

from wangtimer.api.http.request_context import settings_in_use

FORWARDED = "X-Forwarded-For"


def sender_address() -> str:
    """Return the address of who sent the request; "" where the connection has none (a Unix socket).

    Each proxy appends to the header who connected to it. So it is read from its end, as far as trusted proxies wrote
    it: what stands before was written by somebody else, and may be made up.
    """
    address = request.remote_addr or ""
    proxies = networks_of(settings_in_use().trusted_proxies)
    written = request.headers.get(FORWARDED, "").split(",") if proxies else []
    for one in reversed(written):
        if not is_within(address, proxies) or not _is_address(one.strip()):
            break
        address = one.strip()
    return address


def is_within(address: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    """Tell whether an address lies in one of the networks; a Unix socket has none, and does not."""
    return _is_address(address) and any(ip_address(address) in network for network in networks)


@cache
def networks_of(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks of a setting, which has commas between them."""
    return tuple(ip_network(one.strip()) for one in text.split(",") if one.strip())


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
