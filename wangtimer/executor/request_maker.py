"""The request maker: makes the request of an order as its target sees it, signed as of now or of its moment."""

from base64 import b64decode
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import orjson

from wangtimer.callback import Request
from wangtimer.callback.request import Headers, refuse_bad
from wangtimer.callback.reserved import is_ours
from wangtimer.core.errors import UnusableTls
from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.origin import part_of_path, part_of_target, read_url
from wangtimer.core.messages.celery_task import task_from
from wangtimer.core.messages.consumer_group import ConsumerGroup
from wangtimer.core.messages.message_place import PlaceKind, is_message_url, place_from
from wangtimer.core.signing.ack_token import ACK_HEADER
from wangtimer.core.signing.signature import signature_lines
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.call_options import AS_DEPLOYED, UNTOUCHED, CallForm
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.secret_parts import secret_texts
from wangtimer.core.timers.templates import Filling, filled
from wangtimer.core.timers.timer import Definition, Notify
from wangtimer.executor.ready import Ready
from wangtimer.messaging.celery_message import celery_body
from wangtimer.messaging.message import Message
from wangtimer.store.seals import Seals

# Bodies up to so many characters are cached in large number, longer ones a few.
SMALL = 1_024
# s; a call that waited longer in this process gets a new timestamp and signature. Receivers allow 300, of which most is
# left for clocks that differ. With 1 each call of a burst was signed twice, 18 % of the engine's samples.
OLDEST_TIMESTAMP_S = 30


class CallDraft(NamedTuple):
    """A call that is to be stamped: as its owner has it, and what its firing tells."""

    call: Notify
    order: CallOrder
    member: Member
    continuity: Continuity | None


class Stamp(Protocol):
    """What a feature writes into a request, the same at each look at an attempt. Any thread may use it."""

    @property
    def concerns(self) -> Callable[[CallOrder], object]:
        """Tells into which requests it writes.

        It is never asked of a call whose form, time-outs and fields of features are all as they are by default.
        """

    @property
    def is_secret(self) -> bool:
        """Whether no record may have the values that it writes."""

    def headers(self, draft: CallDraft) -> Headers:
        """Return the headers that it adds; raises ValueError where none can be made."""


class Stamped(NamedTuple):
    """The header lines of stamps, `b"name: value\\r\\n"` each, and which values of theirs are secret."""

    lines: bytes
    secrets: tuple[str, ...]


UNSTAMPED = Stamped(b"", ())


class Made(NamedTuple):
    """A request, signed with `keys` as of `timestamp_s` (s UTC).

    `secrets` are what an answer may repeat, and no record may have. `stamped` are the lines that stamps wrote.
    """

    request: Request
    keys: Sequence[bytes]
    timestamp_s: int
    secrets: Sequence[str]
    stamped: bytes


