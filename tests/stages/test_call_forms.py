"""How calls are written: placeholders, CloudEvents, bytes; of a timer, of a named target, from attempt to attempt."""

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event

from tests.made_requests import made_request
from tests.stages.scripted_target import Answer
from tests.stages.world import World
from wangtimer.callback import Request
from wangtimer.core.cron.cron import Cron
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.call_options import UNTOUCHED, CallForm, Timeouts, form_from, form_text
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import NewTimer, Notify
from wangtimer.executor.stamps.cloud_event import EVENT_TYPE
from wangtimer.messaging.message import Message

MakeWorld = Callable[..., World]

MEMBER = Member(7, 1_795_207_483_123, 2)
TEMPLATES, EVENTS, BYTES = (
    CallForm(templates=True),
    CallForm(cloud_events=True),
    CallForm(body_is_base64=True),
)
BODY = '{"at":"{{scheduledLocal}}"}'


def made(notify: Notify, form: CallForm, app: str = "shop") -> Request:
    return made_request(notify, app, MEMBER, form=form, timezone="Asia/Shanghai")


def event_of(request: Request) -> Any:
    """Read the request as the CloudEvents SDK does."""
    headers = {name.lower(): value for name, value in request.headers}
    return from_http_event(HTTPMessage(headers=headers, body=request.body))


def test_without_a_form_a_call_is_as_it_was_given() -> None:
    call = Notify("http://a/?x={{attempt}}", "POST", (("X", "{{attempt}}"),), "{{attempt}}")
    request = made(call, UNTOUCHED)
    assert b"GET" not in request.head
    assert b"/?x={{attempt}}" in request.head
    assert ("X", "{{attempt}}") in request.headers
    assert request.body == b"{{attempt}}"
    assert b"ce-" not in request.head


def test_placeholders_are_filled_in_for_the_type_that_the_body_looks_like() -> None:
    request = made(Notify("http://a/?x={{timezone}}", body=BODY), TEMPLATES)
    assert json.loads(request.body) == {"at": "2026-11-21T04:44:43.123+08:00"}
    assert b"/?x=Asia%2FShanghai " in request.head
    assert b"Content-Length: %d\r\n" % len(request.body) in request.head


def test_a_cloud_event_is_one_to_their_sdk_and_has_the_body_as_its_data() -> None:
    event = event_of(made(Notify("http://a/", body='{"order":7}'), EVENTS, "my shop"))
    assert event.get_id() == MEMBER.firing_id
    assert event.get_source() == "/apps/my%20shop/timers/7"
    assert event.get_type() == EVENT_TYPE
    assert event.get_time().isoformat() == "2026-11-20T20:44:43.123000+00:00"
    assert event.get_datacontenttype() == "application/json"
    assert event.get_data() == {"order": 7}


def test_the_owners_own_attributes_take_the_place_of_ours() -> None:
    own = (("CE-Type", "com.shop.order.expired"), ("ce-subject", "order 7"))
    event = event_of(made(Notify("http://a/", headers=own), EVENTS))
    assert event.get_type() == "com.shop.order.expired"
    assert event.get_subject() == "order 7"
    assert event.get_id() == MEMBER.firing_id


def test_bytes_are_sent_as_such_and_hold_no_placeholders() -> None:
    content = b"\x00\xff{{attempt}}"
    call = Notify("http://a/?n={{attempt}}", body=b64encode(content).decode())
    request = made(call, CallForm(templates=True, body_is_base64=True))
    assert request.body == content
    assert ("Content-Type", "application/octet-stream") in request.headers
    assert b"/?n=2 " in request.head


def test_a_signature_is_of_what_is_sent() -> None:
    request = made_request(
        Notify("http://a/", body=BODY), "shop", MEMBER, (b"k" * 32,), 1_795_207_483, TEMPLATES
    )
    again = made_request(
        Notify("http://a/", body=request.body.decode()), "shop", MEMBER, (b"k" * 32,), 1_795_207_483
    )
    signed = [value for name, value in request.headers if name == "webhook-signature"]
    assert signed == [value for name, value in again.headers if name == "webhook-signature"]


@pytest.mark.parametrize(
    ("own", "targets", "has_body", "form"),
    [
        (UNTOUCHED, TEMPLATES, True, TEMPLATES),
        (EVENTS, TEMPLATES, False, CallForm(True, True)),
        (BYTES, UNTOUCHED, True, BYTES),
        (BYTES, UNTOUCHED, False, UNTOUCHED),
        (UNTOUCHED, BYTES, False, BYTES),
        (UNTOUCHED, BYTES, True, UNTOUCHED),
    ],
)
def test_through_a_target_either_counts_but_for_the_body_which_its_giver_writes(
    own: CallForm, targets: CallForm, has_body: bool, form: CallForm
) -> None:
    assert own.beside(targets, has_body=has_body) == form


