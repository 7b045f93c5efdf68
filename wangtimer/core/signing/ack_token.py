"""The token by which a target acknowledges a firing that it accepted: only who got the call has it.

It is an HMAC-SHA256 with the present secret of the app, of the firing and its attempt: nothing is stored of it.
"""

import hmac
import re
from base64 import urlsafe_b64encode

from wangtimer.core.flow.firing import Member
from wangtimer.core.signing.app_signing import AppSigning

# The number of an attempt, and 32 bytes in base64url.
_TOKEN = re.compile(r"[0-9]{1,5}\.[A-Za-z0-9_-]{43}", re.ASCII)


def ack_token(signing: AppSigning, member: Member) -> str:
    """Return the token of one attempt; "" where the app has no secret.

    Pure; takes some 3 µs.
    """
    return _token(signing.secrets[-1].key, member) if signing.secrets else ""


def attempt_of(token: str, signing: AppSigning, timer_id: int, fire_at: int, now: int) -> int | None:
    """Return the attempt that a token is of; None where it is of none of this firing.

    A secret that has ended by `now` (ms UTC) makes no token good.
    """
    if not is_token(token):
        return None
    member = Member(timer_id, fire_at, int(token.partition(".")[0]))
    good = [hmac.compare_digest(_token(one.key, member), token) for one in signing.signing_at(now)]
    return member.attempt if any(good) else None


def is_token(text: str) -> bool:
    """Tell whether a text looks like a token: nothing else is worth a question to SQL."""
    return _TOKEN.fullmatch(text) is not None


def _token(key: bytes, member: Member) -> str:
    # What is signed of a callback begins with a digit, so no signature of one is a token.
    digest = hmac.digest(key, b"wangtimer-ack\n%d\n%d\n%d" % member, "sha256")
    return f"{member.attempt}.{urlsafe_b64encode(digest).decode().rstrip('=')}"
