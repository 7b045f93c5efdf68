"""How fast messages due at one moment are sent and confirmed, beside a bare publisher with pipelined confirms.

    python -m benchmarks.message_drain [--messages 50000] [--rounds 3]

Starts a RabbitMQ and a Redis of its own, and prints one JSON line with the messages a second, from the moment to the
last confirm. On RabbitMQ: of the engine (signed messages, persistent, mandatory, to a durable queue), of py-amqp alone
in confirm mode with 4,000 unconfirmed at most, and of py-amqp waiting for each confirm (a tenth of the messages). On
Redis: of the engine, and of bare pipelines of 1,000. The rounds take turns; the medians are shown.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

import amqp
import redis

from benchmarks.engine_drain import MachineClock, Outcomes
from tests.callback.calls import PlainCall
from tests.servers.rabbitmq import RabbitMQ
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.callback import Limits
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind
from wangtimer.core.messages.named_broker import read_brokers
from wangtimer.core.timers.timer import Notify
from wangtimer.executor.prepare import request_of
from wangtimer.messaging.links import MOST_UNCONFIRMED, link_to
from wangtimer.messaging.message_engine import MessageEngine

BODY = '{"type":"timer.fired","timestamp":"2026-11-20T18:16:51Z","data":{"timerId":"tmr_1"}}'
QUEUE = "bench.work"
LEAD_S = 1.0
RIGHTS = f'app = "app"\nexchanges = [""]\nrouting_keys = ["{QUEUE}"]\nlists = ["{QUEUE}"]\n'


def of_engine(url: str, place: MessagePlace, number: int) -> float:
    """Return the messages a second of an engine; all are handed over ahead of their moment, as executors do."""
    broker = read_brokers(f'[[broker]]\nname = "bench"\nurl = "{url}"\n[[broker.allow]]\n{RIGHTS}')["bench"]
    limits = Limits(
        timeout_ms=60_000, connections_per_host=MOST_UNCONFIRMED, connections_total=2 * MOST_UNCONFIRMED
    )
    engine = MessageEngine(broker, link_to(broker, 3.0), MachineClock(), limits)
    engine.start()
    outcomes = Outcomes(number)
    moment = int(time.time() * 1_000)
    requests = [
        request_of(
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
    if outcomes.failed or min(outcomes.late_ms) < 0:
        raise SystemExit(
            f"{outcomes.failed} messages failed; the earliest went {min(outcomes.late_ms)} ms late"
        )
    return number / (outcomes.ended_at - due_at / 1_000)


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


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    number = asked.messages
    to_queue = MessagePlace("bench", PlaceKind.EXCHANGE, "", QUEUE)
    to_list = MessagePlace("bench", PlaceKind.LIST, QUEUE)
    with tempfile.TemporaryDirectory() as home:
        (rabbit_home := Path(home, "rabbitmq")).mkdir()
        (redis_home := Path(home, "redis")).mkdir()
        with RabbitMQ(rabbit_home) as rabbit, RedisServer(redis_program(), redis_home) as store:
            ways: dict[str, Callable[[], float]] = {
                "rabbitmq_engine": lambda: of_engine(rabbit.url, to_queue, number),
                "rabbitmq_py_amqp_pipelined": lambda: of_py_amqp(rabbit, number, MOST_UNCONFIRMED),
                "rabbitmq_py_amqp_one_by_one": lambda: of_py_amqp(rabbit, number // 10, 1),
                "redis_engine": lambda: of_engine(store.url(), to_list, number),
                "redis_pipelines": lambda: of_redis_py(store, number),
            }
            rates: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(asked.rounds):
                for name, measure in ways.items():
                    rabbit.declare(QUEUE)
                    store.flush()
                    rates[name].append(measure())
    print(json.dumps({name: round(median(some)) for name, some in rates.items()}))


if __name__ == "__main__":
    main()
