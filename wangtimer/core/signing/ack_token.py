"""The token by which a target acknowledges a firing that it accepted: only who got the call has it.

It is an HMAC-SHA256 of the firing and its attempt, under a key that only our own processes have: receivers know their
app's signing secret, and none of them may speak for another. Nothing is stored of it.
"""

import hmac
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass

from wangtimer.core.flow.firing import Member

# What keys of it are derived for.
ACK_PURPOSE = b"wangtimer acknowledgements"
# The header that brings a token to its target.
ACK_HEADER = "X-WangTimer-Ack-Token"
# The number of an attempt, and 32 bytes in base64url.
_TOKEN = re.compile(r"[1-9][0-9]{0,4}\.[A-Za-z0-9_-]{43}", re.ASCII)


@dataclass(frozen=True, slots=True)
class AckTokens:
    """`keys` are those of the deployment, the newest first: that one makes tokens, each of them knows its own."""

    keys: tuple[bytes, ...]

    def token(self, member: Member) -> str:
        """Return the token of one attempt; "" where there is no key. Pure; takes some 3 µs."""
        return _token(self.keys[0], member) if self.keys else ""

    def attempt_of(self, token: str, timer_id: int, fire_at: int) -> int | None:
        """Return the attempt that a token is of; None if it is of no attempt of this firing."""
        if not _TOKEN.fullmatch(token):
            return None
        member = Member(timer_id, fire_at, int(token.partition(".")[0]))
        good = [hmac.compare_digest(_token(key, member), token) for key in self.keys]
        return member.attempt if any(good) else None


def _token(key: bytes, member: Member) -> str:
    digest = hmac.digest(key, b"%d\n%d\n%d" % member, "sha256")
    return f"{member.attempt}.{urlsafe_b64encode(digest).decode().rstrip('=')}"
