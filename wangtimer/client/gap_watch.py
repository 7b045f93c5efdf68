"""For the service that is called by numbered timers: sees gaps and repeats."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from .receiver import ReceivedCall

_EPOCH, _MS = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)
# With its last moments a timer takes some 3 KB.
MOST_TIMERS = 10_000
# Of one timer: a repeat of an older firing is told as a late call.
MOST_MOMENTS = 20
# A count of lost moments that means that many, or more.
MOST_LOST = 1_000


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
    overlap, one may be told of twice. Where 1,000 or more were lost, it is those since the newest call, at most. One
    that fails for good only after a later one has succeeded is in no count: it shows in `unseen` of the call that
    passed it over. `unseen` is how many numbers were passed over: their firings were lost, went to another receiver,
    are still under way, or an edit replaced them. A repeat has what the first call of its firing had: whoever acts on a
    gap may fail, and is called again.
    """

    order: CallOrder
    lost: int = 0
    unseen: int = 0


@dataclass(slots=True)
class _Timer:
    """What was seen of one timer, and what its newest calls told; moments in ms UTC, the one seen last at the end."""

    newest: int
    highest: int
    last_success_at: datetime | None
    lost: int
    moments: dict[int, Sighting] = field(default_factory=dict)
    # What calls told since that know only a part of what was lost, and the moment of the first of them; 0: none did.
    part_lost: int = 0
    part_since: int = 0
    # Whether the newest call that was counted told of `MOST_LOST`, or more: what was lost since is not in that count.
    told_most: bool = False
    # Calls since that one that were not counted, with those that they passed over.
    uncounted: int = 0

    def tells_at_least(self, call: ReceivedCall) -> bool:
        """Whether a call knows only a part of what was lost: it tells no last success, and an earlier one did."""
        is_part = call.last_success_at is None and self.last_success_at is not None
        return is_part and (call.lost_since or 0) < MOST_LOST

    def told_since(self, last_success_at: datetime | None) -> int:
        """Return how many of those lost since then were told of; no success lies among those that were told in part."""
        lost = self.lost if last_success_at == self.last_success_at else 0
        is_before = last_success_at is None or _ms(last_success_at) < self.part_since
        return lost + (self.part_lost if is_before else 0)

    def take(self, call: ReceivedCall, sighting: Sighting) -> None:
        """Remember what a newer call told; one that was not counted tells nothing."""
        self.newest = _ms(call.fire_at)
        if call.lost_since is None:
            self.uncounted += sighting.unseen + 1
            return
        self.told_most, self.uncounted = call.lost_since >= MOST_LOST, 0
        if self.tells_at_least(call):
            self.part_lost += sighting.lost
            self.part_since = self.part_since or self.newest
        else:
            self.last_success_at, self.lost = call.last_success_at, call.lost_since
            self.part_lost = self.part_since = 0

    def see(self, moment: int, sighting: Sighting) -> None:
        self.moments[moment] = sighting
        if len(self.moments) > MOST_MOMENTS:
            del self.moments[next(iter(self.moments))]


class GapWatch:
    """Says of each call how it follows those that this process has seen: of up to `most` timers, the latest called.

    It goes by moments, because numbers need not grow with them: after an edit, a moment that was planned before keeps
    its number. It is safe for any number of threads. A restart forgets everything, and another process knows nothing
    of it. One watch is for the calls of one deployment.

        watch = GapWatch()

        def report(call: ReceivedCall) -> None:
            sighting = watch.see(call)
            if sighting.lost or sighting.order is CallOrder.GAP:
                catch_up(call.last_success_at)
    """

    def __init__(self, most: int = MOST_TIMERS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._timers: OrderedDict[tuple[str, int], _Timer] = OrderedDict()

    def see(self, call: ReceivedCall) -> Sighting:
        """Remember a call, and say how it follows the earlier ones."""
        if call.sequence is None:
            return Sighting(CallOrder.UNNUMBERED)
        with self._lock:
            seen = self._timers.get((call.app, call.timer_id))
            sighting = _sighting(seen, call, call.sequence)
            self._remember(seen, call, call.sequence, sighting)
        return sighting

    def _remember(self, seen: _Timer | None, call: ReceivedCall, sequence: int, sighting: Sighting) -> None:
        key, moment = (call.app, call.timer_id), _ms(call.fire_at)
        if seen is None:
            seen = self._timers[key] = _Timer(moment, sequence, call.last_success_at, call.lost_since or 0)
            seen.told_most = seen.lost >= MOST_LOST
        elif moment > seen.newest:
            seen.take(call, sighting)
        seen.highest = max(seen.highest, sequence)
        if sighting.order is not CallOrder.REPEAT:
            seen.see(moment, sighting)
        self._timers.move_to_end(key)
        if len(self._timers) > self._most:
            self._timers.popitem(last=False)


def _sighting(seen: _Timer | None, call: ReceivedCall, sequence: int) -> Sighting:
    lost = call.lost_since or 0
    if seen is None:
        return Sighting(CallOrder.GAP if lost else CallOrder.IN_ORDER, lost)
    moment = _ms(call.fire_at)
    if (first := seen.moments.get(moment)) is not None:
        return Sighting(CallOrder.REPEAT, first.lost, first.unseen)
    if moment < seen.newest:
        return Sighting(CallOrder.LATE)
    unseen = max(0, sequence - seen.highest - 1)
    if call.lost_since is None:
        # It was not counted: what was passed over may be lost.
        return Sighting(CallOrder.GAP if unseen else CallOrder.IN_ORDER, 0, unseen)
    if seen.tells_at_least(call):
        # Of the last few. What was passed over since the newest call may be other ones than those told of.
        lost = max(lost - seen.told_since(seen.last_success_at), min(lost, unseen))
    elif lost < MOST_LOST:
        lost = max(0, lost - seen.told_since(call.last_success_at))
    elif seen.told_most:
        # Those since the newest call that was counted, and that call itself, whose firing may have failed.
        lost = min(lost, unseen + 1 + seen.uncounted)
    was_elsewhere = call.last_success_at is not None and _ms(call.last_success_at) > seen.newest
    order = CallOrder.GAP if lost or was_elsewhere else CallOrder.IN_ORDER
    return Sighting(order, lost, unseen)


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // _MS
