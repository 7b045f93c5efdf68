"""Celery's own answer to "call me at": a task with an `eta`, held in the memory of a worker until its moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from celery import Celery

from benchmarks.due import Due
from benchmarks.peers.parts import Parts

TASK = "call"
_BATCH = 500
_WORKER = "benchmarks.peers.workers.celery_threads"


def celery_app(redis_url: str, *, ack_emulation: bool) -> Celery:
    """Return an application that keeps no results and sends no events."""
    app = Celery("peer", broker=redis_url)
    app.conf.update(
        task_ignore_result=True,
        worker_prefetch_multiplier=0,
        worker_redirect_stdouts=False,
        broker_connection_retry_on_startup=True,
        broker_transport_options={"ack_emulation": ack_emulation, "priority_steps": [0]},
    )
    return app


@dataclass
class CeleryEta:
    """Worker processes with the threads pool; a Redis broker."""

    setting: str
    source: str
    processes: int
    threads: int
    client: str
    ack_emulation: bool = True
    name: str = "Celery eta"

    def start(self, directory: Path, target_url: str) -> None:
        self._parts = Parts(directory)
        redis_url = self._parts.start_redis().url()
        self._app = celery_app(redis_url, ack_emulation=self.ack_emulation)
        options = [f"--threads={self.threads}", f"--client={self.client}"]
        options += [] if self.ack_emulation else ["--no-ack-emulation"]
        for number in range(self.processes):
            self._parts.start_python_worker(_WORKER, redis_url, target_url, f"--name=peer{number}", *options)

    def schedule(self, dues: Sequence[Due]) -> None:
        """Publish in batches, which kombu sends as one pipeline each."""
        with self._app.amqp.producer_pool.acquire() as producer, producer.batch(_BATCH):
            for due in dues:
                eta = datetime.fromtimestamp(due.at_ms / 1_000, UTC)
                self._app.send_task(TASK, (due.id, due.at_ms), eta=eta, producer=producer)

    def pids(self) -> dict[str, list[int]]:
        return self._parts.pids()

    def stop(self) -> None:
        self._parts.stop()


VARIANTS = [
    CeleryEta(
        "1 process, 32 threads, requests, prefetch unlimited",
        "https://docs.celeryq.dev/en/stable/userguide/optimizing.html#prefetch-limits",
        processes=1,
        threads=32,
        client="requests",
    ),
    CeleryEta(
        "2 processes, 16 threads each, requests, prefetch unlimited",
        "https://docs.celeryq.dev/en/stable/userguide/workers.html#concurrency",
        processes=2,
        threads=16,
        client="requests",
    ),
    CeleryEta(
        "2 processes, 16 threads each, pycurl, prefetch unlimited",
        "https://docs.celeryq.dev/en/stable/userguide/workers.html#concurrency",
        processes=2,
        threads=16,
        client="pycurl",
    ),
    CeleryEta(
        "2 processes, 16 threads each, pycurl, no ack emulation (a crash loses what is held)",
        "https://docs.celeryq.dev/projects/kombu/en/stable/reference/kombu.transport.redis.html",
        processes=2,
        threads=16,
        client="pycurl",
        ack_emulation=False,
    ),
]
