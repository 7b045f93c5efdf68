"""For the service that is called by numbered timers: sees gaps and repeats."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from .receiver import ReceivedCall

MOST_TIMERS = 100_000
# Of one timer: a repeat of an older firing is told as a late call.
MOST_MOMENTS = 100


class CallOrder(StrEnum):
    """How a call follows what was seen of its timer.

    `in_order`    nothing was lost before it, as far as is known by now
    `gap`         moments before it were lost, or another receiver had some
    `late`        a newer moment was seen before it: a retry, a replay, or two calls were under way at once
    `repeat`      this firing was seen before, whatever became of it
    `unnumbered`  it has no number: its timer is not numbered, or was not when it was planned, or somebody asked for it
    """

    IN_ORDER = "in_order"
    GAP = "gap"
    LATE = "late"
    REPEAT = "repeat"
    UNNUMBERED = "unnumbered"


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a call says of those before it.

    `lost` is how many moments failed for good or were skipped by a policy, and no earlier call told of; where calls
    overlap, one may be told of twice, none is left out. `unseen` is how many numbers were passed over: their firings
    were lost, went to another receiver, are still under way, or an edit replaced them.
    """

    order: CallOrder
    lost: int = 0
    unseen: int = 0


@dataclass(slots=True)
class _Timer:
    """What was seen of one timer, and what its newest call told."""

    newest: datetime
    highest: int
    last_success_at: datetime | None
    lost: int
    moments: OrderedDict[datetime, None] = field(default_factory=OrderedDict)

    def see(self, moment: datetime) -> None:
        self.moments[moment] = None
        if len(self.moments) > MOST_MOMENTS:
            self.moments.popitem(last=False)


class GapWatch:
    """Says of each call how it follows those that this process has seen: of up to `most` timers, the latest called.

    It goes by moments, because numbers need not grow with them: after an edit, a moment that was planned before keeps
    its number. It is safe for any number of threads. A restart forgets everything, and another process knows nothing
    of it.

        watch = GapWatch()

        def report(call: ReceivedCall) -> None:
            if watch.see(call).order is CallOrder.GAP:
                catch_up(call.last_success_at)
    """

    def __init__(self, most: int = MOST_TIMERS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._timers: OrderedDict[int, _Timer] = OrderedDict()

    def see(self, call: ReceivedCall) -> Sighting:
        """Remember a call, and say how it follows the earlier ones."""
        if call.sequence is None:
            return Sighting(CallOrder.UNNUMBERED)
        with self._lock:
            seen = self._timers.get(call.timer_id)
            sighting = _sighting(seen, call, call.sequence)
            self._remember(seen, call, call.sequence)
        return sighting

    def _remember(self, seen: _Timer | None, call: ReceivedCall, sequence: int) -> None:
        lost = call.lost_since or 0
        if seen is None:
            seen = self._timers[call.timer_id] = _Timer(call.fire_at, sequence, call.last_success_at, lost)
        elif call.fire_at > seen.newest:
            seen.newest, seen.last_success_at, seen.lost = call.fire_at, call.last_success_at, lost
        seen.highest = max(seen.highest, sequence)
        seen.see(call.fire_at)
        self._timers.move_to_end(call.timer_id)
        if len(self._timers) > self._most:
            self._timers.popitem(last=False)


def _sighting(seen: _Timer | None, call: ReceivedCall, sequence: int) -> Sighting:
    lost = call.lost_since or 0
    if seen is None:
        return Sighting(CallOrder.GAP if lost else CallOrder.IN_ORDER, lost)
    if call.fire_at in seen.moments:
        return Sighting(CallOrder.REPEAT)
    if call.fire_at < seen.newest:
        return Sighting(CallOrder.LATE)
    if call.last_success_at == seen.last_success_at:
        lost = max(0, lost - seen.lost)
    was_elsewhere = call.last_success_at is not None and call.last_success_at > seen.newest
    order = CallOrder.GAP if lost or was_elsewhere else CallOrder.IN_ORDER
    return Sighting(order, lost, max(0, sequence - seen.highest - 1))
