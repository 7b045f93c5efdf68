"""Requests as targets see them: the owner's request, and the headers that describe the firing."""

from collections.abc import Sequence
from functools import lru_cache

import orjson

from wangtimer.callback import Request
from wangtimer.callback.request import Headers
from wangtimer.callback.reserved import is_ours
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.celery_task import task_from
from wangtimer.core.messages.message_place import PlaceKind, is_message_url, place_from
from wangtimer.core.signing.signature import signature_lines
from wangtimer.core.timers.timer import Notify
from wangtimer.messaging.celery_message import celery_body
from wangtimer.messaging.message import Message

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
    if is_message_url(url):
        return _message_of(notify, app, member, keys, timestamp_s)
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


def _message_of(notify: Notify, app: str, member: Member, keys: Sequence[bytes], timestamp_s: int) -> Message:
    """Return the message that goes to a broker instead; raises ValueError for a body that is no Celery task."""
    headers, name_a_type = _sent(notify.headers)
    task = None
    if place_from(notify.url).kind is PlaceKind.CELERY:
        task = task_from(notify.body)
        content, content_type = celery_body(task.args, task.kwargs), "application/json"
    else:
        content, content_type = _written(notify.body)
    if notify.body and not name_a_type:
        headers = (*headers, ("Content-Type", content_type))
    return Message(
        notify.url,
        (*headers, ("X-WangTimer-App", app)),
        content,
        stamps_of(member, content, keys, timestamp_s),
        app,
        member.firing_id,
        member.fire_at,
        task,
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
