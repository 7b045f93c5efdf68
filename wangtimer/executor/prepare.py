"""Requests as targets see them: what the timer's owner gave, and our headers."""

from functools import lru_cache

import orjson

from wangtimer.callback import Request
from wangtimer.core.firing import Member
from wangtimer.core.timer import Notify


def request_of(notify: Notify, app: str, member: Member) -> Request:
    """Return the complete request of one attempt.

    `webhook-id` (Standard Webhooks) is the firing's id, the same on every attempt: a target that has seen it
    drops the call. The other four say which timer, which scheduled moment (ms UTC), which attempt, whose.
    """
    timer_id, fire_at, attempt = member
    return _same_for_all(notify, app).stamped(
        [
            b"webhook-id: %b" % member.firing_id.encode(),
            b"X-WangTimer-Timer: %d" % timer_id,
            b"X-WangTimer-Fire-At: %d" % fire_at,
            b"X-WangTimer-Attempt: %d" % attempt,
        ]
    )


@lru_cache(maxsize=8_192)
def _same_for_all(notify: Notify, app: str) -> Request:
    """Return what every attempt of a timer has in common; ValueError where it makes no request."""
    headers = (*_own_headers(notify), ("X-WangTimer-App", app))
    return Request(notify.url, notify.method, headers, notify.body.encode())


def _own_headers(notify: Notify) -> tuple[tuple[str, str], ...]:
    """The owner's headers; a body without a content type gets the one it looks like."""
    if not notify.body or any(name.lower() == "content-type" for name, _ in notify.headers):
        return notify.headers
    return (*notify.headers, ("Content-Type", _content_type(notify.body)))


def _content_type(body: str) -> str:
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return "text/plain; charset=utf-8"
    return "application/json"
