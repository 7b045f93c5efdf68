"""RabbitMQ's classic delay: messages wait in a queue without consumers until their TTL dead-letters them.

A message leaves a queue only from its head, so a message with a longer TTL holds back those behind it. So moments are
published in their order. A caller who cannot do that uses one waiting queue for each second of the moments. The plugin
with an exchange for delays is not in Debian's package.
"""

import socket
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import amqp

from benchmarks.due import Due
from benchmarks.peers.parts import Parts
from tests.servers.server_process import ServerProcess, find_program
from wangtimer.stack.ports import HOST, free_port

WORK = "calls"
_PACKAGE = "rabbitmq-server"
# The script behind Debian's wrapper. The wrapper changes to a user that cannot write to our directory.
_SERVER_PATH = "/usr/lib/rabbitmq/bin/rabbitmq-server"
# With more, a message's TTL would begin long after it was computed.
_UNCONFIRMED = 200
_LOGIN_WITHIN_S = 120
_WORKER = "benchmarks.peers.workers.rabbitmq_consumers"
_TTL = "https://www.rabbitmq.com/docs/ttl#per-message-ttl-in-publishers"
_TRANSIENT = "https://www.rabbitmq.com/docs/publishers#message-properties"
_CONFIRMS = "https://www.rabbitmq.com/docs/confirms#channel-qos-prefetch"


@dataclass
class RabbitMQTtl:
    """A broker of its own, and worker processes with one consumer per thread."""

    setting: str
    source: str
    client: str
    persistent: bool = True
    queue_a_second: bool = False
    processes: int = 2
    threads: int = 16
    name: str = "RabbitMQ TTL + dead letters"

    def start(self, directory: Path, target_url: str) -> None:
        self._parts = Parts(directory)
        self._port = start_broker(self._parts)
        with closing(connect(self._port)) as connection:
            connection.channel().queue_declare(WORK, durable=True, auto_delete=False)
        options = [f"--threads={self.threads}", f"--client={self.client}"]
        for _ in range(self.processes):
            self._parts.start_python_worker(_WORKER, self._port, target_url, *options)

    def schedule(self, dues: Sequence[Due]) -> None:
        """Publish in the order of the moments, with publisher confirms for some hundred at a time."""
        with closing(connect(self._port)) as connection:
            publisher = Publisher(connection, persistent=self.persistent)
            for due in sorted(dues, key=lambda due: due.at_ms):
                publisher.publish(due, f"wait-{due.at_ms // 1_000}" if self.queue_a_second else "wait")
            publisher.wait_for_confirms()

    def pids(self) -> dict[str, list[int]]:
        return self._parts.pids()

    def stop(self) -> None:
        self._parts.stop()


VARIANTS = [
    RabbitMQTtl("1 waiting queue, persistent, requests", _TTL, "requests"),
    RabbitMQTtl("1 waiting queue, persistent, pycurl", _CONFIRMS, "pycurl"),
    RabbitMQTtl("a waiting queue a second, persistent, pycurl", _TTL, "pycurl", queue_a_second=True),
    RabbitMQTtl("1 waiting queue, transient messages, pycurl", _TRANSIENT, "pycurl", persistent=False),
]


class Publisher:
    """Publishes to waiting queues, and declares them when needed."""

    def __init__(self, connection: amqp.Connection, *, persistent: bool) -> None:
        self._connection = connection
        self._delivery_mode = 2 if persistent else 1
        self._channel = connection.channel()
        self._channel.confirm_select()
        self._channel.events["basic_ack"].add(self._note_confirm)
        self._published = 0
        self._unconfirmed: set[int] = set()
        self._declared: set[str] = set()

    def publish(self, due: Due, queue: str) -> None:
        """Let the message wait until its moment, never less, so that no call is early."""
        if queue not in self._declared:
            self._declare(queue)
        message = amqp.Message(f"{due.id}:{due.at_ms}", delivery_mode=self._delivery_mode)
        message.properties["expiration"] = str(max(0, due.at_ms - int(time.time() * 1_000)))
        self._channel.basic_publish(message, routing_key=queue)
        self._published += 1
        self._unconfirmed.add(self._published)
        if len(self._unconfirmed) == _UNCONFIRMED:
            self.wait_for_confirms()

    def wait_for_confirms(self) -> None:
        """Return when the broker has confirmed all."""
        while self._unconfirmed:
            self._connection.drain_events(timeout=60)

    def _declare(self, queue: str) -> None:
        to_work = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": WORK}
        self._channel.queue_declare(queue, durable=True, auto_delete=False, arguments=to_work)
        self._declared.add(queue)

    def _note_confirm(self, delivery_tag: int, multiple: bool) -> None:
        self._unconfirmed.discard(delivery_tag)
        if multiple:
            self._unconfirmed -= {tag for tag in self._unconfirmed if tag < delivery_tag}


def connect(port: int) -> amqp.Connection:
    """Return an open connection."""
    connection = amqp.Connection(f"{HOST}:{port}", connect_timeout=5)
    connection.connect()
    return connection


def start_broker(parts: Parts) -> int:
    """Start an Erlang name server and a RabbitMQ of our own, beside the machine's; return the port."""
    find_program("rabbitmq-server", _PACKAGE)
    names_port, port = free_port(), free_port()
    epmd = [find_program("epmd", _PACKAGE), "-port", str(names_port), "-address", HOST]
    parts.start("rabbitmq", ServerProcess(epmd, parts.new_directory("names"), lambda: listens(names_port)))
    directory = parts.new_directory("rabbitmq")
    (directory / "bench.conf").write_text("log.file.level = error\n")
    variables = {
        "HOME": directory,
        "ERL_EPMD_PORT": names_port,
        "RABBITMQ_CONF_ENV_FILE": directory / "none",
        "RABBITMQ_CONFIG_FILE": directory / "bench.conf",
        "RABBITMQ_ENABLED_PLUGINS_FILE": directory / "plugins",
        "RABBITMQ_NODENAME": f"bench{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": HOST,
        "RABBITMQ_NODE_PORT": port,
        "RABBITMQ_DIST_PORT": free_port(),
        "RABBITMQ_MNESIA_BASE": directory,
        "RABBITMQ_LOG_BASE": directory,
        # Without it a shell stays between us and the server, and outlives it.
        "RUNNING_UNDER_SYSTEMD": "true",
    }
    argv = ["env", *(f"{name}={value}" for name, value in variables.items()), _SERVER_PATH]
    parts.start("rabbitmq", ServerProcess(argv, directory, lambda: True))
    wait_for_login(port)
    return port


def listens(port: int) -> bool:
    """Say whether the port accepts connections."""
    try:
        with socket.create_connection((HOST, port), 1):
            return True
    except OSError:
        return False


def wait_for_login(port: int) -> None:
    """Return when a client can log in; a broker takes 5 s to start, and far longer on a busy machine."""
    deadline = time.monotonic() + _LOGIN_WITHIN_S
    while True:
        try:
            connect(port).close()
        except (OSError, amqp.AMQPError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
