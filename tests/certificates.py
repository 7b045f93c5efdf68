"""Certificates for tests, as people hand them in."""

from base64 import encodebytes
from datetime import UTC, datetime, timedelta
from math import lcm
from typing import Any, NamedTuple

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa


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


_DER = serialization.Encoding.DER
# Of a prime of Mersenne. To see whether it is one takes OpenSSL 0.5 s, and 35 s for one of 9,941 bits.
_BITS = 2_203


def diffie_hellman_key(bits: int = _BITS) -> str:
    """Return a private key (PEM) of Diffie-Hellman."""
    secret = der(0x04, _integer(3))
    return _pem("PRIVATE KEY", der(0x30, _integer(0), _diffie_hellman(bits), secret))


def with_diffie_hellman(pair: Pair, bits: int = _BITS) -> str:
    """Return a certificate (PEM) with another public key: one of Diffie-Hellman."""
    return with_public_key(pair, der(0x30, _diffie_hellman(bits), der(0x03, b"\0", _integer(9))))


def with_public_key(pair: Pair, spki: bytes) -> str:
    """Return a certificate (PEM) with another public key (SPKI in DER); nothing vouches for it."""
    key = _read(pair).public_key()
    return _with(pair, key.public_bytes(_DER, serialization.PublicFormat.SubjectPublicKeyInfo), spki)


def with_name(pair: Pair, name: bytes) -> str:
    """Return a certificate (PEM) with another subject and issuer (DER); nothing vouches for it."""
    return _with(pair, _read(pair).subject.public_bytes(), name)


def _read(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.chain.encode())


def _with(pair: Pair, part: bytes, other: bytes) -> str:
    whole, inner = _read(pair).public_bytes(_DER), _read(pair).tbs_certificate_bytes
    signed = der(0x30, _content(inner).replace(part, other))
    return _pem("CERTIFICATE", der(0x30, signed, _content(whole).removeprefix(inner)))


def rsa_pair(p: int, q: int, d: int | None = None, e: int = 65_537) -> Pair:
    """Return a certificate and an RSA key of these factors, primes or not."""
    d = d or pow(e, -1, lcm(p - 1, q - 1))
    public = rsa.RSAPublicNumbers(e, p * q)
    numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public)
    key = numbers.private_key(unsafe_skip_rsa_key_validation=True)
    pkcs8, nothing = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    spki = public.public_key().public_bytes(_DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    bare = self_signed("CN=shop", datetime.now(UTC) + timedelta(days=365))
    return Pair(
        with_public_key(bare, spki),
        key.private_bytes(serialization.Encoding.PEM, pkcs8, nothing).decode(),
    )


def der(tag: int, *parts: bytes) -> bytes:
    """Return a value in DER, of these parts."""
    content = b"".join(parts)
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8)
    return bytes([tag, len(content)] if len(content) < 128 else [tag, 128 | len(size), *size]) + content


def _diffie_hellman(bits: int) -> bytes:
    identifier = bytes.fromhex("06092a864886f70d010301")
    return der(0x30, identifier, der(0x30, _integer(2**bits - 1), _integer(2)))


def _integer(number: int) -> bytes:
    return der(0x02, number.to_bytes(number.bit_length() // 8 + 1))


def _content(value: bytes) -> bytes:
    return value[2:] if value[1] < 128 else value[2 + (value[1] & 127) :]


def _pem(kind: str, value: bytes) -> str:
    return f"-----BEGIN {kind}-----\n{encodebytes(value).decode()}-----END {kind}-----\n"
