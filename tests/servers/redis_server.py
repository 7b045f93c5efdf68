"""A real Redis, or the embedded Valkey, on a free port; it keeps nothing on disk."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import redis

from tests.servers.server_process import ServerProcess, find_program
from wangtimer.stack.ports import HOST, free_port
from wangtimer.stack.valkey_server import valkey_program

PACKAGE = "redis-server"


class RedisServer:
    """`with RedisServer(redis_program(), directory) as server: server.url(0)`; `before` goes ahead of the program."""

    def __init__(self, program: str, directory: Path, *options: str, before: Sequence[str] = ()) -> None:
        self.port = free_port()
        persistence = ("--save", "", "--appendonly", "no", "--dir", str(directory))
        argv = [*before, program, "--bind", HOST, "--port", str(self.port), *persistence, *options]
        self._process = ServerProcess(argv, directory, self._answers)

    def __enter__(self) -> "RedisServer":
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()

    @property
    def process(self) -> ServerProcess:
        """What freezes, kills and restarts it."""
        return self._process

    def url(self, database: int = 0) -> str:
        """Return redis-py's and kombu's URL of a database."""
        return f"redis://{HOST}:{self.port}/{database}"

    def flush(self) -> None:
        """Empty all databases and forget all scripts."""
        with closing(redis.Redis.from_url(self.url())) as client:
            client.flushall()
            client.script_flush()

    def _answers(self) -> bool:
        with closing(redis.Redis.from_url(self.url(), socket_timeout=1)) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False


def redis_program() -> str:
    """Return Debian's Redis 7; raises `ServerMissingError`."""
    return find_program("redis-server", PACKAGE)


def embedded_valkey_program() -> str:
    """Return the Valkey of the embedded default."""
    return str(valkey_program())
