"""The production wiring over doubles of Redis: users' tests stand on it, and so do our worlds of several processes."""

from contextlib import nullcontext
from types import SimpleNamespace

from celery import Celery

from wangtimer.base.settings import Settings
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.executor import Executor
from wangtimer.store.redis.slices import SliceStore
from wangtimer.testing.doubles import (
    HandClock,
    MemoryAgenda,
    MemoryDefinitions,
    MemoryLanes,
    MemoryLoad,
    MemoryMarkedCopies,
    MemoryOutbox,
    MemoryPermits,
    MemoryQueueWorkers,
    MemoryReplicaTexts,
    MemoryServer,
    MemorySlices,
    MemoryWindow,
)
from wangtimer.wiring import Wiring, once


class DoubledWiring(Wiring):
    """The parts of one process whose Redis is `server`. No thread starts: whoever has the parts runs them."""

    def __init__(self, settings: Settings, clock: HandClock, server: MemoryServer) -> None:
        # No message is sent. The app of the process stays that of the service under test.
        super().__init__(settings, Celery("wangtimer", set_as_current=False))
        slices = MemorySlices(server, clock, self.leases)
        vars(self).update(
            clock=clock,
            slices=slices,
            agenda=MemoryAgenda(server),
            window=MemoryWindow(server, self.window_rule),
            lanes=MemoryLanes(slices, self.lane_budget),
            permits=MemoryPermits(slices, settings.callback_timeout_ms),
            replica_texts=MemoryReplicaTexts(server),
            queue_workers=MemoryQueueWorkers(server),
            definitions=MemoryDefinitions(server, clock, self.definitions_live_s),
            outbox=MemoryOutbox(server),
            marked_copies=MemoryMarkedCopies(server),
            load=MemoryLoad(server),
            # No call leaves the process, so nothing is set for any app's way out.
            ways_out=SimpleNamespace(is_known=True),
            bad_timers=BadTimers(),
            one_at_a_time=nullcontext,
        )

    @once
    def keeper_slices(self) -> SliceStore:
        """As the others."""
        return self.slices

    def _start_threads(self, executor: Executor) -> None:
        """Return: the parts run when their owner says so."""
