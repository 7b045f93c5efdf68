"""What is taken for a client certificate and its key, and what is told of them."""

import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tests.certificates import (
    Pair,
    diffie_hellman_key,
    pair_of,
    pem_of,
    rsa_pair,
    self_signed,
    with_diffie_hellman,
)
from wangtimer.callback.client_certificate import (
    BadCertificate,
    BadKey,
    facts_of_all,
    only_certificates,
    read_pair,
    show_certificate,
)

FAR = datetime.now(UTC) + timedelta(days=365)
_NUMBERS = rsa.generate_private_key(65_537, 2_048).private_numbers()
_PRIMES = _NUMBERS.p, _NUMBERS.q
# Neither is a prime.
_FACTORS = (2**521 - 1) * (2**503 + 1), (2**607 - 1) * (2**417 + 3)
NOW = int(datetime.now(UTC).timestamp() * 1_000)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def pair(authority: trustme.CA) -> Pair:
    return pair_of(authority, "shop")


def test_a_pair_is_read_without_what_stands_around_it(pair: Pair) -> None:
    read = read_pair(f"subject=shop\n{pair.chain}\nthe end", f"a key\n{pair.key}", NOW)
    assert read.chain.startswith("-----BEGIN CERTIFICATE-----")
    assert read.key.startswith("-----BEGIN PRIVATE KEY-----")
    assert "subject=" not in read.chain
    assert "a key" not in read.key
    assert (read.facts.subject.split(",")[0], len(read.facts.fingerprint)) == ("CN=shop", 64)
    assert read.facts.expires_at > NOW
    assert "PRIVATE" not in repr(read)
    show_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), read.chain, read.key)


def test_a_key_with_which_each_handshake_would_take_long_is_refused() -> None:
    long = rsa.generate_private_key(65_537, 4_608)
    with pytest.raises(BadCertificate, match="its key is neither RSA of at most 4096 bits"):
        read_pair(*self_signed("CN=shop", FAR, long), NOW)
    odd = ec.generate_private_key(ec.SECP256K1())
    with pytest.raises(BadCertificate, match="its key is neither"):
        read_pair(*self_signed("CN=shop", FAR, odd), NOW)


def test_a_long_key_of_another_certificate_is_refused_before_it_is_judged(pair: Pair) -> None:
    """Judging one of 7,640 bits took 7.8 s of CPU."""
    block = "-----BEGIN PRIVATE KEY-----\n" + "A" * 5_000 + "\n-----END PRIVATE KEY-----\n"
    with pytest.raises(BadKey, match="too long"):
        read_pair(pair.chain, block, NOW)


def test_a_key_of_another_algorithm_is_refused_before_it_is_loaded(pair: Pair) -> None:
    """Loading one took half a second, in which no thread of the process ran."""
    began = time.thread_time()
    with pytest.raises(BadKey, match="write PEM of RSA, P-256, P-384, P-521 or Ed25519"):
        read_pair(pair.chain, diffie_hellman_key(), NOW)
    with pytest.raises(BadKey, match="write PEM of RSA"):
        read_pair(pair.chain, diffie_hellman_key().replace("PRIVATE", "DH PRIVATE"), NOW)
    assert time.thread_time() - began < 0.2


def test_a_certificate_of_another_algorithm_is_refused_before_its_key_is_loaded(pair: Pair) -> None:
    odd = with_diffie_hellman(self_signed("CN=shop", FAR))
    began = time.thread_time()
    with pytest.raises(BadCertificate, match="its key is neither"):
        read_pair(odd, pair.key, NOW)
    with pytest.raises(ValueError, match="the key of one is neither"):
        only_certificates(odd)
    assert [one.subject for one in facts_of_all(odd)] == ["CN=shop"]
    assert time.thread_time() - began < 0.2


def test_an_rsa_key_of_a_long_exponent_is_refused() -> None:
    given = rsa_pair(*_PRIMES, e=2**1_279 - 1)
    with pytest.raises(BadCertificate, match="its key is neither RSA"):
        read_pair(*given, NOW)
    with pytest.raises(ValueError, match="RSA of at most 8192 bits"):
        only_certificates(given.chain)


def test_authorities_of_more_bits_than_any_has_are_refused() -> None:
    with pytest.raises(ValueError, match="RSA of at most 8192 bits"):
        only_certificates(rsa_pair(2**4_500 + 1, 2**4_501 + 3).chain)


@pytest.mark.parametrize(
    "pair_of_rsa",
    [rsa_pair(*_PRIMES, d=3), rsa_pair(2**521 - 1, 2**1_600 + 3), rsa_pair(*_FACTORS)],
    ids=["numbers of another key", "a short factor", "factors that are no primes"],
)
def test_an_rsa_key_whose_numbers_do_not_belong_together_is_refused(pair_of_rsa: Pair) -> None:
    with pytest.raises(BadKey, match="numbers do not belong together"):
        read_pair(*pair_of_rsa, NOW)


@pytest.mark.parametrize(
    "make", [lambda: rsa.generate_private_key(65_537, 2_048), ed25519.Ed25519PrivateKey.generate]
)
def test_keys_of_other_kinds_are_taken(make: Callable[[], Any]) -> None:
    given = self_signed("CN=shop", FAR, make())
    assert read_pair(*given, NOW).chain == given.chain


def test_a_private_key_within_the_certificates_is_not_kept(pair: Pair) -> None:
    assert "PRIVATE" not in read_pair(pair.key + pair.chain, pair.key, NOW).chain
    assert "PRIVATE" not in only_certificates(pair.key + pair.chain)


@pytest.mark.parametrize(
    "chain", ["", "no pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_what_is_no_certificate_is_refused(pair: Pair, chain: str) -> None:
    with pytest.raises(BadCertificate, match="no certificate that can be read"):
        read_pair(chain, pair.key, NOW)


def test_a_certificate_that_has_expired_is_refused(authority: trustme.CA) -> None:
    issued = authority.issue_cert(common_name="shop", not_after=datetime.now(UTC) - timedelta(days=1))
    chain = "".join(one.bytes().decode() for one in issued.cert_chain_pems)
    with pytest.raises(BadCertificate, match="expired"):
        read_pair(chain, issued.private_key_pem.bytes().decode(), NOW)


def test_a_key_of_another_certificate_is_refused(authority: trustme.CA, pair: Pair) -> None:
    with pytest.raises(BadKey, match="not the key of the first certificate"):
        read_pair(pair.chain, pair_of(authority, "bank").key, NOW)
    with pytest.raises(BadKey, match="not the key of the first certificate"):
        read_pair(pem_of(authority) + pair.chain, pair.key, NOW)


@pytest.mark.parametrize("key", ["", "hush", "-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----"])
def test_what_is_no_key_is_refused_and_not_repeated(pair: Pair, key: str) -> None:
    with pytest.raises(BadKey, match="cannot be read") as refused:
        read_pair(pair.chain, key, NOW)
    assert "hush" not in str(refused.value)


def test_a_key_with_a_password_is_refused(pair: Pair) -> None:
    private = serialization.load_pem_private_key(pair.key.encode(), password=None)
    locked = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"hush"),
    )
    with pytest.raises(BadKey, match="it has a password"):
        read_pair(pair.chain, locked.decode(), NOW)


def test_more_certificates_than_any_chain_has_are_refused(authority: trustme.CA) -> None:
    with pytest.raises(ValueError, match="it has 21 certificates"):
        facts_of_all(pem_of(authority) * 21)
