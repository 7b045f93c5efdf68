"""How many requests an app may send: each request of an app's key takes one of its quota; operators have none."""

from flask import Response, g

from wangtimer.core.apps.described_limits import AppLimit, LimitsInForce
from wangtimer.core.errors import Limited, TooFast
from wangtimer.store.redis.quotas import Quota, QuotaTaken
from wangtimer.wiring import Wiring

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
