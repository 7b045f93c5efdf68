"""The signature of a callback (Standard Webhooks, scheme `v1`): HMAC-SHA256 of `id.timestamp.body`."""

import hmac
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache


def signature_lines(keys: Iterable[bytes], firing_id: bytes, timestamp_s: int, body: bytes) -> bytes:
    """Return the header lines of a signed call: timestamp (s UTC), and one signature a key (2 µs for 100 bytes)."""
    content = b"%b.%d.%b" % (firing_id, timestamp_s, body)
    signatures = b" ".join(b"v1,%b" % b64encode(_digest(key, content)) for key in keys)
    return b"webhook-timestamp: %d\r\nwebhook-signature: %b\r\n" % (timestamp_s, signatures)


def _digest(key: bytes, content: bytes) -> bytes:
    keyed = _keyed(key).copy()
    keyed.update(content)
    return keyed.digest()


@lru_cache(maxsize=1_024)  # a copy takes less than half of the time of a new one
def _keyed(key: bytes) -> hmac.HMAC:
    return hmac.new(key, digestmod="sha256")
