"""The scheduler: each second, it sends one trigger task for every slice that needs one and that nobody holds."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from wangtimer.core.flow.slicing import TriggerOrder
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.agenda import Agenda
from wangtimer.store.redis.slices import SliceStore

# More than one tick, so that a minute's boundary has no gap.
LOOK_AHEAD_MS = 2_000
# A slice that has waited longer than this is past. Past slices are worked off a few at a time, so that catching up
# after an outage does not starve the current minute.
PAST_MS = 60_000
# Of each queue.
PAST_AT_ONCE = 4
SLICES_A_TICK = 1_000


@dataclass(slots=True)
class Scheduler:
    """A tick depends on the clock and the agenda alone, so a missed, late or doubled tick harms nothing."""

    agenda: Agenda
    slices: SliceStore
    clock: Clock
    arm_credit: int
    send_trigger: Callable[[TriggerOrder], None]

    def tick(self) -> int:
        """Lock the slices that need a trigger and send their tasks; return how many. Raises `StoreAway`."""
        now = int(self.clock.now_ms())
        slices = self.agenda.needs_until(now + LOOK_AHEAD_MS, SLICES_A_TICK, now - PAST_MS, PAST_AT_ONCE)
        if not slices:
            return 0
        locked = self.slices.lock({slice_: uuid4().hex for slice_ in slices})
        for slice_, token in locked.items():
            of_its_minute = sum(other.minute == slice_.minute for other in slices)
            self.send_trigger(TriggerOrder(slice_, token, max(1, self.arm_credit // of_its_minute)))
        return len(locked)
