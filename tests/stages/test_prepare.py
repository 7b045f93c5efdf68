"""What a target is sent of a timer's headers."""

import pytest

from tests.made_requests import made_request, ready
from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.slicing import Slice
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind, consumers_place
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import SigningSecret
from wangtimer.core.timers.call_options import CallForm
from wangtimer.core.timers.timer import Definition, Notify, TimerStatus
from wangtimer.executor.claim import Claim, Held
from wangtimer.executor.request_maker import OLDEST_TIMESTAMP_S, RequestMaker
from wangtimer.executor.stamps.numbers import NumbersStamp
from wangtimer.messaging.celery_message import celery_parts
from wangtimer.messaging.message import Message
from wangtimer.store.seals import NO_KEYS
from wangtimer.testing.doubles import HandClock

MEMBER = Member(7, 1_000, 2)


def environ_names(notify: Notify) -> list[str]:
    """The names under which a WSGI server hands the headers to its application."""
    headers = made_request(notify, "shop", MEMBER).headers
    return [f"HTTP_{name.upper().replace('-', '_')}" for name, _ in headers]


@pytest.mark.parametrize(
    "name", ["webhook_id", "X_WangTimer_App", "X-WangTimer_Timer", "X_WANGTIMER-FIRE_AT"]
)
def test_a_stored_header_that_passes_for_ours_is_not_sent(name: str) -> None:
    """Timers stored before such names were refused still have them."""
    notify = Notify("http://a/", headers=(("X-Own", "1"), (name, "forged")), body="{}")
    request = made_request(notify, "shop", MEMBER)
    assert "forged" not in {value for _, value in request.headers}
    assert b"forged" not in (request.wire or b"")
    assert ("X-Own", "1") in request.headers
    names = environ_names(notify)
    assert len(names) == len(set(names))


def test_headers_that_only_look_alike_are_sent() -> None:
    headers = (("X-Webhook-Id", "1"), ("Webhooks", "2"), ("X_Own", "3"))
    assert set(headers) <= set(made_request(Notify("http://a/", headers=headers), "shop", MEMBER).headers)


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
    message = made_request(Notify(place.url), "shop", MEMBER, form=event, ack_token="t", continuity=LATER)
    assert isinstance(message, Message)
    assert message.fields.items() >= NUMBERS.items()
    assert message.fields["ce-sequence"] == "0000000000000000012"


def test_tasks_tell_numbers_among_their_headers() -> None:
    place = MessagePlace("rabbit", PlaceKind.CELERY, "celery")
    message = made_request(Notify(place.url, body=TASK), "shop", MEMBER, continuity=LATER)
    assert isinstance(message, Message)
    _, headers, _, _ = celery_parts(message)
    assert headers.items() >= NUMBERS.items()


def test_a_call_tells_only_the_numbers_that_are_known() -> None:
    def numbers(continuity: Continuity | None) -> dict[str, str]:
        sent = made_request(Notify("http://a/"), "shop", MEMBER, continuity=continuity).headers
        return {name: value for name, value in sent if name in NUMBERS}

    assert numbers(LATER) == NUMBERS
    assert numbers(Continuity(None, None, 0)) == {"X-WangTimer-Lost-Since": "0"}
    assert numbers(Continuity(1, None, None)) == {"X-WangTimer-Sequence": "1"}
    assert numbers(None) == {}


def test_a_request_that_is_signed_anew_is_stamped_as_before() -> None:
    clock = HandClock()
    moment = int(clock.now_ms())
    member = Member(7, moment, 1)
    notify, form = Notify("http://a/"), CallForm(numbered=True)
    definition = Definition(7, "shop", 1, TimerStatus.ENABLED, Once(moment), notify, form=form)
    held = Held(Claim(Slice(0, 0), "claim", [member], 0, 60), member)
    signing = AppSigning("shop", 1, True, (SigningSecret(1, b"k" * 32, 0),))
    maker = RequestMaker(NO_KEYS, bool, lambda _: "", (NumbersStamp(),), clock)
    made = maker.make(ready(held, moment, definition, 0, signing, continuity=LATER))
    clock.sleep(OLDEST_TIMESTAMP_S + 1)
    before, anew = dict(made.request.headers), dict(maker.signed_anew(member, made).request.headers)
    assert anew["webhook-timestamp"] != before["webhook-timestamp"]
    assert anew.items() >= NUMBERS.items()
