"""Whether a callback comes from WangTimer: its signature, by Standard Webhooks."""

import binascii
import hmac
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar

# s; an older or a later timestamp is that of a call that was recorded and is sent again, or of a wrong clock.
TOLERANCE_S = 300.0
PREFIX, SCHEME = "whsec_", "v1,"
# More signatures than a sender ever writes are not looked at.
MOST_SIGNATURES = 10
# The time in s since 1970 where a `Verification` is given no clock: `wangtimer.testing` puts its own here while it
# calls a target.
usual_clock: ContextVar[Callable[[], float]] = ContextVar("usual_clock", default=time.time)
_ID, _TIMESTAMP, _SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"


class BadSignature(ValueError):
    """A request that is not signed with a secret of yours, or at another time: answer 401."""


class Verification:
    """Checks signatures by any of `secrets`, as WangTimer shows them: `whsec_` and base64.

    Give both secrets while one replaces the other. A timestamp may be `tolerance_s` off from `now`, in seconds since
    1970 (None: the real time; within a call by `wangtimer.testing`, that of the test). Raises ValueError for a secret
    that is none.
    """

    def __init__(
        self,
        secrets: Iterable[str],
        tolerance_s: float = TOLERANCE_S,
        now: Callable[[], float] | None = None,
    ) -> None:
        given = [secrets] if isinstance(secrets, str) else list(secrets)
        self._keys = [_key_of(secret) for secret in given]
        if not self._keys:
            raise ValueError("no secret is given; POST /v1/signing-secrets makes one")
        self._tolerance_s = tolerance_s
        self._now = now

    def check(self, headers: Mapping[str, str], body: bytes) -> None:
        """Return for a call that is signed, whatever the case of its headers' names; raises `BadSignature`."""
        named = {name.lower(): value for name, value in headers.items()}
        try:
            firing_id, timestamp, signatures = (named[name] for name in (_ID, _TIMESTAMP, _SIGNATURE))
        except KeyError as error:
            raise BadSignature(f"the request has no header {error.args[0]}: it is not signed") from None
        self._refuse_another_time(timestamp)
        content = b"%b.%b.%b" % (firing_id.encode(), timestamp.encode(), body)
        expected = [SCHEME + b64encode(hmac.digest(key, content, "sha256")).decode() for key in self._keys]
        given = [signature.encode() for signature in signatures.split(" ")[:MOST_SIGNATURES]]
        # All are compared, and none leaves early: the time taken tells nothing of a signature.
        matches = [hmac.compare_digest(own.encode(), another) for own in expected for another in given]
        if not any(matches):
            raise BadSignature(
                "no signature of the request is by a secret that is known here: its secret is another, or the body was "
                "changed on the way; verify the bytes that came, before JSON is read"
            )

    def _refuse_another_time(self, timestamp: str) -> None:
        if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) < 16):
            raise BadSignature(f"header {_TIMESTAMP} is not a number of seconds")
        off_s = (self._now or usual_clock.get())() - int(timestamp)
        if abs(off_s) > self._tolerance_s:
            when = "old" if off_s > 0 else "ahead"
            raise BadSignature(f"the request was signed for another time: it is {abs(off_s):.0f} s {when}")


def _key_of(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not key:
        raise ValueError(f"a secret is not one of WangTimer's; it begins with {PREFIX}, and base64 follows")
    return key
