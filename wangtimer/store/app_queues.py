"""Which apps have a queue of their own, and who takes their firings, as this process last read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.queues import CALLBACK, OwnQueues
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.replica_kind import ReplicaKind
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.process_marks import QueueWorkers
from wangtimer.store.replica import Replica

log = structlog.get_logger()

# How long what was read of who is there is believed.
READ_EVERY_S = 2.0
# A callback process says so often that it takes its queue's messages.
NOTE_EVERY_S = 2.0
# A queue that nobody has noted for so long has no callback process.
GONE_AFTER_MS = 10_000


# The name of each app's own queue.
APP_QUEUES: ReplicaKind[Mapping[str, str]] = ReplicaKind(
    "app-queues", dict, lambda told: {app: str(queue) for app, queue in told.items()}, {}
)


@dataclass(slots=True)
class AppQueues:
    """Any thread may ask. Without names of own queues in the settings nothing is ever read.

    A queue that no app has any more is nobody's: what is still planned for it goes by the common queue.
    """

    own_queues: OwnQueues
    queues_replica: Replica[Mapping[str, str]]
    queue_workers: QueueWorkers
    clock: Clock
    _seen: dict[str, int] = field(default_factory=dict, init=False)
    _seen_at: float = field(default=float("-inf"), init=False)
    _asked_since: float | None = field(default=None, init=False)

    def number_of(self, app: str) -> int:
        """Return the number of an app's queue, 0 for the common one; raises `StoreAway` if that was never read."""
        return (
            self.own_queues.number_of(self.queues_replica.lately().get(app)) if self.own_queues.names else 0
        )

    def serving(self, number: int) -> int:
        """Return the number of the queue that takes what was planned for this one: 0 if no app has it any more."""
        name = self.own_queues.name_of(number)
        if name is None:
            return 0
        try:
            return number if name in self.queues_replica.lately().values() else 0
        except StoreAway:
            return number

    def of_lane(self, lane: SharedLane) -> int:
        """Return the number of the queue whose callback processes pull from a lane. Raises `StoreAway`."""
        return self.serving(lane.queue) if lane.app is None else self.number_of(lane.app)

    def message_queue_of(self, number: int) -> str:
        """Return the queue of messages by which firings of a queue go."""
        return self.own_queues.message_queue_of(self.serving(number)) if number else CALLBACK

    def is_served(self, number: int) -> bool:
        """Tell whether callback processes take a queue's messages, as far as this process knows by now."""
        name = self.own_queues.name_of(self.serving(number)) if number else None
        if name is None:
            return True
        now = self.clock.monotonic()
        if self._asked_since is None:
            self._asked_since = now
        self._look_for_workers(now)
        is_new_here = now - self._asked_since < GONE_AFTER_MS / 1_000
        return is_new_here or self._seen.get(name, 0) > self.clock.now_ms() - GONE_AFTER_MS

    def unserved(self) -> list[str]:
        """Return the queues that some app has and for which no callback process is there. Raises `StoreAway`."""
        if not self.own_queues.names:
            return []
        seen, since = self.queue_workers.seen(), self.clock.now_ms() - GONE_AFTER_MS
        wanted = set(self.queues_replica.lately().values())
        return [name for name in self.own_queues.names if name in wanted and seen.get(name, 0) <= since]

    def _look_for_workers(self, now: float) -> None:
        """Read who is there; while Redis is away, or has lost it, who was there last counts."""
        if now - self._seen_at < READ_EVERY_S:
            return
        self._seen_at = now
        try:
            self._seen |= self.queue_workers.seen()
        except StoreAway as error:
            log.info("queue_workers_not_read", error=str(error))
