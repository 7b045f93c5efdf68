"""The request maker: makes the request of an order, signed as of now or of its moment."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from wangtimer.callback import Request
from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.origin import part_of_target
from wangtimer.core.messages.message_place import is_message_url
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.secret_parts import secret_texts
from wangtimer.core.timers.timer import Definition, Notify
from wangtimer.executor.prepare import refuse_unacknowledged, request_of, stamps_of
from wangtimer.executor.ready import Ready

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
