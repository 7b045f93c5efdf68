"""Messages by a transport of kombu that has no link of its own: here the one that keeps queues in a SQL database."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection

from tests.callback.calls import Outcomes
from tests.messaging.messages import FIRE_AT, a_message
from tests.messaging.test_celery import BODY, PLACE
from wangtimer.callback.reply import BrokerAnswer
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind
from wangtimer.core.messages.named_broker import NamedBroker, read_brokers
from wangtimer.core.timers.call_options import CallForm
from wangtimer.messaging.message_engine import MessageEngine

QUEUE = MessagePlace("orders", PlaceKind.EXCHANGE, "", "app.work")
MakeEngine = Callable[..., MessageEngine]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqla+sqlite:///{tmp_path}/queues.db"


@pytest.fixture
def read(url: str) -> Iterator[Callable[[str], Any]]:
    with Connection(url) as connection:
        yield lambda queue: connection.SimpleQueue(queue).get(timeout=5)


def test_a_queue_gets_the_id_the_body_and_the_headers(
    url: str, read: Callable[[str], Any], make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    make_engine(url).submit([a_message(outcomes, QUEUE)])
    (reply,) = outcomes.wait()
    assert (reply.succeeded, reply.broker) == (True, BrokerAnswer.TAKEN)
    got = read("app.work")
    assert (got.payload, got.headers["X-Tag"]) == ({"order": 7}, "blue")
    assert got.headers["webhook-id"] == Member(7, FIRE_AT, 1).firing_id


def test_bytes_that_are_no_text_arrive_as_they_are(
    url: str, read: Callable[[str], Any], make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    make_engine(url).submit([a_message(outcomes, QUEUE, body="/wD+", form=CallForm(body_is_base64=True))])
    (reply,) = outcomes.wait()
    assert reply.succeeded
    assert read("app.work").body == b"\xff\x00\xfe"


def test_a_celery_task_arrives_as_celery_writes_it(
    url: str, read: Callable[[str], Any], make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    make_engine(url).submit([a_message(outcomes, PLACE, body=BODY, headers=())])
    (reply,) = outcomes.wait()
    assert reply.succeeded
    got = read("app.tasks")
    args, kwargs, _ = got.payload
    assert (got.headers["task"], args, kwargs) == ("app.expire", [7], {"why": "late"})


def test_exchanges_are_refused_since_what_no_queue_gets_would_be_lost_in_silence() -> None:
    for scheme in ("sqla+sqlite", "sqs", "confluentkafka"):
        broker = _broker(f"{scheme}://orders.example/queues")
        assert broker.why_not("app", QUEUE) == ""
        assert "queues only" in broker.why_not(
            "app", MessagePlace("orders", PlaceKind.EXCHANGE, "app.events", "k")
        )
    amqp = _broker("amqp://orders.example")
    assert amqp.why_not("app", MessagePlace("orders", PlaceKind.EXCHANGE, "app.events", "k")) == ""


def _broker(url: str) -> NamedBroker:
    allow = '[[broker.allow]]\napp = "app"\nexchanges = ["*"]\nrouting_keys = ["app.*", "k"]\ncelery_queues = ["*"]'
    return read_brokers(f'[[broker]]\nname = "orders"\nurl = "{url}"\n{allow}')["orders"]
