"""The request maker: makes the request of an order as its target sees it, signed as of now or of its moment."""

from base64 import b64decode
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

import orjson

from wangtimer.callback import Request
from wangtimer.callback.request import Headers
from wangtimer.callback.reserved import is_ours
from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.origin import part_of_path, part_of_target, read_url
from wangtimer.core.messages.celery_task import task_from
from wangtimer.core.messages.message_place import PlaceKind, is_message_url, place_from
from wangtimer.core.signing.signature import signature_lines
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.timers.call_options import UNTOUCHED, CallForm
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.secret_parts import secret_texts
from wangtimer.core.timers.templates import Filling, filled
from wangtimer.core.timers.timer import Definition, Notify
from wangtimer.executor.ready import Ready
from wangtimer.messaging.celery_message import celery_body
from wangtimer.messaging.message import Message

# What happened, in a CloudEvent: a moment of a timer has come.
EVENT_TYPE = "wangtimer.firing"
# Bodies up to so many characters are cached in large number, longer ones a few.
SMALL = 1_024
# s; a call that waited longer in this process gets a new timestamp and signature. Receivers allow 300, of which most is
# left for clocks that differ. With 1 each call of a burst was signed twice, 18 % of the engine's samples.
OLDEST_TIMESTAMP_S = 30
# Returns the call that a firing makes, through the target that its definition names. Raises `UnopenedSecrets`.
CallOf = Callable[[Definition, NamedTarget | None], Notify]


class Made(NamedTuple):
    """A request, signed with `keys` as of `timestamp_s` (s UTC).

    `secrets` are what an answer may repeat, and no record may have. `ack_token` is what its target acknowledges it by;
    "": its answer is the outcome.
    """

    request: Request
    keys: Sequence[bytes]
    timestamp_s: int
    secrets: Sequence[str]
    ack_token: str


