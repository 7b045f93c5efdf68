"""Messages to a real RabbitMQ: what arrives, what is confirmed, and what becomes of those that are not."""

import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from tests.callback.calls import MachineClock, Outcomes
from tests.messaging.messages import FIRE_AT, a_message
from tests.patience import Deadline
from tests.servers.rabbitmq import RabbitMQ
from wangtimer.callback.health import Sign, sign_of
from wangtimer.callback.reply import BrokerAnswer
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind
from wangtimer.core.timers.timeouts import Timeouts
from wangtimer.executor.readings.failure import failure_of
from wangtimer.messaging.amqp_link import CLOSED_FOR_S
from wangtimer.messaging.message_engine import MessageEngine

pytestmark = pytest.mark.processes

EVENTS = MessagePlace("orders", PlaceKind.EXCHANGE, "app.events", "app.paid")
DIRECT = MessagePlace("orders", PlaceKind.EXCHANGE, "", "app.direct")
NOWHERE = MessagePlace("orders", PlaceKind.EXCHANGE, "", "app.nowhere")
MISSING = MessagePlace("orders", PlaceKind.EXCHANGE, "app.missing", "app.paid")

MakeEngine = Callable[..., MessageEngine]


@pytest.fixture
def engine(rabbitmq: RabbitMQ, make_engine: MakeEngine) -> MessageEngine:
    rabbitmq.declare("app.work", "app.events", "app.paid")
    rabbitmq.declare("app.direct")
    return make_engine(rabbitmq.url)


def test_a_message_arrives_with_its_body_its_headers_and_the_signature(
    rabbitmq: RabbitMQ, engine: MessageEngine, outcomes: Outcomes
) -> None:
    engine.submit([a_message(outcomes, EVENTS, keys=(b"k" * 32,))])
    (reply,) = outcomes.wait()
    assert (reply.succeeded, reply.error, reply.broker) == (True, "", BrokerAnswer.TAKEN)
    (message,) = rabbitmq.taken("app.work")
    headers = message.headers
    assert message.body == b'{"order":7}'
    assert message.properties["message_id"] == headers["webhook-id"] == Member(7, FIRE_AT, 1).firing_id
    assert message.properties["timestamp"] == FIRE_AT // 1_000
    assert message.properties["delivery_mode"] == 2
    assert message.properties["content_type"] == "application/json"
    assert (headers["X-Tag"], headers["X-WangTimer-App"], headers["X-WangTimer-Timer"]) == (
        "blue",
        "app",
        "7",
    )
    assert (headers["X-WangTimer-Fire-At"], headers["X-WangTimer-Attempt"]) == (str(FIRE_AT), "1")
    signed_at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    expected = Webhook(b"k" * 32).sign(headers["webhook-id"], signed_at, message.body.decode())
    assert headers["webhook-signature"] == expected


def test_nothing_is_sent_before_its_moment(
    rabbitmq: RabbitMQ, engine: MessageEngine, outcomes: Outcomes
) -> None:
    due_at = time.time() * 1_000 + 400
    engine.submit([a_message(outcomes, DIRECT, due_at)])
    (reply,) = outcomes.wait()
    assert due_at <= reply.sent_at_ms < due_at + 200
    assert len(rabbitmq.taken("app.direct")) == 1


