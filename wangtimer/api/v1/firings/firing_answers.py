"""A firing as v1 shows it, and its request as it was sent, where that is certain."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.timer_terms.timer_field_types import LastOutput, Lateness, ShownKind, WaitedFor
from wangtimer.api.v1.value_types import ListPage, Text
from wangtimer.callback.request import Request
from wangtimer.core.errors import UnknownTarget, UnopenedSecrets
from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import Firing, FiringStatus, Member
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.call_options import CallForm
from wangtimer.core.timers.change_delay import COUNTS_WITHIN_MS
from wangtimer.core.timers.named_target import NamedTarget, through
from wangtimer.core.timers.secret_parts import MASK, masked_url
from wangtimer.core.timers.timer import Definition, Timer
from wangtimer.executor.request_maker import CallDraft, request_of, stamped_by
from wangtimer.messaging.message import Message
from wangtimer.store.sql.firing_lists import AttemptRecord, FiringHistory
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.store.sql.timer_lists import TimerLabel
from wangtimer.timers.shown_request import shown_header, shown_target
from wangtimer.wiring import Wiring

RequestState = Literal["as_sent", "not_sent", "timer_changed"]


class SentRequest(Sent):
    """The request of the last attempt that was sent. Secrets are masked: `***`."""

    attempt: int
    """which attempt it was, from 1"""
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] | None = None
    """not there: it was a message, which has none"""
    url: Annotated[str, Field(examples=["https://shop.example/orders/expire?token=***"])]
    """masked are the user and password, and query values that are long or have names such as token, key or code"""
    headers: Annotated[
        dict[str, list[str]],
        Field(examples=[{"Authorization": ["***"], "webhook-id": ["890342217101453-1795198611123"]}]),
    ]
    """each header that went over the connection, with its values, but webhook-timestamp, webhook-signature,
    X-WangTimer-Last-Success and X-WangTimer-Lost-Since; all are masked but those of headers that hold no secrets, such
    as Content-Type, User-Agent and those of the service"""
    body: str
    """as it was sent, in Base64 where `bodyIsBase64` is true; empty: none; ***: the owner marked it as secret"""


def sent_request(
    history: FiringHistory, timer: Timer | None, wiring: Wiring
) -> tuple[RequestState, SentRequest | None]:
    """Return the request of the last attempt that was sent, and whether it is known.

    The request is made again from the timer (None: the timer is deleted), and the target that it names. It is not known
    where one of them was changed after the attempt was sent, or so shortly before that the change may not have taken
    effect.
    """
    sent = next(
        (
            (attempt.number, attempt.sent_at)
            for attempt in reversed(history.attempts)
            if attempt.sent_at is not None
        ),
        None,
    )
    if sent is None:
        return "not_sent", None
    number, sent_at = sent
    if timer is None or not _is_as_it_was(timer, sent_at):
        return "timer_changed", None
    target = _target_of(timer.definition, wiring)
    if timer.definition.notify.target and (target is None or not _was_so(target, sent_at)):
        return "timer_changed", None
    return "as_sent", _request(timer, target, history.record.firing, number, wiring)


def _target_of(definition: Definition, wiring: Wiring) -> NamedTarget | None:
    """Return the named target that a call goes through, whole where it can be opened; None: there is none."""
    if not definition.notify.target:
        return None
    try:
        target = wiring.target_store.get(definition.app, definition.notify.target)
    except UnknownTarget:
        return None
    with suppress(UnopenedSecrets):
        return wiring.seals.opened(target)
    return target


def _was_so(target: NamedTarget, sent_at: int) -> bool:
    return target.created_at == target.updated_at or target.updated_at + COUNTS_WITHIN_MS <= sent_at


def _is_as_it_was(timer: Timer, sent_at: int) -> bool:
    # No change made the first version.
    return timer.definition.version == 1 or timer.updated_at + COUNTS_WITHIN_MS <= sent_at


def _request(
    timer: Timer, target: NamedTarget | None, firing: Firing, attempt: int, wiring: Wiring
) -> SentRequest:
    definition = timer.definition
    try:
        call = wiring.seals.call_of(definition)
    except UnopenedSecrets:
        call = definition.notify
    call = through(target, call)
    order = CallOrder(definition, target)
    form = order.form
    member, zone = Member(timer.id, firing.fire_at, attempt), definition.schedule.timezone
    # What was lost before it by then, nobody knows any more.
    numbers = Continuity(firing.seq, None, None) if form.numbered else None
    open_stamps = [stamp for stamp in wiring.stamps if not stamp.is_secret]
    stamped = stamped_by(open_stamps, CallDraft(call, order, member, numbers)).lines
    request = request_of(call, order, member, timezone=zone, stamped=stamped, seq=numbers and numbers.seq)
    headers: dict[str, list[str]] = {}
    for name, _, value in _header_lines(request):
        is_marked = name.lower() in call.marks.headers
        shown = MASK if is_marked else shown_header(name, value.removeprefix(" "))
        headers.setdefault(name, []).append(shown)
    is_secret = call.marks.body and request.body
    return SentRequest(
        attempt=attempt,
        method=request.method or None,
        url=shown_target(masked_url(request.url, call.marks.query)),
        headers=headers,
        body=MASK if is_secret else _shown_body(request.body, form),
    )


def _header_lines(request: Request) -> Iterator[tuple[str, str, str]]:
    if isinstance(request, Message):
        yield from ((name, ":", value) for name, value in request.fields.items())
        return
    for line in request.head.decode(errors="replace").split("\r\n")[1:-2]:
        yield line.partition(":")


def _shown_body(body: bytes, form: CallForm) -> str:
    return b64encode(body).decode() if form.body_is_base64 else body.decode(errors="replace")


StatusWord = Literal["pending", "accepted", "succeeded", "failed", "skipped"]
ShownUrl = Annotated[
    str | None,
    Field(
        description="what its timer calls now, secrets masked; null: it goes through a named target, or is deleted",
        examples=["https://shop.example/orders/expire"],
    ),
]


class ShownFiring(Sent):
    """A firing: one moment of one timer, and its outcome."""

    id: Annotated[str, Field(examples=["890342217101453-1795198611123"])]
    """the header webhook-id of its callbacks, the same on every attempt"""
    timer_id: int
    timer_key: str | None
    """its timer's key; null: the timer is long deleted"""
    url: ShownUrl
    target: str | None
    """the named target that its timer calls through now; null: none"""
    app: str
    fire_at: Annotated[Text, Field(description="its scheduled moment")]
    status: StatusWord
    kind: ShownKind
    attempt: int
    """from 1: the last attempt made, or the next one to make"""
    first_sent_at: Text | None
    """null: nothing was sent"""
    lateness_ms: Lateness
    duration_ms: int | None
    """of the last attempt's call; null: no attempt yet"""
    http_status: int | None
    output: LastOutput
    error: str
    next_attempt_at: Text | None = None
    """while it is pending: when its next attempt is due; `waitedFor` says what it waits for then"""
    waited_for: WaitedFor
    host_failing_ms: int | None
    """while its last attempt waited to be sent, how long its host was failing, in ms: calls to a host that is failing
    wait, and one at a time tries it; null: not at all"""
    accepted_at: Text | None = None
    """its target answered 202, to say later that it is done; not there: it did not"""
    ack_by: Text | None = None
    """while it is accepted: without a word by then its attempt has failed"""
    done_at: Text | None = None
    """its target said that it is done"""
    seq: int | None = None
    """its number among the planned firings of its timer, from 1, as X-WangTimer-Sequence tells it; not there: the timer
    was not numbered when it was planned, or somebody asked for it"""


