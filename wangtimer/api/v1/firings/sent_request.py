"""The request of a firing as it was sent, where that is certain."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Annotated, Literal, Protocol

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.callback.request import Request
from wangtimer.core.errors import UnopenedSecrets
from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import Firing, Member
from wangtimer.core.timers.call_form import CallForm
from wangtimer.core.timers.named_target import NamedTarget, through
from wangtimer.core.timers.secret_names import MASK
from wangtimer.core.timers.secret_parts import masked_url
from wangtimer.core.timers.timer import Definition, Notify, Timer
from wangtimer.core.timers.told import COUNTS_WITHIN_MS
from wangtimer.executor.prepare import request_of
from wangtimer.messaging.message import Message
from wangtimer.shown_request import shown_header, shown_target
from wangtimer.store.sql.attempts import FiringHistory

RequestState = Literal["as_sent", "not_sent", "timer_changed"]


class SentRequest(Sent):
    """The request of the last attempt that was sent. Secrets are masked: `***`."""

    attempt: Annotated[int, Field(description="which attempt it was, from 1")]
    method: Annotated[
        Literal["GET", "POST", "PUT", "PATCH", "DELETE"] | None,
        Field(description="not there: it was a message, which has none"),
    ] = None
    url: Annotated[
        str,
        Field(
            description="masked are the user and password, and query values that are long or have names such as token, "
            "key or code",
            examples=["https://shop.example/orders/expire?token=***"],
        ),
    ]
    headers: Annotated[
        dict[str, list[str]],
        Field(
            description="each header that went over the connection, with its values, but webhook-timestamp, "
            "webhook-signature, X-WangTimer-Last-Success and X-WangTimer-Lost-Since; all are masked but those of "
            "headers that hold no secrets, such as Content-Type, User-Agent and those of the service",
            examples=[{"Authorization": ["***"], "webhook-id": ["890342217101453-1795198611123"]}],
        ),
    ]
    body: Annotated[
        str,
        Field(
            description="as it was sent, in Base64 where `bodyIsBase64` is true; empty: none; ***: the owner marked it "
            "as secret"
        ),
    ]


class Calls(Protocol):
    """Tells what calls are made of."""

    def call_of(self, one: Definition, /) -> Notify:
        """Return a definition's call with its secrets; raises `UnopenedSecrets`."""

    def target_of(self, one: Definition, /) -> NamedTarget | None:
        """Return the named target that the call goes through, whole where it can be opened; None: there is none."""


def sent_request(
    history: FiringHistory, timer: Timer | None, calls: Calls
) -> tuple[RequestState, SentRequest | None]:
    """Return the request of the last attempt that was sent, and whether it is known.

    The request is made again from the timer (None: the timer is deleted), and the target that it names. It is not known
    where one of them was changed after the attempt was sent, or so shortly before that the change may not have taken
    effect.
    """
    sent = next(
        ((one.number, one.sent_at) for one in reversed(history.attempts) if one.sent_at is not None), None
    )
    if sent is None:
        return "not_sent", None
    number, sent_at = sent
    if timer is None or not _is_as_it_was(timer, sent_at):
        return "timer_changed", None
    target = calls.target_of(timer.definition)
    if timer.definition.notify.target and (target is None or not _was_so(target, sent_at)):
        return "timer_changed", None
    return "as_sent", _request(timer, target, history.record.firing, number, calls)


def _was_so(target: NamedTarget, sent_at: int) -> bool:
    return target.created_at == target.updated_at or target.updated_at + COUNTS_WITHIN_MS <= sent_at


def _is_as_it_was(timer: Timer, sent_at: int) -> bool:
    # No change made the first version.
    return timer.definition.version == 1 or timer.updated_at + COUNTS_WITHIN_MS <= sent_at


def _request(
    timer: Timer, target: NamedTarget | None, firing: Firing, attempt: int, calls: Calls
) -> SentRequest:
    definition = timer.definition
    try:
        call = calls.call_of(definition)
    except UnopenedSecrets:
        call = definition.notify
    call = through(target, call)
    form = CallOrder(definition, target).form
    member, zone = Member(timer.id, firing.fire_at, attempt), definition.schedule.timezone
    # What was lost before it by then, nobody knows any more.
    numbers = Continuity(firing.seq, None, None) if form.numbered else None
    request = request_of(call, definition.app, member, form=form, timezone=zone, continuity=numbers)
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
