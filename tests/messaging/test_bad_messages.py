"""A message that cannot be sent, an exchange that is not there, or a black hole costs no message of others."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from threading import Timer

import pytest

from tests.callback.calls import MachineClock, Outcomes
from tests.made_requests import made_request
from tests.messaging.amqp_broker import OPENED, ScriptedBroker, closing_connection
from tests.messaging.messages import FIRE_AT, MEMBER, a_message
from wangtimer.callback.reply import BrokerAnswer, Reply
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.celery_task import QUEUE_BYTES, task_from
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind
from wangtimer.core.timers.call_options import Timeouts
from wangtimer.core.timers.timer import Notify
from wangtimer.messaging.celery_message import celery_parts
from wangtimer.messaging.message import Message
from wangtimer.messaging.message_engine import MessageEngine

MakeEngine = Callable[..., MessageEngine]

GOOD = MessagePlace("orders", PlaceKind.EXCHANGE, "app.good", "app.k")
MISSING, OTHER = (
    MessagePlace("orders", PlaceKind.EXCHANGE, name, "app.k") for name in ("app.missing", "app.other")
)
TASKS = MessagePlace("orders", PlaceKind.CELERY, "app.q")
LONG = "b" * 300


def at(number: int) -> Member:
    return Member(number, FIRE_AT, 1)


def replies_of(outcomes: Outcomes) -> dict[str, Reply]:
    """Return the replies by the id of the timer."""
    return {call.request.firing_id.partition("-")[0]: reply for call, reply in outcomes.replies}  # type: ignore[attr-defined]


def acknowledging(broker: ScriptedBroker, channel: int, event: str, tag: int) -> None:
    if event != OPENED:
        broker.ack(channel, tag)


@pytest.fixture
def acknowledged() -> Iterator[ScriptedBroker]:
    with ScriptedBroker(acknowledging) as broker:
        yield broker


BAD = {
    "content type": {"headers": (("Content-Type", f"a/{LONG}"),)},
    "name of a header": {"headers": ((f"X-{LONG}", "1"),)},
    "routing key": {"place": MessagePlace("orders", PlaceKind.EXCHANGE, "app.x", "app." + "é" * 200)},
    "a header that RabbitMQ reads": {"headers": (("CC", "x"),)},
    "another": {"headers": (("BCC", "x"),)},
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("ahead_ms", [0, 500])
def test_a_message_that_cannot_be_written_costs_no_other(
    acknowledged: ScriptedBroker, make_engine: MakeEngine, outcomes: Outcomes, what: str, ahead_ms: int
) -> None:
    engine = make_engine(acknowledged.url)
    due_at = MachineClock().now_ms() + ahead_ms
    bad = a_message(outcomes, due_at_ms=due_at, member=at(2), **({"place": GOOD} | BAD[what]))  # type: ignore[arg-type]
    others = [a_message(outcomes, GOOD, due_at, member=at(number)) for number in (1, 3, 4)]
    engine.submit([others[0], bad, *others[1:]])
    outcomes.wait(4)
    replies = replies_of(outcomes)
    assert replies["2"].broker is BrokerAnswer.REJECTED
    assert replies["2"].error.startswith("not sent: a")
    assert [replies[number].error for number in ("1", "3", "4")] == ["", "", ""]
    assert acknowledged.connections == 1
    assert engine.counts.in_flight == engine.counts.waiting == 0


def test_what_raises_as_it_is_prepared_loses_no_call_of_its_batch(
    acknowledged: ScriptedBroker, make_engine: MakeEngine, outcomes: Outcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.messaging.amqp_link.AmqpLink.prepare", lambda *_: 1 // 0)
    engine = make_engine(acknowledged.url)
    due_at = MachineClock().now_ms() + 300
    engine.submit([a_message(outcomes, GOOD, due_at, member=at(number)) for number in range(1, 5)])
    assert [reply.error for reply in outcomes.wait(4)] == [""] * 4


def test_confirms_that_came_before_the_end_of_the_connection_count(
    make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    def answer(broker: ScriptedBroker, channel: int, event: str, tag: int) -> None:
        if event != OPENED and tag == 3:
            broker.ack(channel, 1, 2, then=closing_connection(320, "CONNECTION_FORCED - shut down"))

    with ScriptedBroker(answer) as broker:
        engine = make_engine(broker.url)
        engine.submit([a_message(outcomes, GOOD, member=at(number)) for number in (1, 2, 3)])
        outcomes.wait(3)
    replies = replies_of(outcomes)
    assert (replies["1"].succeeded, replies["2"].succeeded, replies["3"].succeeded) == (True, True, False)
    assert (
        replies["3"].error
        == "the connection to the broker broke off: 320 CONNECTION_FORCED; it may have been taken"
    )


def test_a_channel_that_is_closed_while_another_opens_costs_only_its_own(
    make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    missing: list[int] = []

    def answer(broker: ScriptedBroker, channel: int, event: str, tag: int) -> None:
        if event == "app.missing":
            missing.append(channel)
        elif event == OPENED and missing:
            broker.close_channel(
                missing.pop(), 404, "NOT_FOUND - no exchange 'app.missing' in vhost '/secret'"
            )
        elif event == "app.other":
            broker.ack(channel, tag)
            broker.ack(1, 1)

    with ScriptedBroker(answer) as broker:
        engine = make_engine(broker.url)
        engine.submit([a_message(outcomes, GOOD, member=at(1))])
        time.sleep(0.3)
        engine.submit([a_message(outcomes, MISSING, member=at(2)), a_message(outcomes, OTHER, member=at(3))])
        outcomes.wait(3)
        again = a_message(outcomes, MISSING, member=at(4))
        engine.submit([again])
        outcomes.wait(4)
    replies = replies_of(outcomes)
    assert (replies["1"].error, replies["3"].error) == ("", "")
    assert replies["2"].error == "the broker refuses exchange 'app.missing': 404 NOT_FOUND"
    assert replies["4"].error == f"not sent: {replies['2'].error}", "it is asked anew at once"
    assert broker.connections == 1


def test_a_channel_that_one_app_s_message_closes_costs_no_message_of_another_app(
    make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    channels: list[int] = []

    def answer(broker: ScriptedBroker, channel: int, event: str, tag: int) -> None:
        if event == OPENED:
            channels.append(channel)
        elif channel != channels[0]:
            broker.close_channel(channel, 406, "PRECONDITION_FAILED - whatever it is")
            broker.ack(channels[0], 1)

    with ScriptedBroker(answer) as broker:
        engine = make_engine(broker.url, every_app=True)
        engine.submit([a_message(outcomes, GOOD, member=at(1))])
        time.sleep(0.3)
        engine.submit([a_message(outcomes, GOOD, member=at(2), app="other")])
        outcomes.wait(2)
        engine.submit([a_message(outcomes, GOOD, member=at(3), app="other")])
        outcomes.wait(3)
    replies = replies_of(outcomes)
    assert replies["1"].error == ""
    assert replies["2"].error == "the broker refuses exchange 'app.good': 406 PRECONDITION_FAILED"
    assert replies["3"].error == f"not sent: {replies['2'].error}"
    assert broker.connections == 1


def test_what_is_published_behind_a_channel_s_end_costs_no_message_of_another_app(
    make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    """The broker has two channels: as the idle one is let go, the end of the other is read, in the midst of a turn."""

    def answer(broker: ScriptedBroker, channel: int, event: str, tag: int) -> None:
        if event == "app.missing":
            broker.close_channel(channel, 404, "NOT_FOUND - no exchange 'app.missing' in vhost '/secret'")
        elif event != OPENED:
            broker.ack(channel, tag)

    with ScriptedBroker(answer, most_channels=2) as broker:
        engine = make_engine(broker.url)
        engine.submit([a_message(outcomes, GOOD, member=at(1))])
        outcomes.wait(1)
        time.sleep(0.2)
        places = {2: MISSING, 3: OTHER, 4: MISSING}
        engine.submit([a_message(outcomes, place, member=at(number)) for number, place in places.items()])
        outcomes.wait(4)
    replies = replies_of(outcomes)
    assert (replies["1"].error, replies["3"].error) == ("", "")
    assert replies["2"].error == "the broker refuses exchange 'app.missing': 404 NOT_FOUND"
    assert replies["4"].error == f"not sent: {replies['2'].error}"
    assert (broker.connections, broker.published.count("app.missing")) == (1, 1)


def test_more_apps_than_the_broker_has_channels_share_one_connection(
    make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    opened: list[int] = []

    def answer(broker: ScriptedBroker, channel: int, event: str, tag: int) -> None:
        if event == OPENED:
            opened.append(channel)
        else:
            broker.ack(channel, tag)

    def send(number: int, app: str) -> None:
        engine.submit([a_message(outcomes, GOOD, member=at(number), app=app)])
        outcomes.wait(number)

    with ScriptedBroker(answer, most_channels=3) as broker:
        engine = make_engine(broker.url, every_app=True)
        for number, app in enumerate(("a", "b", "c", "a", "d", "a", "b", "a"), 1):
            send(number, app)
    assert [reply.error for _, reply in outcomes.replies] == [""] * 8
    assert broker.connections == 1
    assert len(opened) == 5, "the one that was used last is kept"


def test_messages_that_all_channels_of_the_broker_wait_for_cost_no_connection(
    make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    def answer(broker: ScriptedBroker, channel: int, event: str, tag: int) -> None:
        if event != OPENED:
            Timer(0.3, broker.ack, (channel, tag)).start()

    with ScriptedBroker(answer, most_channels=2) as broker:
        engine = make_engine(broker.url, every_app=True)
        engine.submit(
            [a_message(outcomes, GOOD, member=at(number), app=f"app-{number}") for number in (1, 2, 3)]
        )
        outcomes.wait(3)
    replies = replies_of(outcomes)
    assert (replies["1"].error, replies["2"].error) == ("", "")
    assert replies["3"].error == "not sent: messages to 2 exchanges of apps wait for the broker's confirm"
    assert broker.connections == 1


def test_two_attempts_that_both_came_back_are_both_refused(
    make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    """The first was given up, and is confirmed together with the second."""

    def answer(broker: ScriptedBroker, channel: int, event: str, tag: int) -> None:
        if tag == 2:
            for _ in range(2):
                broker.give_back(channel, at(1).firing_id)
            broker.ack_up_to(channel, 2)

    with ScriptedBroker(answer) as broker:
        engine = make_engine(broker.url)
        engine.submit([a_message(outcomes, GOOD, member=at(1), timeouts=Timeouts(100))])
        outcomes.wait(1)
        engine.submit([a_message(outcomes, GOOD, member=at(1))])
        first, second = outcomes.wait(2)
    assert first.error.startswith("timed out after 1")
    assert second.error == "the broker routed the message to no queue (NO_ROUTE)"


def test_a_message_with_a_short_time_out_ends_alone(make_engine: MakeEngine, outcomes: Outcomes) -> None:
    def answer(broker: ScriptedBroker, channel: int, event: str, tag: int) -> None:
        if event != OPENED:
            Timer(0.5, broker.ack, (channel, tag)).start()

    with ScriptedBroker(answer) as broker:
        engine = make_engine(broker.url)
        impatient = a_message(outcomes, GOOD, member=at(1), timeouts=Timeouts(100))
        engine.submit(
            [impatient, a_message(outcomes, GOOD, member=at(2)), a_message(outcomes, OTHER, member=at(3))]
        )
        outcomes.wait(3)
        time.sleep(0.2)
        engine.submit([a_message(outcomes, GOOD, member=at(4))])
        outcomes.wait(4)
    replies = replies_of(outcomes)
    assert replies["1"].error.startswith("timed out after 1")
    assert replies["1"].error.endswith("ms without the broker's confirm; it may have been taken")
    assert [replies[number].error for number in ("2", "3", "4")] == ["", "", ""]
    assert broker.connections == 1
    assert engine.counts.in_flight == engine.counts.waiting == 0


def test_a_confirm_that_never_comes_ends_the_connection_also_after_a_short_time_out(
    make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    """The first connection hangs, and nobody but the impatient message waits for it."""

    def answer(broker: ScriptedBroker, channel: int, event: str, tag: int) -> None:
        if event != OPENED and broker.connections > 1:
            broker.ack(channel, tag)

    with ScriptedBroker(answer) as broker:
        engine = make_engine(broker.url, timeout_ms=600)
        engine.submit([a_message(outcomes, GOOD, member=at(1), timeouts=Timeouts(100))])
        outcomes.wait(1)
        due_at = MachineClock().now_ms() + 1_500
        engine.submit([a_message(outcomes, GOOD, due_at, member=at(2))])
        outcomes.wait(2)
    assert (replies_of(outcomes)["2"].error, broker.connections) == ("", 2)


@pytest.mark.test_all
def test_a_black_hole_is_tried_once_for_all_that_wait(make_engine: MakeEngine, outcomes: Outcomes) -> None:
    """It takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as hole:
        url = f"amqp://guest:guest@127.0.0.1:{hole.getsockname()[1]}//"
        engine = make_engine(url, timeout_ms=1_500)
        due_at = MachineClock().now_ms() + 300
        began = time.monotonic()
        engine.submit([a_message(outcomes, GOOD, due_at, member=at(number)) for number in range(200)])
        # Connecting has 3 s: once ahead of the moment, and once for those that have come due.
        outcomes.wait(1, 15)
        assert time.monotonic() - began < 12
        engine.stop(1)


