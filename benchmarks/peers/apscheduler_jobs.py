"""APScheduler 3: date jobs of one scheduler process, run by its thread pool.

A job store must not be shared between schedulers, so moments reach the scheduler's process over a Unix socket.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.connection import Client
from pathlib import Path

from benchmarks.due import Due
from benchmarks.peers.parts import Parts, PeerMissingError

_WORKER = "benchmarks.peers.workers.apscheduler_process"
_GUIDE = "https://apscheduler.readthedocs.io/en/3.x/userguide.html"


@dataclass
class APSchedulerJobs:
    """One scheduler in one process."""

    setting: str
    source: str
    store: str
    threads: int
    client: str
    name: str = "APScheduler"

    def start(self, directory: Path, target_url: str) -> None:
        self._parts = Parts(directory)
        if find_spec("apscheduler") is None:
            raise PeerMissingError("apscheduler is not installed: pip install -e '.[bench]'")
        self._address = str(directory / "moments.socket")
        options = [f"--store={self.store}", f"--threads={self.threads}", f"--client={self.client}"]
        if self.store == "redis":
            options.append(f"--redis-port={self._parts.start_redis().port}")
        elif self.store == "sqlite":
            options.append(f"--sqlite={directory / 'jobs.sqlite'}")
        self._parts.start_python_worker(_WORKER, self._address, target_url, *options)

    def schedule(self, dues: Sequence[Due]) -> None:
        """Hand over the moments; the scheduler answers when all of them are in its store."""
        with Client(self._address) as scheduler:
            scheduler.send([(due.id, due.at_ms) for due in dues])
            scheduler.recv()

    def pids(self) -> dict[str, list[int]]:
        return self._parts.pids()

    def stop(self) -> None:
        self._parts.stop()


VARIANTS = [
    APSchedulerJobs("jobs in memory, 20 threads, requests", _GUIDE, "memory", 20, "requests"),
    APSchedulerJobs("jobs in memory, 20 threads, pycurl", _GUIDE, "memory", 20, "pycurl"),
    APSchedulerJobs("jobs in Redis, 20 threads, pycurl", _GUIDE, "redis", 20, "pycurl"),
    APSchedulerJobs("jobs in SQLite (SQLAlchemy), 20 threads, pycurl", _GUIDE, "sqlite", 20, "pycurl"),
]
