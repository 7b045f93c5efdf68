"""Calls that are messages, as an executor would prepare them."""

from collections.abc import Callable

from tests.callback.calls import Outcomes, PlainCall
from tests.made_requests import made_request
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.message_place import MessagePlace
from wangtimer.core.timers.call_options import AS_DEPLOYED, UNTOUCHED, CallForm, Timeouts
from wangtimer.core.timers.timer import Notify

FIRE_AT = 1_795_207_483_000
MEMBER = Member(7, FIRE_AT, 1)


def a_message(
    outcomes: Outcomes,
    place: MessagePlace,
    due_at_ms: float = 0,
    *,
    body: str = '{"order":7}',
    headers: tuple[tuple[str, str], ...] = (("X-Tag", "blue"),),
    member: Member = MEMBER,
    app: str = "app",
    keys: tuple[bytes, ...] = (),
    may_send: Callable[[], bool] = lambda: True,
    timeouts: Timeouts = AS_DEPLOYED,
    form: CallForm = UNTOUCHED,
) -> PlainCall:
    """Return a call that an engine of the broker may take."""
    notify = Notify(place.url, "", headers, body)
    request = made_request(notify, app, member, keys, FIRE_AT // 1_000, form)
    request.fault = ""
    return PlainCall(
        request,
        due_at_ms,
        may_send,
        outcomes._add_held_back,
        outcomes._add_reply,
        outcomes._add_without_room,
        timeouts,
    )
