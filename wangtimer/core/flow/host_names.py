"""The one name of a target's host, however a URL spells it: limits, pauses and lanes go by it."""

from ipaddress import IPv6Address


def one_name(host: str) -> str:
    """Return a host without the dot of a full name, and an IPv4 address within IPv6 as IPv4.

    `host` is in lower case; an address has no brackets and its usual notation.
    """
    mapped = IPv6Address(host).ipv4_mapped if ":" in host else None
    return str(mapped) if mapped else host.removesuffix(".")