class RequestMaker:
    """Any thread may use it. Each of `stamps` writes what it has to write, in their order.

    `is_connected` tells whether consumers are there, and `fault_of` why no call of an app can have TLS; "": it can.
    """

    def __init__(
        self,
        seals: Seals,
        is_connected: Callable[[ConsumerGroup], bool],
        fault_of: Callable[[str], str],
        stamps: Sequence[Stamp],
        clock: Clock,
    ) -> None:
        self._seals = seals
        self._is_connected = is_connected
        self._fault_of = fault_of
        self._stamps = stamps
        self._clock = clock

    def make(self, ready: Ready) -> Made:
        """Return the request; raises `UnopenedSecrets`, and ValueError for an order of which none can be made."""
        held, due_at, order, _, definition, target, signing, continuity = ready
        signs_at = max(due_at, self._clock.now_ms())
        keys, timestamp_s = signing.keys_at(signs_at), int(signs_at // 1_000)
        call, form = self.call_of(definition, target), order.form
        # As `_is_plain` says, without a call of it for each firing.
        is_plain = form is UNTOUCHED and order.timeouts is AS_DEPLOYED and not order.further
        stamped, stamped_secrets = (
            UNSTAMPED
            if is_plain
            else stamped_by(self._stamps, CallDraft(call, order, held.member, continuity))
        )
        request = request_of(
            call,
            order,
            held.member,
            keys,
            timestamp_s,
            definition.schedule.timezone if form.templates else "",
            stamped,
            None if continuity is None else continuity.seq,
        )
        if isinstance(request, Message):
            refuse_unacknowledged(request)
        has_secrets = target is not None or definition.notify.sealed
        secrets = secret_texts(call, form.body_is_base64) if has_secrets else ()
        return Made(
            request, keys, timestamp_s, (*secrets, *stamped_secrets) if stamped_secrets else secrets, stamped
        )

    def call_of(self, definition: Definition, target: NamedTarget | None) -> Notify:
        """Return the call that a firing makes, through the target that is named; raises `UnopenedSecrets`."""
        call, app = definition.notify, definition.app
        if call.sealed:
            call = self._seals.call_of(definition)
        if target is not None:
            call = target.called_by(call)
        if is_message_url(call.url):
            place = place_from(call.url)
            if place.fallback and not self._is_connected(ConsumerGroup(app, place.name)):
                call = call._replace(url=place.fallback, method="POST")
        fault = self._fault_of(app)
        if fault and read_url(call.url)[0].is_tls:
            raise UnusableTls(definition.timer_id, fault)
        return call

    def signed_anew(self, member: Member, made: Made) -> Made:
        """Return the same request, with a new signature if that is old by now."""
        now_s = int(self._clock.now_ms() // 1_000)
        if now_s <= made.timestamp_s + OLDEST_TIMESTAMP_S:
            return made
        lines = attempt_lines(member, made.request.body, made.keys, now_s, made.stamped)
        return made._replace(request=made.request.with_stamps(lines), timestamp_s=now_s)


def stamped_by(stamps: Sequence[Stamp], draft: CallDraft) -> Stamped:
    """Return what these stamps write: nothing into a plain call.

    Raises ValueError for a header that would break out of its line.
    """
    if _is_plain(draft.order):
        return UNSTAMPED
    lines, secrets = [], []
    for stamp in stamps:
        if stamp.concerns(draft.order):
            headers = stamp.headers(draft)
            refuse_bad(headers)
            lines += [f"{name}: {value}\r\n" for name, value in headers]
            if stamp.is_secret:
                secrets += [value for _, value in headers]
    return Stamped("".join(lines).encode(), tuple(secrets))


def _is_plain(order: CallOrder) -> bool:
    return order.form is UNTOUCHED and order.timeouts is AS_DEPLOYED and not order.further


def request_of(
    notify: Notify,
    order: CallOrder,
    member: Member,
    keys: Sequence[bytes] = (),
    timestamp_s: int = 0,
    timezone: str = "UTC",
    stamped: bytes = b"",
    seq: int | None = None,
) -> Request:
    """Return the complete request of one attempt, signed with each of `keys` as of `timestamp_s` (s UTC).

    `webhook-id` (Standard Webhooks) is the firing's id, the same on every attempt: a target that has seen it
    drops the call. The other four name the timer, the scheduled moment (ms UTC), the attempt and the app. The order's
    form says what is written into it; `timezone` is the timer's. `stamped` are the lines that stamps wrote. `seq` is
    the firing's number; None: it has none.
    """
    form, app = order.form, order.app
    # The part of its host that it calls; None: by its path, as its owner wrote it.
    part = part_of_target(order.target) if order.target_version else None
    if form.templates:
        part = part_of_path(read_url(notify.url)[1]) if part is None else part
        notify = _filled(_with_a_type(notify, form), app, member, form, timezone, seq)
    url, method, headers, body, *_ = notify
    if is_message_url(url):
        return _message_of(notify, order, member, keys, timestamp_s, stamped)
    content, content_type = _bytes_of(body) if form.body_is_base64 else _written(body)
    return Request(
        url,
        method,
        _completed(headers, content_type if body else "", app),
        content,
        attempt_lines(member, content, keys, timestamp_s, stamped),
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


def _message_of(
    notify: Notify,
    order: CallOrder,
    member: Member,
    keys: Sequence[bytes],
    timestamp_s: int,
    stamped: bytes,
) -> Message:
    """Return the message that goes to a broker instead; raises ValueError for a body that is no Celery task."""
    task = None
    if place_from(notify.url).kind is PlaceKind.CELERY:
        task = task_from(notify.body)
        content, content_type = celery_body(task.args, task.kwargs), "application/json"
    elif order.form.body_is_base64:
        content, content_type = _bytes_of(notify.body)
    else:
        content, content_type = _written(notify.body)
    return Message(
        notify.url,
        _completed(notify.headers, content_type if notify.body else "", order.app),
        content,
        attempt_lines(member, content, keys, timestamp_s, stamped),
        order.app,
        member,
        task,
        order.timeouts.ack_ms or 0,
    )


def refuse_unacknowledged(message: Message) -> None:
    """Raise ValueError for a message without a token, if it is for consumers: they could not say that it is done."""
    if message.place.kind is PlaceKind.CONSUMERS and ACK_HEADER not in message.fields:
        raise ValueError(
            "consumers get no firing that they cannot acknowledge: its target has no ackTimeout, or this deployment "
            "has lost its key (WANGTIMER_SECRET_KEYS_FILE)"
        )


def attempt_lines(
    member: Member, body: bytes, keys: Sequence[bytes], timestamp_s: int, stamped: bytes = b""
) -> bytes:
    """Return the header lines that differ from attempt to attempt; without keys the attempt is not signed."""
    timer_id, fire_at, attempt = member
    lines = (
        b"webhook-id: %d-%d\r\nX-WangTimer-Timer: %d\r\nX-WangTimer-Fire-At: %d\r\nX-WangTimer-Attempt: %d\r\n"
        % (timer_id, fire_at, timer_id, fire_at, attempt)
    )
    if stamped:
        lines += stamped
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
