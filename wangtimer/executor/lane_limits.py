"""Lanes of limited apps: how many permits to take for their firings, and when to ask a limit again."""

from collections.abc import Container, Mapping

import structlog

from wangtimer.callback.permits import Permit
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.executor.throttle import Throttle

log = structlog.get_logger()

# How often a lane is pulled whose app may make so many calls a second: the rate stores up those of twice this time.
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
        # When the limit of a lane's app may leave the next call, s of the stop-watch.
        self._again_at: dict[SharedLane, float] = {}
        # The next pause of a lane whose limit left no call.
        self._pauses_s: dict[SharedLane, float] = {}
        # How many firings a lane had at the last pull.
        self._crowds: dict[SharedLane, int] = {}

    def count_for(self, lane: SharedLane) -> bool:
        """Tell whether firings of this lane need permits."""
        app = lane.limited_app
        return app is not None and self._throttle.needs_permits(app)

    def hold(self, lane: SharedLane) -> bool:
        """Tell whether nothing is to be taken from this lane: an operator paused all that waits there."""
        return self._throttle.holds(lane)

    def keep(self, lanes: Container[SharedLane]) -> None:
        """Forget what is known of all other lanes."""
        self._again_at = {lane: at for lane, at in self._again_at.items() if lane in lanes}
        self._pauses_s = {lane: pause_s for lane, pause_s in self._pauses_s.items() if lane in lanes}
        self._crowds = {lane: number for lane, number in self._crowds.items() if lane in lanes}

    @property
    def next_at(self) -> float:
        """When a limit is to be asked again, s of the stop-watch."""
        return min(self._again_at.values(), default=float("inf"))

    def take_ripe(self) -> list[SharedLane]:
        """Take out the lanes whose limits are to be asked again now, the longest ripe first."""
        now = self._clock.monotonic()
        ripe = sorted((at, lane.key, lane) for lane, at in self._again_at.items() if at <= now)
        for _, _, lane in ripe:
            del self._again_at[lane]
        return [lane for _, _, lane in ripe]

    def note_ended(self, lane: SharedLane) -> None:
        """Learn that a call of the lane ended: its limit is asked in vain no longer than need be."""
        self._pauses_s.pop(lane, None)

    def has_rate(self, lane: SharedLane) -> bool:
        """Tell whether the lane's app may make so many calls a second: then its rate says when the next may begin."""
        limit = self._throttle.limits.get(lane.limited_app or "")
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
        limit = self._throttle.limits.get(lane.limited_app or "")
        return most if limit is None else limit.most_together(most)

    def take(self, wishes: Mapping[SharedLane, int]) -> dict[SharedLane, list[Permit] | None]:
        """Return the permits that the limits leave, asked in one trip; None for a lane without a limit.

        Raises `StoreAway`.
        """
        for lane, wish in wishes.items():
            if wish > 0:
                self._again_at.pop(lane, None)
        apps = {lane: lane.limited_app or "" for lane in wishes if self.count_for(lane)}
        taken = self._take({apps[lane]: wishes[lane] for lane in apps if wishes[lane] > 0})
        permits: dict[SharedLane, list[Permit] | None] = dict.fromkeys(wishes)
        for lane, app in apps.items():
            permits[lane] = []
            if app in taken:
                mine, wait_s = taken[app]
                permits[lane] = mine
                is_used_up = self.has_rate(lane) and len(mine) < wishes[lane]
                self._ask_again(lane, wait_s, is_in_vain=not mine, is_used_up=is_used_up)
        return permits

    def give_back(self, lane: SharedLane, permits: list[Permit]) -> None:
        """Give back permits with which no call was made."""
        app = lane.limited_app
        if app is not None and permits:
            self._throttle.give_back_all(app, permits)

    def _take(self, wishes: Mapping[str, int]) -> Mapping[str, tuple[list[Permit], float]]:
        """Take permits for all apps in one trip; one by one if that fails, so that a bad counter harms one app."""
        if not wishes:
            return {}
        try:
            return self._throttle.take_all(wishes)
        except StoreAway:
            raise
        except Exception:
            log.exception("permits_taken_one_by_one", apps=len(wishes))
        taken: dict[str, tuple[list[Permit], float]] = {}
        for app, most in wishes.items():
            try:
                taken |= self._throttle.take_all({app: most})
            except StoreAway:
                raise
            except Exception:
                log.exception("no_permits_taken", app=app)
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
