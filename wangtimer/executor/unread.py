"""A firing whose timer this node cannot read or judge: it waits a while for a node that can, then it has failed.

One whose secrets this node cannot open waits too, and never fails by it: another node may have their key.
"""

from dataclasses import dataclass, field
from itertools import islice
from threading import Lock

from wangtimer.core.flow.firing import Member
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.executor.verdicts import Fail, PutBack

# Such a firing has failed so long after its moment, or after this process first met it if that was later.
GIVEN_UP_AFTER_MS = 600_000
SHORTEST_PAUSE_MS = 3_000
LONGEST_PAUSE_MS = 120_000
# A firing that was met so long ago was settled elsewhere: it would have come back by now.
REMEMBERED_MS = 2 * GIVEN_UP_AFTER_MS
# Firings of which this process remembers when it first met them: about 25 MB. Further ones wait until there is room.
MOST_MET = 100_000
# At once, so that a look takes no long time.
MOST_FORGOTTEN = 100


@dataclass(slots=True)
class Unread:
    """Puts firings back with pauses as long as they are late: any node looks at one some twelve times in 600 s."""

    bad_timers: BadTimers
    _met_at: dict[Member, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def verdict(self, member: Member, due_at: int, reason: str, now: float) -> PutBack | Fail:
        """Return whether a firing due at `due_at` waits for another look, or has failed (moments in ms UTC)."""
        met_at = self._met_at.get(member)
        waits = self.wait(member, due_at, reason, now)
        if met_at is None:
            return waits
        given_up_at = met_at + GIVEN_UP_AFTER_MS
        if now >= given_up_at:
            with self._lock:
                self._met_at.pop(member, None)
            return Fail(reason)
        return PutBack(int(min(waits.until, max(given_up_at, now + SHORTEST_PAUSE_MS))))

    def wait(self, member: Member, due_at: int, reason: str, now: float) -> PutBack:
        """Return when a firing is looked at again: the pauses grow with the time since it was first met."""
        self.bad_timers.note({member.timer_id: reason})
        self._note_met(member, max(due_at, now), now)
        pause = now - self._met_at.get(member, due_at)
        return PutBack(int(now + min(max(pause, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS)))

    def _note_met(self, member: Member, met_at: float, now: float) -> None:
        """Remember when the firing was first met, if there is room; what was met long ago makes room."""
        with self._lock:
            if len(self._met_at) >= MOST_MET:
                self._forget_before(now - REMEMBERED_MS)
            if len(self._met_at) < MOST_MET:
                self._met_at.setdefault(member, met_at)

    def _forget_before(self, moment: float) -> None:
        for timer_id, met_at in list(islice(self._met_at.items(), MOST_FORGOTTEN)):
            if met_at > moment:
                break
            del self._met_at[timer_id]
