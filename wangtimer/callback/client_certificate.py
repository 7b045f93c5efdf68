"""Certificates as people hand them in: what is in them, and how a connection comes to show one."""

import os
import re
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

MOST_CERTIFICATES = 20
# Each handshake signs with the key, in the thread that makes all calls: 4,096 bits took 3 ms, 7,640 took 70.
MOST_RSA_BITS = 4_096
# A key is judged as it is read: one of 4,096 bits took 0.26 s, of 7,640 bits 7.8 s. PEM of 4,096 bits has 3,272
# characters.
MOST_KEY_CHARACTERS = 4_000
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL)
_PEM = serialization.Encoding.PEM


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """What is told of a certificate; `fingerprint` is the SHA-256 of it, `expires_at` in ms UTC."""

    subject: str
    fingerprint: str
    expires_at: int


def facts_of_all(pem: str) -> tuple[CertificateFacts, ...]:
    """Return what is in each certificate of a PEM text, in its order; raises ValueError that says what is wrong."""
    return tuple(map(_facts, _read(pem)))


def only_certificates(pem: str) -> str:
    """Return the certificates of a PEM text that can vouch for targets, and nothing else of it.

    Raises ValueError that says what is wrong.
    """
    certificates = _read(pem)
    for one in certificates:
        _facts(one)
    written = _written(certificates)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=written)
    except ssl.SSLError as error:
        raise ValueError(f"it cannot be used: {_reason(error)}") from None
    return written


@dataclass(frozen=True, slots=True)
class CertificatePair:
    """A certificate with those that vouch for it, its own first, and its key: PEM, with nothing else in it."""

    facts: CertificateFacts
    chain: str
    key: str = field(repr=False)


def read_pair(chain: str, key: str, now_ms: int) -> CertificatePair:
    """Read a certificate that counts now, and its key.

    Raises `BadCertificate`, `BadKey`: they say nothing of the key but what is wrong with it.
    """
    try:
        certificates = _read(chain)
        facts = _facts(certificates[0])
    except ValueError as error:
        raise BadCertificate(str(error)) from None
    if facts.expires_at <= now_ms:
        raise BadCertificate("it has expired")
    if not _is_quick(certificates[0].public_key()):
        raise BadCertificate(
            f"its key is neither RSA of at most {MOST_RSA_BITS} bits nor of the curve P-256, P-384, P-521 or Ed25519"
        )
    private = _private_key(key)
    if certificates[0].public_key() != private.public_key():
        raise BadKey("it is not the key of the first certificate")
    written = private.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pair = CertificatePair(facts, _written(certificates), written.decode())
    try:
        show_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), pair.chain, pair.key)
    except ssl.SSLError as error:
        raise BadCertificate(f"it cannot be used: {_reason(error)}") from None
    return pair


class BadCertificate(ValueError):
    """A certificate that no connection can show."""


class BadKey(ValueError):
    """A private key that cannot be used with its certificate."""


def show_certificate(context: ssl.SSLContext, chain: str, key: str) -> None:
    """Let connections of the context show this certificate (PEM); raises OSError.

    Python reads it from a file only: this one is in memory, and gone at once.
    """
    file = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        with open(file, "w", closefd=False) as text:
            text.write(f"{chain}\n{key}")
        context.load_cert_chain(f"/proc/self/fd/{file}")
    finally:
        os.close(file)


def _read(pem: str) -> list[x509.Certificate]:
    try:
        found = x509.load_pem_x509_certificates(pem.encode())
    except ValueError:
        found = []
    if not found:
        raise ValueError(
            "it has no certificate that can be read; write PEM, as in -----BEGIN CERTIFICATE-----"
        )
    if len(found) > MOST_CERTIFICATES:
        raise ValueError(f"it has {len(found)} certificates; at most {MOST_CERTIFICATES} are taken")
    return found


def _written(certificates: Iterable[x509.Certificate]) -> str:
    return "".join(one.public_bytes(_PEM).decode() for one in certificates)


def _facts(certificate: x509.Certificate) -> CertificateFacts:
    try:
        certificate.public_key()
        return CertificateFacts(
            certificate.subject.rfc4514_string(),
            certificate.fingerprint(hashes.SHA256()).hex(),
            int(certificate.not_valid_after_utc.timestamp() * 1_000),
        )
    except Exception:
        raise ValueError("its key, subject or end cannot be read") from None


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "unknown").replace("_", " ").lower()


def _is_quick(key: object) -> bool:
    """Tell whether a handshake signs with such a key within a few ms."""
    if isinstance(key, rsa.RSAPublicKey):
        return key.key_size <= MOST_RSA_BITS
    if isinstance(key, ec.EllipticCurvePublicKey):
        return isinstance(key.curve, (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1))
    return isinstance(key, ed25519.Ed25519PublicKey)


def _private_key(key: str) -> PrivateKeyTypes:
    found = _KEY.search(key)
    if found is not None and len(found[0]) > MOST_KEY_CHARACTERS:
        raise BadKey("it is too long to be the key of the first certificate")
    try:
        return serialization.load_pem_private_key((found[0] if found else "").encode(), password=None)
    except TypeError:
        raise BadKey("it has a password; hand it in without") from None
    except Exception:
        raise BadKey("it cannot be read; write PEM, as in -----BEGIN PRIVATE KEY-----") from None
