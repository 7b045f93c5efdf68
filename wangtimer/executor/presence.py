"""The presence: a callback process of own queues says again and again that it is there."""

from collections.abc import Sequence
from threading import Event, Thread

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.store.app_queues import NOTE_EVERY_S
from wangtimer.store.redis.queue_workers import QueueWorkers

log = structlog.get_logger()


class Presence:
    """One thread; none in a process of the common queue alone. It ends once the process is asked to stop."""

    def __init__(self, workers: QueueWorkers, queues: Sequence[str], stopping: Event) -> None:
        self._workers = workers
        self._queues = queues
        self._stopping = stopping

    def start(self) -> None:
        """Begin to say so, if there is a queue to say it of."""
        if self._queues:
            Thread(target=self._run, name="presence", daemon=True).start()

    def note(self) -> None:
        """Say so once; while Redis is away nobody hears it."""
        try:
            self._workers.note(self._queues)
        except StoreAway as error:
            log.info("presence_not_noted", error=str(error))

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.note()
            except Exception:
                log.exception("presence_stumbled")
            self._stopping.wait(NOTE_EVERY_S)
