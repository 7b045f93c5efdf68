from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.callback.calls import MachineClock, Outcomes
from tests.servers.rabbitmq import RabbitMQ
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.callback import Limits
from wangtimer.callback.permits import Permits
from wangtimer.core.messages.named_broker import NamedBroker, read_brokers
from wangtimer.core.time.clock import Clock
from wangtimer.messaging.links import link_to
from wangtimer.messaging.message_engine import MessageEngine
from wangtimer.testing.doubles import NoLimits


@pytest.fixture(scope="session")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ]:
    with RabbitMQ(tmp_path_factory.mktemp("rabbitmq")) as broker:
        yield broker


@pytest.fixture(scope="session")
def queue_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that apps send to: not ours."""
    with RedisServer(redis_program(), tmp_path_factory.mktemp("queue-redis")) as server:
        yield server


@pytest.fixture
def outcomes() -> Outcomes:
    return Outcomes()


def broker_at(url: str, app: str = "app") -> NamedBroker:
    """Return a broker to which this app may send what begins with `app`."""
    text = f"""
    [[broker]]
    name = "orders"
    url = "{url}"
    [[broker.allow]]
    app = "{app}"
    exchanges = ["app.*", ""]
    routing_keys = ["app.*"]
    streams = ["app:*"]
    lists = ["app:*"]
    celery_queues = ["app.*"]
    celery_tasks = ["app.*"]
    """
    return read_brokers(text)["orders"]


@pytest.fixture
def make_engine() -> Iterator[Callable[..., MessageEngine]]:
    engines: list[MessageEngine] = []

    def make(
        url: str,
        timeout_ms: int = 5_000,
        clock: Clock | None = None,
        permits: Permits | None = None,
        refusal: Callable[[], str] = lambda: "",
        every_app: bool = False,
    ) -> MessageEngine:
        broker = broker_at(url, "*" if every_app else "app")
        limits = Limits(timeout_ms=timeout_ms, connections_per_host=4_000, connections_total=8_000)
        link = link_to(broker, 2.0, None)
        engine = MessageEngine(broker, link, clock or MachineClock(), limits, permits or NoLimits(), refusal)
        engines.append(engine)
        engine.start()
        return engine

    yield make
    for engine in engines:
        if engine._thread.is_alive():
            engine.stop(0)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path
