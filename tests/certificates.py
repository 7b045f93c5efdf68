"""Certificates for tests, as people hand them in."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519


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


def self_signed(name: str, expires_at: datetime, key: Any = None) -> Pair:
    """Return a certificate that vouches for itself, with this private key or one of its own."""
    key, subject = key or ec.generate_private_key(ec.SECP256R1()), x509.Name.from_rfc4514_string(name)
    made = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    dated = made.not_valid_before(expires_at - timedelta(days=3_650)).not_valid_after(expires_at)
    signed = dated.sign(key, None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256())
    pem = serialization.Encoding.PEM
    written = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Pair(signed.public_bytes(pem).decode(), written.decode())