def test_a_form_is_stored_as_words_and_a_later_versions_words_are_refused() -> None:
    for form in (UNTOUCHED, TEMPLATES, CallForm(True, True, True)):
        assert form_from(form_text(form)) == form
    assert form_text(UNTOUCHED) is None
    with pytest.raises(ValueError, match="this version does not know how to write a call: sung"):
        form_from("templates sung")


def fired_through(world: World, form: CallForm, targets: CallForm) -> None:
    """Have a timer fire that gives a path behind a target's URL."""
    call = Notify("http://a.test/hook?zone={{timezone}}", "POST", (), BODY)
    world.target_store.put(NamedTarget("shop", "hook", 1, call, form=targets))
    notify = Notify("?n={{attempt}}", "", (), "", target="hook")
    rule = Cron.parse("* * * * * *", "Asia/Shanghai")
    new = NewTimer("shop", "one", rule, notify, form=form)
    world.registrar.enable("shop", world.registrar.create(new).id)
    world.run_for(5)


@pytest.mark.parametrize(("form", "targets"), [(TEMPLATES, UNTOUCHED), (UNTOUCHED, TEMPLATES)])
def test_each_attempt_of_a_firing_is_filled_in_anew_on_the_whole_way(
    make_world: MakeWorld, form: CallForm, targets: CallForm
) -> None:
    world = make_world(executors=1).start()
    world.target.answer = lambda arrival: Answer(500) if arrival.attempt == 1 else Answer()
    fired_through(world, form, targets)
    for one in world.target.arrivals:
        assert one.request.url == f"http://a.test/hook?zone=Asia%2FShanghai&n={one.attempt}"
        assert "+08:00" in json.loads(one.request.body)["at"]
    assert {one.attempt for one in world.target.arrivals} == {1, 2}


def a_message(form: CallForm = UNTOUCHED, token: str = "") -> Message:
    place = MessagePlace("orders", PlaceKind.STREAM, "app:events").url
    made = made_request(
        Notify(place, "", (), BODY), "shop", MEMBER, form=form, timezone="Asia/Shanghai", ack_token=token
    )
    assert isinstance(made, Message)
    return made


def test_a_message_is_written_as_a_call_is() -> None:
    message = a_message(CallForm(templates=True, cloud_events=True), "2.token")
    assert json.loads(message.body) == {"at": "2026-11-21T04:44:43.123+08:00"}
    assert (message.fields["ce-id"], message.fields["ce-type"]) == (MEMBER.firing_id, EVENT_TYPE)
    assert message.fields["X-WangTimer-Ack-Token"] == "2.token"
    assert a_message().body == BODY.encode()


def test_who_gets_a_message_is_to_say_that_it_is_done_where_the_target_has_an_ack_timeout(
    make_world: MakeWorld,
) -> None:
    world = make_world(executors=1).start()
    for name, ack_ms in (("patient", 60_000), ("plain", None)):
        call = Notify(MessagePlace("orders", PlaceKind.LIST, "app:work").url, "", (), "{}")
        world.target_store.put(NamedTarget("shop", name, 1, call, Timeouts(ack_ms=ack_ms)))
        new = NewTimer("shop", name, Once(int(world.now) + 2_000), Notify("", "", (), "", target=name))
        world.registrar.enable("shop", world.registrar.create(new).id)
    world.run_for(5)
    assert len(world.target.arrivals) == 2
    members = [Member(one.timer_id, one.fire_at, 1) for one in world.target.arrivals]
    statuses = {row.status for row in world.firings.rows(members).values()}
    assert statuses == {FiringStatus.ACCEPTED, FiringStatus.SUCCEEDED}


def test_a_body_is_escaped_for_the_type_as_which_it_is_sent() -> None:
    """It looks like JSON only once it is filled in."""
    body = '{"n": {{attempt}}, "app": "{{app}}"}'
    request = made(Notify("http://a/", body=body), TEMPLATES, 'a"b')
    assert ("Content-Type", "text/plain; charset=utf-8") in request.headers
    named = Notify("http://a/", "POST", (("Content-Type", "application/json"),), body)
    assert json.loads(made(named, TEMPLATES, 'a"b').body) == {"n": 2, "app": 'a"b'}
