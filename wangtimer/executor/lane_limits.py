"""Lanes of limits: how many permits to take for their firings, and when to ask a limit again."""

from collections import deque
from collections.abc import Container, Mapping

import structlog

from wangtimer.callback.permits import Permit
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.executor.throttle import Throttle

log = structlog.get_logger()

# How often a lane is pulled whose limit is one on calls a second: the rate stores up those of twice this time.
RATE_EVERY_S = 0.05

# A limit that leaves no call, and says not when, is asked again after `RATE_EVERY_S`, then after twice that, up to
# this: permits may be on their way back, or be another process'.
ASK_IN_VAIN_EVERY_S = 0.8

# So many permits are taken at least, as more firings may wait by now than at the last pull.
FEW_PERMITS = 10


class LaneLimits:
    """Only the puller's thread takes permits; `note_ended` may be told by any."""

    def __init__(self, throttle: Throttle, clock: Clock) -> None:
        self._throttle = throttle
        self._clock = clock
        # When the limit of a lane may leave the next call, s of the stop-watch.
        self._again_at: dict[SharedLane, float] = {}
        # The next pause of a lane whose limit left no call.
        self._pauses_s: dict[SharedLane, float] = {}
        # Lanes whose firings could not use their permits.
        self._unused: deque[SharedLane] = deque()
        # How many firings a lane had at the last pull.
        self._crowds: dict[SharedLane, int] = {}

    def count_for(self, lane: SharedLane) -> bool:
        """Tell whether firings of this lane need permits."""
        return lane.is_of_limit and self._throttle.needs_permits(lane)

    def keep(self, lanes: Container[SharedLane]) -> None:
        """Forget what is known of all other lanes."""
        self._again_at = {lane: at for lane, at in self._again_at.items() if lane in lanes}
        self._pauses_s = {lane: pause_s for lane, pause_s in self._pauses_s.items() if lane in lanes}
        self._crowds = {lane: number for lane, number in self._crowds.items() if lane in lanes}

    def note_unused(self, lane: SharedLane) -> None:
        """Learn that a permit came back unused, as another limit refused its call; quick, from any thread.

        The limit is asked again after `RATE_EVERY_S`.
        """
        self._unused.append(lane)

    def _note_all_unused(self) -> None:
        while self._unused:
            lane, at = self._unused.popleft(), self._clock.monotonic() + RATE_EVERY_S
            self._again_at[lane] = min(at, self._again_at.get(lane, at))

    @property
    def next_at(self) -> float:
        """When a limit is to be asked again, s of the stop-watch."""
        self._note_all_unused()
        return min(self._again_at.values(), default=float("inf"))

    def take_ripe(self) -> list[SharedLane]:
        """Take out the lanes whose limits are to be asked again now, the longest ripe first."""
        self._note_all_unused()
        now = self._clock.monotonic()
        ripe = sorted((at, lane.key, lane) for lane, at in self._again_at.items() if at <= now)
        for _, _, lane in ripe:
            del self._again_at[lane]
        return [lane for _, _, lane in ripe]

    def note_ended(self, lane: SharedLane) -> None:
        """Learn that a call of the lane ended: its limit is asked in vain no longer than need be."""
        self._pauses_s.pop(lane, None)

    def has_rate(self, lane: SharedLane) -> bool:
        """Tell whether the lane's limit is one on calls a second: then its rate says when the next may begin."""
        limit = self._throttle.limits.limit_of(lane)
        return limit is not None and limit.per_second is not None

    def note_pull(self, lane: SharedLane, taken: int, waiting: int) -> None:
        """Learn how many firings were taken from a lane and still wait; if none does, its limit is not asked again."""
        self._crowds[lane] = taken + waiting
        if not waiting:
            self._again_at.pop(lane, None)

    def wish(self, lane: SharedLane, room: int) -> int:
        """Return how many permits to ask for: no more than the limit may leave at once.

        Few for a lane in which few wait: others' calls would be refused until the rest is given back.
        """
        most = max(0, min(room, max(FEW_PERMITS, 2 * self._crowds.get(lane, 0))))
        limit = self._throttle.limits.limit_of(lane)
        return most if limit is None else limit.most_together(most)

    def take(self, wishes: Mapping[SharedLane, int]) -> dict[SharedLane, list[Permit] | None]:
        """Return the permits that the limits leave, asked in one trip; None for a lane without a limit.

        Raises `StoreAway`.
        """
        for lane, wish in wishes.items():
            if wish > 0:
                self._again_at.pop(lane, None)
        limited = [lane for lane in wishes if self.count_for(lane)]
        taken = self._take({lane: wishes[lane] for lane in limited if wishes[lane] > 0})
        permits: dict[SharedLane, list[Permit] | None] = dict.fromkeys(wishes)
        for lane in limited:
            permits[lane] = []
            if lane in taken:
                names, wait_s = taken[lane]
                permits[lane] = names
                is_used_up = self.has_rate(lane) and len(names) < wishes[lane]
                self._ask_again(lane, wait_s, is_in_vain=not names, is_used_up=is_used_up)
        return permits

    def _take(self, wishes: Mapping[SharedLane, int]) -> Mapping[SharedLane, tuple[list[Permit], float]]:
        """Take permits of all limits in one trip; one by one if that fails, so that a bad counter harms one."""
        if not wishes:
            return {}
        try:
            return self._throttle.take_all(wishes)
        except StoreAway:
            raise
        except Exception:
            log.exception("permits_taken_one_by_one", limits=len(wishes))
        taken: dict[SharedLane, tuple[list[Permit], float]] = {}
        for lane, most in wishes.items():
            try:
                taken |= self._throttle.take_all({lane: most})
            except StoreAway:
                raise
            except Exception:
                log.exception("no_permits_taken", limit=lane.key)
        return taken

    def _ask_again(self, lane: SharedLane, wait_s: float, *, is_in_vain: bool, is_used_up: bool) -> None:
        """Set when the limit is asked again, unless it leaves another call now.

        `is_used_up`: the rate gave fewer than wished for. It may still say that it leaves one: within less than a ms.
        """
        pause_s = self._pauses_s.pop(lane, RATE_EVERY_S)
        if wait_s or (is_used_up and not is_in_vain):
            self._again_at[lane] = self._clock.monotonic() + max(RATE_EVERY_S, wait_s)
        elif is_in_vain:
            self._again_at[lane] = self._clock.monotonic() + pause_s
            self._pauses_s[lane] = min(2 * pause_s, ASK_IN_VAIN_EVERY_S)
