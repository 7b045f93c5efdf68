"""The presence: a callback process of own queues says again and again that it is there."""

from collections.abc import Sequence
from threading import Event

from wangtimer.base.loop import Loop
from wangtimer.store.app_queues import NOTE_EVERY_S
from wangtimer.store.redis.process_marks import QueueWorkers


class Presence:
    """Says so of some queues, until the process is asked to stop."""

    def __init__(self, workers: QueueWorkers, queues: Sequence[str], stopping: Event) -> None:
        self._workers = workers
        self.queues = queues
        self._stopping = stopping
        self.loop = Loop("presence", self.note, NOTE_EVERY_S)

    def note(self) -> None:
        """Say so once; raises `StoreAway`."""
        if not self._stopping.is_set():
            self._workers.note(self.queues)