def test_what_celery_reads_among_the_headers_is_ours() -> None:
    headers = tuple(
        (name, "evil") for name in ("task", "id", "eta", "expires", "chord", "compression", "X-Own")
    )
    call = Notify(TASKS.url, "", headers, '{"task": "app.t"}')
    message = made_request(call, "app", MEMBER)
    assert isinstance(message, Message)
    _, made, _, _ = celery_parts(message)
    assert (made["task"], made["id"], made["eta"], made["expires"]) == ("app.t", MEMBER.firing_id, None, None)
    assert made["X-Own"] == "evil"
    assert not {"chord", "compression"} & made.keys()


@pytest.mark.parametrize(
    "body",
    [
        {"task": "app.t", "queue": "app." + "x" * QUEUE_BYTES},
        {"task": "app.t", "queue": "app.é" * 60},
        {"task": "app.t", "queue": "app.\x00"},
        {"task": "app.\nt"},
    ],
)
def test_a_task_with_a_bad_name_is_no_task(body: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="printable"):
        task_from(json.dumps(body))


def test_arguments_that_cannot_be_written_are_no_task() -> None:
    with pytest.raises(ValueError, match="too deep"):
        task_from('{"task": "app.t", "args": ' + "[" * 600 + "]" * 600 + "}")


def test_arguments_keep_the_digits_of_their_numbers() -> None:
    numbers = "[1.10,18446744073709551616,-0,1e5]"
    message = made_request(
        Notify(TASKS.url, "", (), f'{{"task": "app.t", "args": {numbers}}}'), "app", MEMBER
    )
    assert isinstance(message, Message)
    assert message.body.startswith(f"[{numbers},{{}},".encode())


def test_what_was_sent_holds_neither_body_nor_arguments() -> None:
    message = made_request(Notify(TASKS.url, "", (), '{"task": "app.t", "args": [1]}'), "app", MEMBER)
    assert isinstance(message, Message)
    assert message.fields
    sent = message.without_body()
    assert (sent.body, sent.task, "fields" in vars(sent)) == (b"", None, False)


def test_records_name_no_address_of_a_broker(make_engine: MakeEngine, outcomes: Outcomes) -> None:
    engine = make_engine("redis://127.0.0.1:1/0")
    place = MessagePlace("orders", PlaceKind.STREAM, "app:s")
    engine.submit([a_message(outcomes, place)])
    (reply,) = outcomes.wait(1)
    assert reply.error == "not sent: could not connect to the broker: connection refused"
