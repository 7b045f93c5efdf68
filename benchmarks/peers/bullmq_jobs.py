"""BullMQ: delayed jobs in Redis, worked by Node.js processes.

npm installs the packages of the lock file into the user's cache directory, once for each lock file.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.due import Due
from benchmarks.peers.http_call import BODY
from benchmarks.peers.parts import Parts
from tests.servers.server_process import find_program

_SCRIPTS = Path(__file__).with_name("bullmq")
# Strict: it refuses a Node.js that is too old for package.json, with a message.
_NPM_OPTIONS = ["--engine-strict", "--loglevel=error", "--no-audit", "--no-fund"]
_SCHEDULE_WITHIN_S = 300
_CONCURRENCY = "https://docs.bullmq.io/guide/workers/concurrency"


@dataclass
class BullMQJobs:
    """Worker processes, each with several jobs at once; one producer that adds in bulk."""

    setting: str
    source: str
    processes: int
    concurrency: int
    name: str = "BullMQ"

    def start(self, directory: Path, target_url: str) -> None:
        self._parts = Parts(directory)
        self._node = find_program("node", "nodejs")
        self._scripts = installed_scripts()
        self._port = self._parts.start_redis().port
        worker = [self._node, self._scripts / "worker.js"]
        options = [self._port, target_url, BODY.decode(), self.concurrency]
        for _ in range(self.processes):
            self._parts.start_worker([*worker, *options])

    def schedule(self, dues: Sequence[Due]) -> None:
        """Run the producer until all are added."""
        lines = "\n".join(f"{due.id} {due.at_ms}" for due in dues)
        argv = [self._node, str(self._scripts / "schedule.js"), str(self._port)]
        subprocess.run(argv, input=lines, text=True, check=True, timeout=_SCHEDULE_WITHIN_S)

    def pids(self) -> dict[str, list[int]]:
        return self._parts.pids()

    def stop(self) -> None:
        self._parts.stop()


VARIANTS = [
    BullMQJobs("1 process, concurrency 200", _CONCURRENCY, 1, 200),
    BullMQJobs("1 process, concurrency 500", _CONCURRENCY, 1, 500),
    BullMQJobs("2 processes, concurrency 100 each", _CONCURRENCY, 2, 100),
    BullMQJobs("2 processes, concurrency 200 each", _CONCURRENCY, 2, 200),
]


def installed_scripts() -> Path:
    """Return a directory with the scripts and the packages they import; installs missing packages."""
    digest = hashlib.sha256((_SCRIPTS / "package-lock.json").read_bytes()).hexdigest()[:16]
    place = cache_directory() / f"bullmq-{digest}"
    place.mkdir(parents=True, exist_ok=True)
    for script in _SCRIPTS.glob("*.js*"):
        shutil.copy(script, place)
    if not (place / "node_modules" / ".package-lock.json").exists():
        npm = find_program("npm", "npm")
        subprocess.run([npm, "ci", *_NPM_OPTIONS], cwd=place, check=True, stdout=subprocess.DEVNULL)
    return place


def cache_directory() -> Path:
    """Return the directory for the benchmarks' packages, by the XDG rules."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wangtimer-bench"
