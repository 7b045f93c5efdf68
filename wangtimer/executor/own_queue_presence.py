"""The presence: a callback process of own queues says again and again that it is there."""

from collections.abc import Callable, Container, Sequence
from functools import cached_property
from threading import Event

from wangtimer.base.loop import Loop
from wangtimer.core.flow.queues import OwnQueues
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.app_queues import NOTE_EVERY_S, AppQueues
from wangtimer.store.redis.process_marks import QueueWorkers


class TakenQueues:
    """The queues of callbacks whose messages this process takes; `taken` returns its queues of messages."""

    def __init__(
        self, own_queues: OwnQueues, app_queues: AppQueues, taken: Callable[[], Container[str]]
    ) -> None:
        self._own = own_queues
        self._app_queues = app_queues
        self._taken = taken

    @cached_property
    def _numbers(self) -> frozenset[int]:
        taken, numbers = self._taken(), range(len(self._own.names) + 1)
        return frozenset(number for number in numbers if self._own.message_queue_of(number) in taken)

    def own_names(self) -> list[str]:
        """Return the names of own queues among them."""
        return [name for number in sorted(self._numbers) if (name := self._own.name_of(number)) is not None]

    def has(self, lane: SharedLane) -> bool:
        """Tell whether a lane is of such a queue. Raises `StoreAway`."""
        return not self._own.names or self._app_queues.of_lane(lane) in self._numbers


class Presence:
    """Says so of some queues, until the process is asked to stop."""

    def __init__(self, queue_workers: QueueWorkers, queues: Sequence[str], stopping: Event) -> None:
        self._workers = queue_workers
        self.queues = queues
        self._stopping = stopping
        self.loop = Loop("presence", self.note, NOTE_EVERY_S)

    def note(self) -> None:
        """Say so once; raises `StoreAway`."""
        if not self._stopping.is_set():
            self._workers.note(self.queues)
