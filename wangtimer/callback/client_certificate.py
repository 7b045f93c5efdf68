"""Certificates as people hand them in: what is in them, and how a connection comes to show one."""

import os
import re
import ssl
from base64 import b64decode
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
from cryptography.x509.oid import PublicKeyAlgorithmOID

MOST_CERTIFICATES = 20
# Each handshake signs with the key, in the thread that makes all calls: 4,096 bits took 3 ms, 7,640 took 70.
MOST_RSA_BITS = 4_096
# Each handshake checks what an authority signed, in the same thread.
MOST_AUTHORITY_BITS = 8_192
# Between the two factors of RSA: signing with an uneven pair takes longer.
MOST_BITS_APART = 32
# OpenSSL checks by the public exponent what it signed: with one as long as the key a handshake took four times as
# long. It is 65537 nearly everywhere.
MOST_EXPONENT_BITS = 32
# PEM of 4,096 bits has 3,272 characters. Letters and spaces alone: the search for it is linear.
MOST_KEY_CHARACTERS = 4_000
_KEY = re.compile(r"-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----([A-Za-z0-9+/=\s]+)-----END \1-----", re.ASCII)
# OpenSSL judges the primes of a Diffie-Hellman key as it is read: a key of 1.8 KB stopped every thread of the process
# for 35 s. So nothing is loaded whose algorithm is not one of these.
_ALGORITHMS = (
    PublicKeyAlgorithmOID.RSAES_PKCS1_v1_5,
    PublicKeyAlgorithmOID.EC_PUBLIC_KEY,
    PublicKeyAlgorithmOID.ED25519,
)
# How PKCS#8 in DER begins: a sequence, version 0 or 1, and a sequence that begins with the algorithm.
_LENGTH = rb"(?:[\x00-\x7f]|\x81.|\x82..)"
_PKCS8 = re.compile(
    rb"\x30%b\x02\x01[\x00\x01]\x30%b(?:\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01"
    rb"|\x06\x07\x2a\x86\x48\xce\x3d\x02\x01|\x06\x03\x2b\x65\x70)" % (_LENGTH, _LENGTH),
    re.DOTALL,
)
_SANE = "of the curve P-256, P-384, P-521 or Ed25519"
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
    """Return only the certificates of a PEM text that can vouch for targets. Raises ValueError: what is wrong."""
    certificates = _read(pem)
    for certificate in certificates:
        _facts(certificate)
        if not _is_quick(_public_key(certificate), MOST_AUTHORITY_BITS):
            raise ValueError(
                f"the key of one is neither RSA of at most {MOST_AUTHORITY_BITS} bits nor {_SANE}"
            )
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
    """Read a certificate that counts now, and its key. Raises `BadCertificate`, `BadKey`: neither shows the key."""
    try:
        certificates = _read(chain)
        facts = _facts(certificates[0])
    except ValueError as error:
        raise BadCertificate(str(error)) from None
    if facts.expires_at <= now_ms:
        raise BadCertificate("it has expired")
    public = _public_key(certificates[0])
    if not _is_quick(public, MOST_RSA_BITS):
        raise BadCertificate(f"its key is neither RSA of at most {MOST_RSA_BITS} bits nor {_SANE}")
    private = _private_key(key)
    if public != private.public_key():
        raise BadKey("it is not the key of the first certificate")
    if isinstance(private, rsa.RSAPrivateKey) and not _is_sound(private.private_numbers()):
        raise BadKey("its numbers do not belong together")
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
    """Let a context show this certificate (PEM); raises OSError. Python reads files only: this one is in memory."""
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
    return "".join(certificate.public_bytes(_PEM).decode() for certificate in certificates)


def _facts(certificate: x509.Certificate) -> CertificateFacts:
    try:
        return CertificateFacts(
            certificate.subject.rfc4514_string(),
            certificate.fingerprint(hashes.SHA256()).hex(),
            int(certificate.not_valid_after_utc.timestamp() * 1_000),
        )
    except Exception:
        raise ValueError("its subject or end cannot be read") from None


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "unknown").replace("_", " ").lower()


def _public_key(certificate: x509.Certificate) -> PublicKeyTypes | None:
    """Return a certificate's key; None for one of an algorithm that is not taken, or that cannot be read."""
    try:
        return certificate.public_key() if certificate.public_key_algorithm_oid in _ALGORITHMS else None
    except Exception:
        return None


def _is_quick(key: PublicKeyTypes | None, most_rsa_bits: int) -> bool:
    """Tell whether a handshake signs with such a key, or checks a signature, within a few ms."""
    if isinstance(key, rsa.RSAPublicKey):
        return key.key_size <= most_rsa_bits and key.public_numbers().e.bit_length() <= MOST_EXPONENT_BITS
    if isinstance(key, ec.EllipticCurvePublicKey):
        return isinstance(key.curve, (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1))
    return isinstance(key, ed25519.Ed25519PublicKey)


def _private_key(text: str) -> PrivateKeyTypes:
    """Read a private key, of which nothing is judged that takes long; raises `BadKey`."""
    if "ENCRYPTED" in text:
        raise BadKey("it has a password; hand it in without")
    found = _KEY.search(text)
    if found is not None and len(found[0]) > MOST_KEY_CHARACTERS:
        raise BadKey("it is too long to be the key of the first certificate")
    kind, body = (found[1], "".join(found[2].split())) if found else ("", "")
    with suppress(Exception):
        if kind != "PRIVATE KEY" or _PKCS8.match(b64decode(body, validate=True)):
            # Written anew, so that the same is loaded that was looked at. Judging the primes of RSA took seconds too.
            pem = f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n".encode()
            return serialization.load_pem_private_key(pem, password=None, unsafe_skip_rsa_key_validation=True)
    taken = "RSA, P-256, P-384, P-521 or Ed25519"
    raise BadKey(f"it cannot be read; write PEM of {taken}, as in -----BEGIN PRIVATE KEY-----")


def _is_sound(key: rsa.RSAPrivateNumbers) -> bool:
    """Tell whether an RSA key's numbers fit, with factors that pass Fermat's test: else OpenSSL signs slowly."""
    n, e, p, q = key.public_numbers.n, key.public_numbers.e, key.p, key.q
    if min(p, q) < 3 or p * q != n or abs(p.bit_length() - q.bit_length()) > MOST_BITS_APART:
        return False
    if pow(2, p - 1, p) != 1 or pow(2, q - 1, q) != 1:
        return False
    of_p, of_q = key.d * e % (p - 1) == 1, key.d * e % (q - 1) == 1
    return of_p and of_q and (key.dmp1, key.dmq1, key.iqmp * q % p) == (key.d % (p - 1), key.d % (q - 1), 1)