def test_thousands_at_one_moment_are_each_taken_once(
    rabbitmq: RabbitMQ, make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    rabbitmq.declare("app.direct")
    # On a slow machine the last ones would be sent away to wait in their lane.
    engine = make_engine(rabbitmq.url, timeout_ms=60_000)
    due_at = time.time() * 1_000 + 300
    members = [Member(number, FIRE_AT, 1) for number in range(10_000)]
    engine.submit([a_message(outcomes, DIRECT, due_at, member=one) for one in members])
    replies = outcomes.wait(len(members), 60)
    assert all(reply.succeeded and reply.sent_at_ms >= due_at for reply in replies)
    arrived = [message.properties["message_id"] for message in rabbitmq.taken("app.direct")]
    assert sorted(arrived) == sorted(one.firing_id for one in members)


def test_confirms_are_not_waited_for_one_by_one(
    rabbitmq: RabbitMQ, engine: MessageEngine, outcomes: Outcomes
) -> None:
    """While the broker hangs, many are under way: a publisher that waits for each has one."""
    engine.submit([a_message(outcomes, DIRECT)])
    outcomes.wait()
    rabbitmq.process.freeze()
    try:
        engine.submit([a_message(outcomes, DIRECT, member=Member(one, FIRE_AT, 1)) for one in range(500)])
        deadline = Deadline(5)
        while engine.counts.in_flight < 500:
            assert not deadline.is_over, engine.counts
            time.sleep(0.01)
    finally:
        rabbitmq.process.thaw()
    assert all(reply.succeeded for reply in outcomes.wait(501))


def test_an_unroutable_message_fails_and_those_beside_it_do_not(
    rabbitmq: RabbitMQ, engine: MessageEngine, outcomes: Outcomes
) -> None:
    calls = [
        a_message(outcomes, NOWHERE if one % 10 == 0 else DIRECT, member=Member(one, FIRE_AT, 1))
        for one in range(200)
    ]
    engine.submit(calls)
    outcomes.wait(len(calls))
    failed = {call.request.firing_id: reply for call, reply in outcomes.replies if not reply.succeeded}  # type: ignore[attr-defined]
    assert sorted(failed) == sorted(Member(one, FIRE_AT, 1).firing_id for one in range(0, 200, 10))
    assert {reply.shown_error for reply in failed.values()} == {
        "the broker routed the message to no queue (NO_ROUTE)"
    }
    assert {failure_of(reply) for reply in failed.values()} == {"not_taken"}
    assert len(rabbitmq.taken("app.direct")) == 180


def test_a_missing_exchange_costs_no_other_message(
    rabbitmq: RabbitMQ, engine: MessageEngine, outcomes: Outcomes
) -> None:
    calls = [
        a_message(outcomes, MISSING if one % 2 else DIRECT, member=Member(one, FIRE_AT, 1))
        for one in range(100)
    ]
    engine.submit(calls)
    outcomes.wait(len(calls))
    replies = {call.request.place: reply for call, reply in outcomes.replies}  # type: ignore[attr-defined]
    assert replies[MISSING].shown_error.endswith("the broker refuses exchange 'app.missing': 404 NOT_FOUND")
    assert sum(reply.succeeded for _, reply in outcomes.replies) == 50
    assert len(rabbitmq.taken("app.direct")) == 50
    with closing(rabbitmq.connect()) as connection:
        connection.channel().exchange_declare("app.missing", "fanout", durable=False, auto_delete=False)
        connection.channel().queue_bind("app.work", "app.missing")
    time.sleep(CLOSED_FOR_S)
    engine.submit([a_message(outcomes, MISSING)])
    assert outcomes.wait(len(calls) + 1)[-1].succeeded
    with closing(rabbitmq.connect()) as connection:
        connection.channel().exchange_delete("app.missing")


def test_a_full_queue_that_refuses_is_a_failure(
    rabbitmq: RabbitMQ, make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    rabbitmq.declare("app.full", **{"x-max-length": 1, "x-overflow": "reject-publish"})
    full = MessagePlace("orders", PlaceKind.EXCHANGE, "", "app.full")
    engine = make_engine(rabbitmq.url)
    engine.submit([a_message(outcomes, full)])
    outcomes.wait()
    engine.submit([a_message(outcomes, full)])
    replies = outcomes.wait(2)
    assert [reply.succeeded for reply in replies] == [True, False]
    assert "nack" in replies[1].error


@pytest.mark.parametrize(
    ("place", "app"),
    [
        (MessagePlace("orders", PlaceKind.EXCHANGE, "other.events", "app.paid"), "app"),
        (MessagePlace("orders", PlaceKind.EXCHANGE, "app.events", "other.paid"), "app"),
        (MessagePlace("orders", PlaceKind.EXCHANGE, "", "other.work"), "app"),
        (MessagePlace("orders", PlaceKind.STREAM, "app:events"), "app"),
        (EVENTS, "other"),
    ],
)
def test_what_the_operator_has_not_allowed_is_never_sent(
    engine: MessageEngine, outcomes: Outcomes, place: MessagePlace, app: str
) -> None:
    engine.submit([a_message(outcomes, place, app=app)])
    (reply,) = outcomes.wait()
    assert (reply.succeeded, reply.was_sent) == (False, False)


def test_a_missing_right_is_tried_again_says_what_is_missing_and_says_nothing_of_the_broker(
    engine: MessageEngine, outcomes: Outcomes
) -> None:
    """The next process may have read another file."""
    engine.submit(
        [a_message(outcomes, MessagePlace("orders", PlaceKind.EXCHANGE, "app.events", "other.paid"))]
    )
    (reply,) = outcomes.wait()
    assert reply.error == (
        "not sent: the operator has not allowed this app to send there: exchange 'app.events' with routing key "
        "'other.paid', by the file that this process read at its start"
    )
    assert (reply.is_refused, failure_of(reply), sign_of(reply)) == (False, "not_taken", Sign.NOT_ASKED)


def test_a_message_whose_lease_is_over_is_not_sent(
    rabbitmq: RabbitMQ, engine: MessageEngine, outcomes: Outcomes
) -> None:
    engine.submit([a_message(outcomes, DIRECT, may_send=lambda: False)])
    outcomes.wait()
    assert len(outcomes.held_back) == 1
    assert not rabbitmq.taken("app.direct")


def test_a_broker_that_hangs_is_a_failure_in_time_and_is_used_again_when_it_answers(
    rabbitmq: RabbitMQ, make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    rabbitmq.declare("app.direct")
    engine = make_engine(rabbitmq.url, timeout_ms=1_000)
    engine.submit([a_message(outcomes, DIRECT)])
    outcomes.wait()
    rabbitmq.process.freeze()
    try:
        engine.submit([a_message(outcomes, DIRECT, timeouts=Timeouts(500)), a_message(outcomes, DIRECT)])
        _, impatient, patient = outcomes.wait(3)
    finally:
        rabbitmq.process.thaw()
    for reply, begins in (impatient, "timed out after 5"), (patient, "timed out after 1"):
        assert (reply.was_sent, failure_of(reply)) == (True, "timed_out")
        assert reply.error.startswith(begins)
    engine.submit([a_message(outcomes, DIRECT)])
    assert outcomes.wait(4)[3].succeeded


def test_a_broker_that_dies_loses_nothing_that_it_confirmed(
    rabbitmq: RabbitMQ, make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    rabbitmq.declare("app.direct")
    engine = make_engine(rabbitmq.url)
    engine.submit([a_message(outcomes, DIRECT, member=Member(one, FIRE_AT, 1)) for one in range(1_000)])
    outcomes.wait(1_000, 30)
    rabbitmq.process.kill()
    engine.submit([a_message(outcomes, DIRECT, member=Member(1_000, FIRE_AT, 1))])
    reply = outcomes.wait(1_001)[-1]
    assert not reply.succeeded
    rabbitmq.start()
    deadline = Deadline(20)
    while not outcomes.replies[-1][1].succeeded:
        assert not deadline.is_over, outcomes.replies[-1]
        ends = outcomes.ends
        engine.submit([a_message(outcomes, DIRECT, member=Member(1_000, FIRE_AT, 2))])
        outcomes.wait(ends + 1, 15)
    arrived = {message.properties["message_id"] for message in rabbitmq.taken("app.direct")}
    assert arrived == {Member(one, FIRE_AT, 1).firing_id for one in range(1_001)}


def test_a_broker_that_is_away_fails_one_message_a_second_and_then_is_failing(
    make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    engine = make_engine("amqp://guest:guest@127.0.0.1:1//")
    engine.submit([a_message(outcomes, DIRECT, member=Member(one, FIRE_AT, 1)) for one in range(500)])
    replies = outcomes.wait(2, 5)
    assert replies[0].error.startswith("not sent: could not connect to the broker")
    assert "guest" not in replies[0].error
    time.sleep(1)
    assert len(outcomes.replies) <= 4


def test_a_stop_gives_back_what_was_not_sent(
    rabbitmq: RabbitMQ, engine: MessageEngine, outcomes: Outcomes
) -> None:
    far = MachineClock().now_ms() + 60_000
    calls = [a_message(outcomes, DIRECT, far, member=Member(one, FIRE_AT, 1)) for one in range(50)]
    engine.submit(calls)
    assert len(engine.stop(1)) == 50
    assert not rabbitmq.taken("app.direct")


def test_a_broker_that_allows_few_channels_takes_the_messages_of_many_apps_on_one_connection(
    scratch: Path, make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    """One of them goes to an exchange that is not there, each time: that ends its own channel."""
    missing = MessagePlace("orders", PlaceKind.EXCHANGE, "app.missing", "app.k")
    with RabbitMQ(scratch, "channel_max = 4") as few:
        few.declare("app.direct")
        engine = make_engine(few.url, every_app=True)
        for turn in range(12):
            places = [(f"app-{turn % 6}", DIRECT), ("lost", missing), (f"app-{(turn + 1) % 6}", DIRECT)]
            engine.submit([a_message(outcomes, place, app=app) for app, place in places])
            outcomes.wait(3 * (turn + 1))
        failed = [(call.request.app, reply.error) for call, reply in outcomes.replies if not reply.succeeded]
        assert {app for app, _ in failed} == {"lost"}
        assert all("404 NOT_FOUND" in error for _, error in failed), failed
        assert len(failed) == 12
        assert few.waiting("app.direct") == 24
