"""A firing whose timer this node cannot read or judge: it waits a while for a node that can, then it has failed."""

from dataclasses import dataclass, field

from wangtimer.core.timers.bad_timers import BadTimers

# Such a firing has failed so long after its moment, or after this process first met its bad timer if that was later.
GIVEN_UP_AFTER_MS = 600_000
SHORTEST_PAUSE_MS = 3_000
LONGEST_PAUSE_MS = 120_000
# Bad timers of which this process remembers when it first met them: about 10 MB.
MOST_MET = 100_000


@dataclass(frozen=True, slots=True)
class PutBack:
    """The member cannot be judged now, or it is too early: wait until this moment, ms UTC."""

    until: int


@dataclass(frozen=True, slots=True)
class Fail:
    """No node could read or judge the member in time: it has failed, for this reason."""

    reason: str


@dataclass(slots=True)
class Unread:
    """Puts firings back with pauses as long as they are late: any node looks at one some twelve times in 600 s."""

    bad_timers: BadTimers = field(default_factory=BadTimers)
    _met_at: dict[int, float] = field(default_factory=dict)

    def verdict(self, timer_id: int, due_at: int, reason: str, now: float) -> PutBack | Fail:
        """Return whether a firing due at `due_at` waits for another look, or has failed (moments in ms UTC)."""
        self.bad_timers.note({timer_id: reason})
        given_up_at = max(due_at, self._first_met(timer_id, now)) + GIVEN_UP_AFTER_MS
        if now >= given_up_at:
            return Fail(reason)
        pause = min(max(now - due_at, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS)
        return PutBack(int(min(now + pause, max(given_up_at, now + SHORTEST_PAUSE_MS))))

    def _first_met(self, timer_id: int, now: float) -> float:
        if len(self._met_at) > MOST_MET:
            self._met_at.clear()
        return self._met_at.setdefault(timer_id, now)
