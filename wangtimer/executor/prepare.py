"""Requests as targets see them: what the timer's owner gave, and our headers."""

from functools import lru_cache

import orjson

from wangtimer.callback import Request
from wangtimer.callback.request import Headers
from wangtimer.core.firing import Member
from wangtimer.core.timer import Notify


def request_of(notify: Notify, app: str, member: Member) -> Request:
    """Return the complete request of one attempt.

    `webhook-id` (Standard Webhooks) is the firing's id, the same on every attempt: a target that has seen it
    drops the call. The other four say which timer, which scheduled moment (ms UTC), which attempt, whose.
    """
    timer_id, fire_at, attempt = member
    url, method, headers, body = notify
    if body and not _name_a_type(headers):
        headers = (*headers, ("Content-Type", _content_type(body)))
    return Request(
        url,
        method,
        (*headers, ("X-WangTimer-App", app)),
        body.encode(),
        b"webhook-id: %b\r\nX-WangTimer-Timer: %d\r\nX-WangTimer-Fire-At: %d\r\nX-WangTimer-Attempt: %d\r\n"
        % (member.firing_id.encode(), timer_id, fire_at, attempt),
        app,
    )


@lru_cache(maxsize=1_024)
def _name_a_type(headers: Headers) -> bool:
    return any(name.lower() == "content-type" for name, _ in headers)


@lru_cache(maxsize=1_024)
def _content_type(body: str) -> str:
    """A body without a content type gets the one it looks like."""
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return "text/plain; charset=utf-8"
    return "application/json"
