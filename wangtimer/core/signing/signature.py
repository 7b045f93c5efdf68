"""The signature of a callback (Standard Webhooks, scheme `v1`): HMAC-SHA256 of `id.timestamp.body`."""

import hmac
from base64 import b64encode
from collections.abc import Iterable


def signature_lines(keys: Iterable[bytes], firing_id: bytes, timestamp_s: int, body: bytes) -> bytes:
    """Return the header lines of a signed call: its timestamp (s UTC), and one signature a key.

    Pure; 100 bytes take some 2 µs a key.
    """
    content = b"%b.%d.%b" % (firing_id, timestamp_s, body)
    signatures = b" ".join(b"v1,%b" % b64encode(hmac.digest(key, content, "sha256")) for key in keys)
    return b"webhook-timestamp: %d\r\nwebhook-signature: %b\r\n" % (timestamp_s, signatures)
