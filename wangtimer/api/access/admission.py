"""Which key a request has, whether it counts, and what is left of its app's quota; the stream asks this too."""

from collections.abc import Callable

from flask import Response, g

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Part, Refused
from wangtimer.core.apps.caller import Caller
from wangtimer.core.apps.described_limits import AppLimit, LimitsInForce
from wangtimer.core.apps.key_text import PREFIX, KeyText
from wangtimer.core.apps.scopes import Scope
from wangtimer.core.errors import Limited, TooFast
from wangtimer.store.app_directory import KeyRing
from wangtimer.store.redis.quotas import Quota, QuotaTaken
from wangtimer.store.sql.apps import FoundKey
from wangtimer.wiring import Wiring

HEADER = "Authorization"
SCHEME = "Bearer "
HOW = f"send it as {HEADER}: {SCHEME}wtk_..."
Now = Callable[[], float]
FIRST_KEY = "wangtimer keys create --database --operator NAME"


def written_key(header: str | None, ring: KeyRing) -> KeyText:
    """Return the key in a request's header; raises `Refused`, `StoreAway`."""
    if header is None:
        if not ring.has_any():
            mend = f"there is none yet; an operator makes the first one on the server: {FIRST_KEY}"
            raise refused(ErrorCode.NO_KEY, "an API key is needed", mend)
        raise refused(ErrorCode.NO_KEY, "an API key is needed", HOW)
    if header[: len(SCHEME)].lower() != SCHEME.lower():
        raise refused(ErrorCode.BAD_KEY, "it has no API key as a bearer token", HOW)
    key = KeyText.read(header[len(SCHEME) :].strip())
    if key is None and not header[len(SCHEME) :].strip().startswith(PREFIX):
        raise refused(ErrorCode.BAD_KEY, f"it is no API key of this service: those begin with {PREFIX}", HOW)
    if key is None:
        raise refused(ErrorCode.BAD_KEY, "the API key has a slip, or is cut off", "copy it whole")
    return key


def good_key(written: KeyText, found: FoundKey | None, now: Now) -> FoundKey:
    """Return the stored key if the written one is it, and counts; raises `Refused`, and what `now` raises."""
    if found is None or not written.has(found.key.fingerprint):
        raise refused(ErrorCode.BAD_KEY, "there is no such API key", "ask an operator for a new one")
    refuse_ended(found, now)
    return found


def refuse_ended(found: FoundKey, now: Now) -> None:
    """Raise `Refused` for a key that counts no more; the time (ms UTC) is asked for where the key has an end."""
    key = found.key
    if key.revoked_at is not None:
        raise refused(ErrorCode.KEY_ENDED, f"API key {key.id} was revoked", "ask an operator for a new one")
    if key.expires_at is not None and key.has_expired(int(now())):
        raise refused(ErrorCode.KEY_ENDED, f"API key {key.id} has expired", "ask an operator for a new one")
    if found.is_of_disabled_app:
        raise refused(ErrorCode.APP_DISABLED, f"app {key.app!r} is disabled", "ask an operator")


def with_scope(caller: Caller, scope: Scope) -> Caller:
    """Return the caller if its key has the scope; raises `Refused`."""
    if caller.may(scope):
        return caller
    raise refused(
        ErrorCode.SCOPE_MISSING,
        f"API key {caller.key_id} lacks the scope {scope}",
        f"use a key that has it: {' '.join(sorted(caller.scopes))} is what this one has",
    )


def refused(code: ErrorCode, reason: str, mend: str) -> Refused:
    """Return the refusal of a key."""
    return Refused(code, HEADER, reason, mend, part=Part.HEADER)


NAME = "requests"


def count_request(wiring: Wiring, app: str) -> None:
    """Count a request of an app; raises `TooFast`. While Redis is away requests are not counted, and go on."""
    taken = take_one(wiring, app)
    if taken is None:
        return
    g.request_quota = taken
    refuse_over(taken, app)


def take_one(wiring: Wiring, app: str) -> QuotaTaken | None:
    """Take a request of an app's quota; None: it has no limit, or Redis is away."""
    quota = _quota_of(wiring.app_directory.limits_of(app))
    return None if quota is None else wiring.quotas.take(app, quota)


def refuse_over(taken: QuotaTaken, app: str) -> None:
    """Raise `TooFast` where the quota has nothing left."""
    if not taken.granted:
        raise TooFast(
            Limited.REQUESTS,
            f"app {app!r} has sent {taken.quota.most:,} requests within {taken.quota.window_ms / 1_000:g} s, "
            "and may send no more",
            taken.resets_in_s,
        )


def tell_what_is_left(response: Response) -> Response:
    """Add the `RateLimit` fields to an answer, as draft-ietf-httpapi-ratelimit-headers-10 has them."""
    taken: QuotaTaken | None = g.get("request_quota")
    if taken is not None:
        quota = taken.quota
        response.headers["RateLimit-Policy"] = f'"{quota.name}";q={quota.most};w={quota.window_s}'
        response.headers["RateLimit"] = f'"{quota.name}";r={taken.left};t={taken.resets_in_s}'
    return response


def _quota_of(limits: LimitsInForce) -> Quota | None:
    """Return the quota of an app with these limits: its burst, in a window that has the average; None: no limit."""
    a_second, at_once = limits.of(AppLimit.REQUESTS_PER_SECOND), limits.of(AppLimit.REQUESTS_AT_ONCE)
    if a_second is None:
        return None
    at_once = a_second if at_once is None else at_once
    return Quota(NAME, at_once, max(1, at_once * 1_000 // a_second))
