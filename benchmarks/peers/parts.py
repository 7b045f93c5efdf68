"""The processes of a peer: started one by one, ended together."""

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tests.servers.redis_server import RedisServer, redis_program
from tests.servers.server_process import ServerProcess

# A worker prints this on a line of its own once it takes work.
READY = "ready"


class PeerMissingError(Exception):
    """A package that a peer needs is not installed; the message says how to install it."""


class Parts:
    """Servers and workers by kind. Each has a directory of its own in the peer's directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._processes: list[tuple[str, ServerProcess]] = []

    def new_directory(self, kind: str) -> Path:
        """Make and return the directory of the next process."""
        directory = self._directory / f"{kind}-{len(self._processes)}"
        directory.mkdir(parents=True)
        return directory

    def start(self, kind: str, process: ServerProcess) -> None:
        """Start it and wait until it answers."""
        self._processes.append((kind, process))
        process.start()

    def start_redis(self) -> RedisServer:
        """Start a Redis that keeps nothing on disk, the fastest kind for a peer."""
        server = RedisServer(redis_program(), self.new_directory("redis"))
        self.start("redis", server.process)
        return server

    def start_worker(self, argv: Sequence[object]) -> None:
        """Start a worker and wait until it printed `READY`."""
        directory = self.new_directory("worker")
        log = directory / "server.log"
        process = ServerProcess(
            [str(word) for word in argv], directory, lambda: READY in log.read_text().split()
        )
        self.start("workers", process)

    def start_python_worker(self, module: str, *arguments: object) -> None:
        """Start a Python module of the benchmarks as a worker."""
        self.start_worker([sys.executable, "-m", module, *arguments])

    def pids(self) -> dict[str, list[int]]:
        """Return the process ids by kind."""
        by_kind = defaultdict(list)
        for kind, process in self._processes:
            by_kind[kind].append(process.pid)
        return dict(by_kind)

    def stop(self) -> None:
        """End all processes, the last one first."""
        while self._processes:
            self._processes.pop()[1].kill()


def say_ready() -> None:
    """Tell `Parts.start_worker` that this worker is ready."""
    print(READY, flush=True)