class RequestMaker:
    """Any thread may use it."""

    def __init__(self, call_of: CallOf, ack_token_of: Callable[[Member], str], clock: Clock) -> None:
        self._call_of = call_of
        self._ack_token_of = ack_token_of
        self._clock = clock

    def make(self, ready: Ready) -> Made:
        """Return the request; raises `UnopenedSecrets`, and ValueError for an order of which none can be made."""
        held, due_at, order, _, definition, target, signing, continuity = ready
        signs_at = max(due_at, self._clock.now_ms())
        keys, timestamp_s = signing.keys_at(signs_at), int(signs_at // 1_000)
        call, form, ack_ms = self._call_of(definition, target), order.form, order.timeouts.ack_ms
        token = "" if ack_ms is None else self._ack_token_of(held.member)
        if not token and is_message_url(call.url):
            refuse_unacknowledged(call.url)
        request = request_of(
            call,
            order.app,
            held.member,
            keys,
            timestamp_s,
            form,
            definition.schedule.timezone if form.templates else "",
            token,
            ack_ms,
            continuity,
            None if target is None else part_of_target(target.name),
        )
        has_secrets = target is not None or definition.notify.sealed
        secrets = secret_texts(call, form.body_is_base64) if has_secrets else ()
        return Made(request, keys, timestamp_s, (*secrets, token) if token else secrets, token)

    def signed_anew(self, member: Member, made: Made) -> Made:
        """Return the same request, with a new signature if that is old by now."""
        now_s = int(self._clock.now_ms() // 1_000)
        if now_s <= made.timestamp_s + OLDEST_TIMESTAMP_S:
            return made
        stamps = stamps_of(member, made.request.body, made.keys, now_s, made.ack_token)
        return made._replace(request=made.request.with_stamps(stamps), timestamp_s=now_s)


def request_of(
    notify: Notify,
    app: str,
    member: Member,
    keys: Sequence[bytes] = (),
    timestamp_s: int = 0,
    form: CallForm = UNTOUCHED,
    timezone: str = "UTC",
    ack_token: str = "",
    ack_ms: int | None = None,
    continuity: Continuity | None = None,
    part: str | None = None,
) -> Request:
    """Return the complete request of one attempt, signed with each of `keys` as of `timestamp_s` (s UTC).

    `webhook-id` (Standard Webhooks) is the firing's id, the same on every attempt: a target that has seen it
    drops the call. The other four name the timer, the scheduled moment (ms UTC), the attempt and the app. `form` says
    what is written into it; `timezone` is the timer's. `ack_token` is the value of X-WangTimer-Ack-Token; "": none.
    `ack_ms` is how long the target has to say that it is done. `continuity` is told of a numbered timer.
    `part` is the part of its host that it calls; None: by its path, as its owner wrote it.
    """
    if form.templates:
        part = part_of_path(read_url(notify.url)[1]) if part is None else part
        seq = None if continuity is None else continuity.seq
        notify = _filled(_with_a_type(notify, form), app, member, form, timezone, seq)
    url, method, headers, body, *_ = notify
    if is_message_url(url):
        return _message_of(notify, app, member, keys, timestamp_s, form, ack_token, ack_ms, continuity)
    content, content_type = _bytes_of(body) if form.body_is_base64 else _written(body)
    headers = _completed(headers, content_type if body else "", app)
    if form.cloud_events:
        headers = _as_event(headers, app, member, continuity)
    return Request(
        url,
        method,
        headers if continuity is None else (*headers, *continuity.headers),
        content,
        stamps_of(member, content, keys, timestamp_s, ack_token),
        app,
        part=part,
    )


def _with_a_type(notify: Notify, form: CallForm) -> Notify:
    """Return the call with the content type that its body looks like: it is escaped and sent as the same one."""
    if form.body_is_base64 or not notify.body or _sent(notify.headers)[1]:
        return notify
    return notify._replace(headers=(*notify.headers, ("Content-Type", _written(notify.body)[1])))


def _filled(
    notify: Notify, app: str, member: Member, form: CallForm, timezone: str, seq: int | None
) -> Notify:
    """Return the call with its placeholders filled in; a body in Base64 has none."""
    filling = Filling(app, timezone, *member, member.firing_id, seq)
    if form.body_is_base64:
        return filled(notify._replace(body=""), filling, "")._replace(body=notify.body)
    types = [value for name, value in notify.headers if name.lower() == "content-type"]
    return filled(notify, filling, types[0] if types else "")


def _bytes_of(body: str) -> tuple[bytes, str]:
    return b64decode(body, validate=True), "application/octet-stream"


def _as_event(headers: Headers, app: str, member: Member, continuity: Continuity | None) -> Headers:
    """Return the headers with those of a CloudEvent 1.0 in binary mode; the owner's own stay as they are."""
    given = {name.lower() for name, _ in headers}
    attributes: Headers = (
        ("ce-specversion", "1.0"),
        ("ce-id", member.firing_id),
        # A URI, and values of these headers are percent-encoded once more (HTTP binding of CloudEvents, 3.1.3.2).
        ("ce-source", f"/apps/{quote(quote(app, safe=''))}/timers/{member.timer_id}"),
        ("ce-type", EVENT_TYPE),
        ("ce-time", show_moment(member.fire_at)),
    )
    sequence = None if continuity is None else continuity.event_sequence
    if sequence is not None:
        # Extension "sequence" of CloudEvents: texts that compare as what they stand for.
        attributes = (*attributes, ("ce-sequence", sequence))
    return (*headers, *(pair for pair in attributes if pair[0] not in given))


def _message_of(
    notify: Notify,
    app: str,
    member: Member,
    keys: Sequence[bytes],
    timestamp_s: int,
    form: CallForm,
    ack_token: str,
    ack_ms: int | None,
    continuity: Continuity | None,
) -> Message:
    """Return the message that goes to a broker instead; raises ValueError for a body that is no Celery task."""
    headers, task = notify.headers, None
    if place_from(notify.url).kind is PlaceKind.CELERY:
        task = task_from(notify.body)
        content, content_type = celery_body(task.args, task.kwargs), "application/json"
    else:
        content, content_type = _bytes_of(notify.body) if form.body_is_base64 else _written(notify.body)
    headers = _completed(headers, content_type if notify.body else "", app)
    if form.cloud_events:
        headers = _as_event(headers, app, member, continuity)
    return Message(
        notify.url,
        headers if continuity is None else (*headers, *continuity.headers),
        content,
        stamps_of(member, content, keys, timestamp_s, ack_token),
        app,
        member.firing_id,
        member.fire_at,
        task,
        ack_ms or 0,
    )


def refuse_unacknowledged(url: str) -> None:
    """Raise ValueError for a call without a token, if it is for consumers: they could not say that it is done."""
    if is_message_url(url) and place_from(url).kind is PlaceKind.CONSUMERS:
        raise ValueError(
            "consumers get no firing that they cannot acknowledge: its target has no ackTimeout, or this deployment "
            "has lost its key (WANGTIMER_SECRET_KEYS_FILE)"
        )


def stamps_of(
    member: Member, body: bytes, keys: Sequence[bytes], timestamp_s: int, ack_token: str = ""
) -> bytes:
    """Return the header lines that differ from attempt to attempt; without keys the attempt is not signed."""
    timer_id, fire_at, attempt = member
    lines = (
        b"webhook-id: %d-%d\r\nX-WangTimer-Timer: %d\r\nX-WangTimer-Fire-At: %d\r\nX-WangTimer-Attempt: %d\r\n"
        % (timer_id, fire_at, timer_id, fire_at, attempt)
    )
    if ack_token:
        lines += b"X-WangTimer-Ack-Token: %b\r\n" % ack_token.encode()
    return lines + signature_lines(keys, member.firing_id.encode(), timestamp_s, body) if keys else lines


def _sent(headers: Headers) -> tuple[Headers, bool]:
    """Return the owner's headers without reserved names, and whether one of them is the content type.

    The API refuses reserved names; a timer may have one that was reserved after it was made.
    """
    kept = tuple((name, value) for name, value in headers if not is_ours(name))
    return kept, any(name.lower() == "content-type" for name, _ in kept)


@lru_cache(maxsize=1_024)  # firings of a timer share theirs, and most timers of an app
def _completed(headers: Headers, content_type: str, app: str) -> Headers:
    """Return the owner's headers, a content type if they name none ("": none), and the app."""
    kept, name_a_type = _sent(headers)
    added = (("Content-Type", content_type),) if content_type and not name_a_type else ()
    return (*kept, *added, ("X-WangTimer-App", app))


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
