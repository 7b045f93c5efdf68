"""Tasks that a real Celery worker runs, behind RabbitMQ and behind Redis."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Queue
from typing import Any

import pytest
from celery import Celery
from celery.contrib.testing.worker import start_worker
from celery.signals import setup_logging

from tests.callback.calls import Outcomes
from tests.messaging.messages import FIRE_AT, a_message
from tests.servers.rabbitmq import RabbitMQ
from tests.servers.redis_server import RedisServer
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind
from wangtimer.messaging.message_engine import MessageEngine

pytestmark = pytest.mark.processes

PLACE = MessagePlace("orders", PlaceKind.CELERY, "app.tasks")
MakeEngine = Callable[..., MessageEngine]
BODY = '{"task": "app.expire", "args": [7], "kwargs": {"why": "late"}}'


@contextmanager
def worker(url: str) -> Iterator["Queue[dict[str, Any]]"]:
    """Run a user's worker; yield what its task was called with."""
    ran: Queue[dict[str, Any]] = Queue()
    app = Celery("shop", broker=url, set_as_current=False)
    app.conf.task_default_queue = "app.tasks"

    # Shared by default: the first worker's would run for the second too.
    @app.task(name="app.expire", bind=True, shared=False)
    def expire(task: Any, order: int, why: str = "") -> None:
        ran.put({"order": order, "why": why, "id": task.request.id, "headers": task.request.headers})

    with logs_as_they_are(), start_worker(app, pool="threads", perform_ping_check=False, shutdown_timeout=20):
        yield ran


@contextmanager
def logs_as_they_are() -> Iterator[None]:
    """Keep a worker from setting up the logs of this process, as ours do in theirs: later tests would capture none."""

    def keep(**_: Any) -> None: ...

    others, setup_logging.receivers = setup_logging.receivers, []
    setup_logging.connect(keep)
    try:
        yield
    finally:
        setup_logging.receivers = others


@pytest.fixture(params=["rabbitmq", "queue_redis"])
def url(request: pytest.FixtureRequest) -> str:
    server = request.getfixturevalue(request.param)
    if isinstance(server, RedisServer):
        server.flush()
        return server.url()
    assert isinstance(server, RabbitMQ)
    server.declare("app.tasks")
    return server.url


def test_a_worker_runs_the_task_with_its_arguments_and_the_firings_id(
    url: str, make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    with worker(url) as ran:
        engine = make_engine(url)
        engine.submit([a_message(outcomes, PLACE, body=BODY, headers=(), keys=(b"k" * 32,))])
        (reply,) = outcomes.wait()
        assert (reply.succeeded, reply.error) == (True, "")
        call = ran.get(timeout=20)
    assert (call["order"], call["why"], call["id"]) == (7, "late", Member(7, FIRE_AT, 1).firing_id)
    assert call["headers"]["X-WangTimer-Fire-At"] == str(FIRE_AT)
    assert call["headers"]["webhook-signature"].startswith("v1,")


def test_a_task_is_written_as_celery_itself_writes_it(
    queue_redis: RedisServer, make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    import json
    from base64 import b64decode

    import redis

    queue_redis.flush()
    app = Celery("shop", broker=queue_redis.url(), set_as_current=False)
    app.send_task("app.expire", [7], {"why": "late"}, queue="app.tasks", task_id="theirs")
    engine = make_engine(queue_redis.url())
    engine.submit([a_message(outcomes, PLACE, body=BODY, headers=())])
    outcomes.wait()
    client = redis.Redis.from_url(queue_redis.url())
    ours, theirs = (json.loads(one) for one in client.lrange("app.tasks", 0, -1))
    assert json.loads(b64decode(ours["body"])) == json.loads(b64decode(theirs["body"]))
    assert theirs["headers"].keys() - {"ignore_result"} <= ours["headers"].keys()
    assert {name: value for name, value in ours.items() if name.startswith("content")} == {
        name: value for name, value in theirs.items() if name.startswith("content")
    }
    assert ours["properties"].keys() == theirs["properties"].keys()


@pytest.mark.parametrize(
    "body",
    [
        '{"task": "other.expire"}',
        '{"task": "app.expire", "queue": "other.tasks"}',
    ],
)
def test_a_task_or_a_queue_that_is_not_allowed_is_refused(
    queue_redis: RedisServer, make_engine: MakeEngine, outcomes: Outcomes, body: str
) -> None:
    engine = make_engine(queue_redis.url())
    engine.submit([a_message(outcomes, PLACE, body=body)])
    (reply,) = outcomes.wait()
    assert (reply.succeeded, reply.was_sent) == (False, False)


def test_a_body_that_is_no_task_makes_no_message(outcomes: Outcomes) -> None:
    with pytest.raises(ValueError, match="no Celery task"):
        a_message(outcomes, PLACE, body='{"order": 7}')