class ShownAttempt(Sent):
    """One attempt; durations in ms from the start of its call."""

    attempt: int
    """from 1"""
    status: Literal["accepted", "succeeded", "failed", "skipped"]
    """failed, even when another attempt follows; accepted: its target has still to say that it is done"""
    made_at: Text | None
    """when it was sent, or where not a byte was, when its call began; null: no call was made"""
    sent_at: Text | None
    """null: not a byte was sent"""
    lateness_ms: int | None
    """its send minus the firing's scheduled moment"""
    connect_ms: int | None
    """until the connection was open, 0 where it was open before; null: it never was"""
    first_byte_ms: int | None
    """until the answer began; null: there was no answer"""
    duration_ms: int | None
    """until the answer ended, or the attempt failed without one"""
    http_status: int | None
    output: str
    """the start of the target's answer"""
    error: str


class ShownHistory(ShownFiring):
    """A firing with its attempts so far, the first one first, and the request as it was sent."""

    attempts: list[ShownAttempt]
    request: SentRequest | None
    """the request of the last attempt that was sent; null: requestState says why"""
    request_state: RequestState
    """as_sent: request is what was sent. not_sent: nothing was sent yet. timer_changed: the request is not known,
    because the timer was changed or deleted since it was sent, or less than 8 s before"""


class FiringPage(ListPage):
    """A page of firings, latest first."""

    items: list[ShownFiring]


def firing_fields(record: FiringRecord, label: TimerLabel) -> dict[str, Any]:
    """Return the fields of a `ShownFiring` that its record has elsewhere; `label` is its timer's."""
    firing = record.firing
    return {
        "id": firing.member.firing_id,
        "timer_id": firing.timer_id,
        "timer_key": label.key,
        "url": label.url,
        "target": label.target,
        "app": label.app,
        "fire_at": firing.fire_at,
        "status": firing.status,
        "kind": firing.kind,
        "attempt": firing.attempt,
        "duration_ms": record.cost_ms,
        "next_attempt_at": firing.due_at if firing.status is FiringStatus.PENDING else None,
        "waited_for": SharedLane(firing.lane).shown,
        "ack_by": firing.due_at if firing.status is FiringStatus.ACCEPTED else None,
        "seq": firing.seq,
    }


def shown_history(
    history: FiringHistory, label: TimerLabel, timer: Timer | None, wiring: Wiring
) -> ShownHistory:
    """Return a firing of a timer with its attempts; None: the timer is deleted."""
    record = history.record
    attempts = [_shown_attempt(attempt, record.firing.fire_at) for attempt in history.attempts]
    state, request = sent_request(history, timer, wiring)
    return ShownHistory.of(
        record, **firing_fields(record, label), attempts=attempts, request=request, request_state=state
    )


def _shown_attempt(attempt: AttemptRecord, fire_at: int) -> ShownAttempt:
    lateness_ms = None if attempt.sent_at is None else attempt.sent_at - fire_at
    return ShownAttempt.of(
        attempt, attempt=attempt.number, duration_ms=attempt.cost_ms, lateness_ms=lateness_ms
    )
