"""One process with many consumers of the queue that gets messages when their TTL is over."""

import argparse
import threading

import amqp

from benchmarks.due import Due
from benchmarks.peers.http_call import CALLERS, Caller
from benchmarks.peers.parts import say_ready
from benchmarks.peers.rabbitmq_ttl import WORK, connect

_PREFETCH = 30


def consume(port: int, call: Caller) -> None:
    """For ever: make a call on this thread's own connection, then acknowledge its message."""
    connection = connect(port)
    channel = connection.channel()
    channel.basic_qos(0, _PREFETCH, False)

    def make_call(message: amqp.Message) -> None:
        id_, at_ms = message.body.split(":")
        call(Due(int(id_), int(at_ms)))
        channel.basic_ack(message.delivery_tag)

    channel.basic_consume(WORK, callback=make_call)
    while True:
        connection.drain_events()


def main() -> None:
    """Work as one worker process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("target_url")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--client", choices=CALLERS)
    chosen = parser.parse_args()
    call = CALLERS[chosen.client](chosen.target_url)
    consumers = [threading.Thread(target=consume, args=(chosen.port, call)) for _ in range(chosen.threads)]
    for consumer in consumers:
        consumer.start()
    say_ready()
    for consumer in consumers:
        consumer.join()


if __name__ == "__main__":
    main()
