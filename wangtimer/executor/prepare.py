"""Requests as targets see them: the owner's request, and the headers that describe the firing."""

from collections.abc import Sequence
from functools import lru_cache

import orjson

from wangtimer.callback import Request
from wangtimer.callback.request import Headers
from wangtimer.callback.reserved import is_ours
from wangtimer.core.flow.firing import Member
from wangtimer.core.signing.signature import signature_lines
from wangtimer.core.timers.timer import Notify

# Bodies up to so many characters are cached in large number, longer ones a few.
SMALL = 1_024


def request_of(
    notify: Notify, app: str, member: Member, keys: Sequence[bytes] = (), timestamp_s: int = 0
) -> Request:
    """Return the complete request of one attempt, signed with each of `keys` as of `timestamp_s` (s UTC).

    `webhook-id` (Standard Webhooks) is the firing's id, the same on every attempt: a target that has seen it
    drops the call. The other four name the timer, the scheduled moment (ms UTC), the attempt and the app.
    """
    url, method, headers, body, *_ = notify
    headers, name_a_type = _sent(headers)
    content, content_type = _written(body)
    if body and not name_a_type:
        headers = (*headers, ("Content-Type", content_type))
    return Request(
        url,
        method,
        (*headers, ("X-WangTimer-App", app)),
        content,
        stamps_of(member, content, keys, timestamp_s),
        app,
    )


def stamps_of(member: Member, body: bytes, keys: Sequence[bytes], timestamp_s: int) -> bytes:
    """Return the header lines that differ from attempt to attempt; without keys the attempt is not signed."""
    timer_id, fire_at, attempt = member
    firing_id = member.firing_id.encode()
    lines = (
        b"webhook-id: %b\r\nX-WangTimer-Timer: %d\r\nX-WangTimer-Fire-At: %d\r\nX-WangTimer-Attempt: %d\r\n"
        % (firing_id, timer_id, fire_at, attempt)
    )
    return lines + signature_lines(keys, firing_id, timestamp_s, body) if keys else lines


@lru_cache(maxsize=1_024)
def _sent(headers: Headers) -> tuple[Headers, bool]:
    """Return the owner's headers without reserved names, and whether one of them is the content type.

    The API refuses reserved names, but timers that were stored earlier may have them.
    """
    kept = tuple((name, value) for name, value in headers if not is_ours(name))
    return kept, any(name.lower() == "content-type" for name, _ in kept)


def _written(body: str) -> tuple[bytes, str]:
    """Return a body's bytes, and the content type it looks like; cached, since a timer's firings share them."""
    return (_written_small if len(body) <= SMALL else _written_large)(body)


def _as_written(body: str) -> tuple[bytes, str]:
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.encode(), "text/plain; charset=utf-8"
    return body.encode(), "application/json"


# Each takes some 5 MB at most.
_written_small = lru_cache(maxsize=1_024)(_as_written)
_written_large = lru_cache(maxsize=16)(_as_written)
