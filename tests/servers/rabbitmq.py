"""A RabbitMQ of the tests' own, with its Erlang name server, beside the machine's."""

import socket
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import amqp

from tests.servers.server_process import ServerProcess, find_program
from wangtimer.stack.ports import HOST, free_port

PACKAGE = "rabbitmq-server"
# The script behind Debian's wrapper. The wrapper changes to a user that cannot write to our directory.
_SERVER_PATH = "/usr/lib/rabbitmq/bin/rabbitmq-server"
# A broker takes 5 s to start, and far longer on a busy machine.
_LOGIN_WITHIN_S = 120


class RabbitMQ:
    """`with RabbitMQ(directory) as broker: broker.url`; what is durable outlives a kill and a start.

    `settings` are lines of its configuration.
    """

    def __init__(self, directory: Path, *settings: str) -> None:
        find_program("rabbitmq-server", PACKAGE)
        self.port = free_port()
        names_port = free_port()
        epmd = [find_program("epmd", PACKAGE), "-port", str(names_port), "-address", HOST]
        (directory / "names").mkdir(parents=True)
        self._names = ServerProcess(epmd, directory / "names", lambda: _listens(names_port))
        (directory / "test.conf").write_text("\n".join(("log.file.level = error", *settings, "")))
        variables = {
            "HOME": directory,
            "ERL_EPMD_PORT": names_port,
            "RABBITMQ_CONF_ENV_FILE": directory / "none",
            "RABBITMQ_CONFIG_FILE": directory / "test.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": directory / "plugins",
            "RABBITMQ_NODENAME": f"test{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": HOST,
            "RABBITMQ_NODE_PORT": self.port,
            "RABBITMQ_DIST_PORT": free_port(),
            "RABBITMQ_MNESIA_BASE": directory,
            "RABBITMQ_LOG_BASE": directory,
            # Without it a shell stays between us and the server, and outlives it.
            "RUNNING_UNDER_SYSTEMD": "true",
        }
        argv = ["env", *(f"{name}={value}" for name, value in variables.items()), _SERVER_PATH]
        self.process = ServerProcess(argv, directory, lambda: True)

    def __enter__(self) -> "RabbitMQ":
        self._names.start()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self._names.kill()

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@{HOST}:{self.port}//"

    def start(self) -> None:
        """Start it, and return when a client can log in."""
        self.process.start()
        deadline = time.monotonic() + _LOGIN_WITHIN_S
        while True:
            try:
                self.connect().close()
            except (OSError, amqp.AMQPError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def connect(self) -> amqp.Connection:
        """Return an open connection."""
        connection = amqp.Connection(f"{HOST}:{self.port}", connect_timeout=5)
        connection.connect()
        return connection

    def declare(self, queue: str, exchange: str = "", routing_key: str = "", **arguments: Any) -> None:
        """Make a durable, empty queue, bound to a durable topic exchange if one is given."""
        with closing(self.connect()) as connection:
            channel = connection.channel()
            channel.queue_declare(queue, durable=True, auto_delete=False, arguments=arguments)
            channel.queue_purge(queue)
            if exchange:
                channel.exchange_declare(exchange, "topic", durable=True, auto_delete=False)
                channel.queue_bind(queue, exchange, routing_key)

    def waiting(self, queue: str) -> int:
        """Return how many messages wait in a queue."""
        with closing(self.connect()) as connection:
            return int(connection.channel().queue_declare(queue, passive=True).message_count)

    def taken(self, queue: str) -> list[amqp.Message]:
        """Take all messages that wait in a queue."""
        with closing(self.connect()) as connection:
            channel = connection.channel()
            messages = []
            while (message := channel.basic_get(queue, no_ack=True)) is not None:
                messages.append(message)
            return messages


def _listens(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), 1):
            return True
    except OSError:
        return False
