"""What a target is sent of a timer's headers."""

import pytest

from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind, consumers_place
from wangtimer.core.timers.call_options import CallForm
from wangtimer.core.timers.timer import Notify
from wangtimer.executor.request_maker import request_of
from wangtimer.messaging.celery_message import celery_parts
from wangtimer.messaging.message import Message

MEMBER = Member(7, 1_000, 2)


def environ_names(notify: Notify) -> list[str]:
    """The names under which a WSGI server hands the headers to its application."""
    headers = request_of(notify, "shop", MEMBER).headers
    return [f"HTTP_{name.upper().replace('-', '_')}" for name, _ in headers]


@pytest.mark.parametrize(
    "name", ["webhook_id", "X_WangTimer_App", "X-WangTimer_Timer", "X_WANGTIMER-FIRE_AT"]
)
def test_a_stored_header_that_passes_for_ours_is_not_sent(name: str) -> None:
    """Timers stored before such names were refused still have them."""
    notify = Notify("http://a/", headers=(("X-Own", "1"), (name, "forged")), body="{}")
    request = request_of(notify, "shop", MEMBER)
    assert "forged" not in {value for _, value in request.headers}
    assert b"forged" not in (request.wire or b"")
    assert ("X-Own", "1") in request.headers
    names = environ_names(notify)
    assert len(names) == len(set(names))


def test_headers_that_only_look_alike_are_sent() -> None:
    headers = (("X-Webhook-Id", "1"), ("Webhooks", "2"), ("X_Own", "3"))
    assert set(headers) <= set(request_of(Notify("http://a/", headers=headers), "shop", MEMBER).headers)


LATER = Continuity(12, 900, 3)
NUMBERS = {"X-WangTimer-Sequence": "12", "X-WangTimer-Last-Success": "900", "X-WangTimer-Lost-Since": "3"}
PLACES = [
    MessagePlace("rabbit", PlaceKind.EXCHANGE, "", "reports"),
    MessagePlace("redis", PlaceKind.STREAM, "reports"),
    consumers_place("reports"),
]
TASK = '{"task": "shop.report"}'


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.kind))
def test_messages_tell_numbers_as_calls_do(place: MessagePlace) -> None:
    event = CallForm(cloud_events=True, numbered=True)
    message = request_of(Notify(place.url), "shop", MEMBER, form=event, ack_token="t", continuity=LATER)
    assert isinstance(message, Message)
    assert message.fields.items() >= NUMBERS.items()
    assert message.fields["ce-sequence"] == "0000000000000000012"
    assert message.with_stamps(b"").fields.items() >= NUMBERS.items()


def test_tasks_tell_numbers_among_their_headers() -> None:
    place = MessagePlace("rabbit", PlaceKind.CELERY, "celery")
    message = request_of(Notify(place.url, body=TASK), "shop", MEMBER, continuity=LATER)
    assert isinstance(message, Message)
    _, headers, _, _ = celery_parts(message)
    assert headers.items() >= NUMBERS.items()


def test_a_call_tells_only_the_numbers_that_are_known() -> None:
    def numbers(continuity: Continuity | None) -> dict[str, str]:
        sent = request_of(Notify("http://a/"), "shop", MEMBER, continuity=continuity).headers
        return {name: value for name, value in sent if name in NUMBERS}

    assert numbers(LATER) == NUMBERS
    assert numbers(Continuity(None, None, 0)) == {"X-WangTimer-Lost-Since": "0"}
    assert numbers(Continuity(1, None, None)) == {"X-WangTimer-Sequence": "1"}
    assert numbers(None) == {}
