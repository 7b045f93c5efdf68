"""The home-made timer: one process polls a Redis sorted set of moments; the naive form polls each second."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import redis

from benchmarks.due import Due
from benchmarks.peers.parts import Parts

KEY = "moments"
_BATCH = 1_000
_WORKER = "benchmarks.peers.workers.redis_poller"
_PATTERN = "https://redis.antirez.com/fundamental/delayed-queue.html"


@dataclass
class RedisPolling:
    """One process that reads due members, removes them, and calls."""

    setting: str
    source: str
    threads: int
    client: str
    claim: str
    sleep: str = "second"
    name: str = "Redis ZSet polling"

    def start(self, directory: Path, target_url: str) -> None:
        self._parts = Parts(directory)
        redis_url = self._parts.start_redis().url()
        self._redis = redis.Redis.from_url(redis_url)
        options = [f"--{key}={getattr(self, key)}" for key in ("threads", "client", "claim", "sleep")]
        self._parts.start_python_worker(_WORKER, redis_url, target_url, *options)

    def schedule(self, dues: Sequence[Due]) -> None:
        """Add members of the form `id:moment`, several per command."""
        for first in range(0, len(dues), _BATCH):
            batch = dues[first : first + _BATCH]
            self._redis.zadd(KEY, {f"{due.id}:{due.at_ms}": due.at_ms for due in batch})

    def pids(self) -> dict[str, list[int]]:
        return self._parts.pids()

    def stop(self) -> None:
        self._parts.stop()


VARIANTS = [
    RedisPolling("polled each second, 1 thread, requests", _PATTERN, 1, "requests", "one"),
    RedisPolling("polled each second, 32 threads, requests", _PATTERN, 32, "requests", "one"),
    RedisPolling(
        "polled each second, 32 threads, pycurl, ZREM of all in a pipeline",
        _PATTERN,
        32,
        "pycurl",
        "pipeline",
    ),
    RedisPolling(
        "asleep until the next is due, at most a second, 32 threads, pycurl, ZREM of all in a pipeline",
        _PATTERN,
        32,
        "pycurl",
        "pipeline",
        sleep="next",
    ),
]
