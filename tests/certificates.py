"""Certificates for tests, as people hand them in."""

from typing import NamedTuple

import trustme


class Pair(NamedTuple):
    """A certificate and its key, PEM."""

    chain: str
    key: str


def pair_of(authority: trustme.CA, name: str) -> Pair:
    """Return a certificate with this common name."""
    issued = authority.issue_cert(common_name=name)
    chain = "".join(one.bytes().decode() for one in issued.cert_chain_pems)
    return Pair(chain, issued.private_key_pem.bytes().decode())


def pem_of(authority: trustme.CA) -> str:
    """Return the authority's own certificate."""
    return authority.cert_pem.bytes().decode()
