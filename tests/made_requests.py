"""Requests as a deployment with each of the stamps makes them, and firings that are ready for them."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from wangtimer.callback import Request
from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import Member
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.signing.ack_token import AckTokens
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.timers.call_options import UNTOUCHED, CallForm, Timeouts
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Definition, Notify, TimerStatus
from wangtimer.executor.claim import Held
from wangtimer.executor.ready import Ready
from wangtimer.executor.request_maker import CallDraft, request_of, stamped_by
from wangtimer.executor.stamps.acknowledgement import AcknowledgementStamp
from wangtimer.executor.stamps.cloud_event import CloudEventStamp
from wangtimer.executor.stamps.numbers import NumbersStamp


def made_request(
    notify: Notify,
    app: str,
    member: Member,
    keys: Sequence[bytes] = (),
    timestamp_s: int = 0,
    form: CallForm = UNTOUCHED,
    timezone: str = "UTC",
    ack_token: str = "",
    ack_ms: int = 60_000,
    continuity: Continuity | None = None,
) -> Request:
    """Return the request of a timer without a named target; its target acknowledges it by `ack_token`, if any."""
    form = form if continuity is None else form._replace(numbered=True)
    timeouts = Timeouts(ack_ms=ack_ms) if ack_token else Timeouts()
    definition = Definition(
        member.timer_id,
        app,
        1,
        TimerStatus.ENABLED,
        Once(member.fire_at),
        notify,
        timeouts=timeouts,
        form=form,
    )
    order, tokens = CallOrder(definition, None), cast("AckTokens", SimpleNamespace(token=lambda _: ack_token))
    stamps = (CloudEventStamp(), NumbersStamp(), AcknowledgementStamp(tokens))
    stamped = stamped_by(stamps, CallDraft(notify, order, member, continuity)).lines
    seq = None if continuity is None else continuity.seq
    return request_of(notify, order, member, keys, timestamp_s, timezone, stamped, seq)


def ready(
    held: Held,
    due_at: int,
    definition: Definition,
    bucket: int,
    signing: AppSigning,
    target: NamedTarget | None = None,
    continuity: Continuity | None = None,
) -> Ready:
    """Return a member that is ready, with the order of its call."""
    order = CallOrder(definition, target)
    return Ready(held, due_at, order, bucket, definition, target, signing, continuity)
