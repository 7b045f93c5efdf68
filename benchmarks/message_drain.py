"""How fast messages due at one moment are sent and confirmed, beside a bare publisher with pipelined confirms.

    python -m benchmarks.message_drain [--messages 50000] [--rounds 3]

Starts a RabbitMQ and a Redis of its own, and prints one JSON line with the messages a second, from the moment to the
last confirm. On RabbitMQ: of the engine (signed messages, persistent, mandatory, to a durable queue), of py-amqp alone
in confirm mode with 4,000 unconfirmed at most, and of py-amqp waiting for each confirm (a tenth of the messages). On
Redis: of the engine, and of bare pipelines of 1,000. The rounds take turns; the medians are shown. The workload
`messages` of `python -m benchmarks` is one round a run.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import amqp
import redis

from benchmarks.engine_drain import MachineClock, Outcomes
from tests.callback.calls import PlainCall
from tests.made_requests import made_request
from tests.servers.rabbitmq import RabbitMQ
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.callback import Limits
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind
from wangtimer.core.messages.named_broker import read_brokers
from wangtimer.core.timers.timer import Notify
from wangtimer.messaging.links import MOST_UNCONFIRMED, link_to
from wangtimer.messaging.message_engine import MessageEngine
from wangtimer.testing.doubles import NoLimits

BODY = '{"type":"timer.fired","timestamp":"2026-11-20T18:16:51Z","data":{"timerId":"tmr_1"}}'
QUEUE = "bench.work"
LEAD_S = 1.0
RIGHTS = f'app = "app"\nexchanges = [""]\nrouting_keys = ["{QUEUE}"]\nlists = ["{QUEUE}"]\n'


TO_QUEUE = MessagePlace("bench", PlaceKind.EXCHANGE, "", QUEUE)
TO_LIST = MessagePlace("bench", PlaceKind.LIST, QUEUE)


@dataclass(frozen=True, slots=True)
class Drained:
    """The messages a second of an engine, how many failed, and how many it sent before their moment."""

    per_s: float
    failed: int
    early: int


def of_engine(url: str, place: MessagePlace, number: int) -> Drained:
    """Let an engine send so many; all are handed over ahead of their moment, as executors do."""
    broker = read_brokers(f'[[broker]]\nname = "bench"\nurl = "{url}"\n[[broker.allow]]\n{RIGHTS}')["bench"]
    limits = Limits(
        timeout_ms=60_000, connections_per_host=MOST_UNCONFIRMED, connections_total=2 * MOST_UNCONFIRMED
    )
    engine = MessageEngine(broker, link_to(broker, 3.0, None), MachineClock(), limits, NoLimits())
    engine.start()
    outcomes = Outcomes(number)
    moment = int(time.time() * 1_000)
    requests = [
        made_request(
            Notify(place.url, "", (), BODY), "app", Member(one, moment, 1), (b"k" * 32,), moment // 1_000
        )
        for one in range(number)
    ]
    due_at = time.time() * 1_000 + LEAD_S * 1_000
    for request in requests:
        request.fault = ""
    engine.submit(
        PlainCall(request, due_at, lambda: True, lambda _call: None, outcomes.add) for request in requests
    )
    outcomes.wait()
    engine.stop(1)
    per_s = number / (outcomes.ended_at - due_at / 1_000)
    return Drained(per_s, outcomes.failed, sum(late < 0 for late in outcomes.late_ms))


def of_py_amqp(server: RabbitMQ, number: int, most_unconfirmed: int) -> float:
    """Return the messages a second of a publisher of nothing but py-amqp."""
    with closing(server.connect()) as connection:
        channel = connection.channel()
        channel.confirm_select()
        unconfirmed: set[int] = set()

        def note(tag: int, multiple: bool) -> None:
            if multiple:
                unconfirmed.difference_update([one for one in unconfirmed if one <= tag])
            else:
                unconfirmed.discard(tag)

        channel.events["basic_ack"].add(note)
        begun = time.time()
        for one in range(1, number + 1):
            message = amqp.Message(
                BODY, delivery_mode=2, message_id=str(one), content_type="application/json"
            )
            channel.basic_publish(message, routing_key=QUEUE, mandatory=True)
            unconfirmed.add(one)
            while len(unconfirmed) >= most_unconfirmed:
                connection.drain_events(timeout=60)
        while unconfirmed:
            connection.drain_events(timeout=60)
        return number / (time.time() - begun)


def of_redis_py(server: RedisServer, number: int) -> float:
    """Return the elements a second of bare pipelines."""
    element = json.dumps({"id": "1", "body": BODY, "headers": {}})
    with closing(redis.Redis.from_url(server.url())) as client:
        begun = time.time()
        for _ in range(number // 1_000):
            pipe = client.pipeline(transaction=False)
            for _ in range(1_000):
                pipe.rpush(QUEUE, element)
            pipe.execute()
        return number / (time.time() - begun)


@contextmanager
def servers(home: Path) -> Iterator[tuple[RabbitMQ, RedisServer]]:
    """Run a RabbitMQ and a Redis."""
    rabbit_home, redis_home = home / "rabbitmq", home / "redis"
    for directory in (rabbit_home, redis_home):
        directory.mkdir()
    with RabbitMQ(rabbit_home) as rabbit, RedisServer(redis_program(), redis_home) as store:
        yield rabbit, store


def one_round(rabbit: RabbitMQ, store: RedisServer, number: int) -> dict[str, float]:
    """Return the messages a second of each way, and what of the engines' messages failed, was early or is not there."""
    rabbit.declare(QUEUE)
    to_rabbit = of_engine(rabbit.url, TO_QUEUE, number)
    there = rabbit.waiting(QUEUE)
    rabbit.declare(QUEUE)
    pipelined = of_py_amqp(rabbit, number, MOST_UNCONFIRMED)
    rabbit.declare(QUEUE)
    one_by_one = of_py_amqp(rabbit, max(1, number // 10), 1)
    store.flush()
    to_redis = of_engine(store.url(), TO_LIST, number)
    with closing(redis.Redis.from_url(store.url())) as client:
        there += int(client.llen(QUEUE))
    store.flush()
    return {
        "rabbitmq_engine": to_rabbit.per_s,
        "rabbitmq_py_amqp_pipelined": pipelined,
        "rabbitmq_py_amqp_one_by_one": one_by_one,
        "redis_engine": to_redis.per_s,
        "redis_pipelines": of_redis_py(store, number),
        "lost": 2 * number - there,
        "early": to_rabbit.early + to_redis.early,
        "failed": to_rabbit.failed + to_redis.failed,
    }


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, servers(Path(home)) as (rabbit, store):
        rounds = [one_round(rabbit, store, options.messages) for _ in range(options.rounds)]
    print(json.dumps({name: round(median(one[name] for one in rounds)) for name in rounds[0]}))


if __name__ == "__main__":
    main()
