"""Who feeds Redis, as each process believes it: two at once are one too many."""

from dataclasses import dataclass
from typing import Any

from tests.simulation.fault import Kind
from tests.simulation.simulator import Process, Simulation
from wangtimer.store.redis.window import FEEDER_LEASE_MS, Found, Next

# After these Redis does not know any more who feeds, or thinks that much time has passed.
FORGETTING = (Kind.REDIS_LOSS, Kind.REDIS_ROLLBACK, Kind.REDIS_CLOCK_AHEAD)


@dataclass(slots=True)
class Feeding:
    """A process heard at `told_at` that it is to feed; it asked for that, or to go on, at `asked_at` the last time."""

    process: str
    told_at: float
    asked_at: float


class Feeders:
    """`taken_over` is how often one took over from another that had not given way."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._feeding: Feeding | None = None
        self.violations: list[tuple[str, str]] = []
        self.taken_over = 0

    def told(self, process: str, asked_at: float, found: Found) -> None:
        """Note what a process was told that asked for a minute to feed.

        What was asked before another took over may be heard after that: then it is no matter.
        """
        other = self._feeding
        if found is not Found.FEED:
            return
        if other is not None and other.process != process:
            if asked_at <= other.told_at:
                return
            self.taken_over += 1
            if self._sim.now_ms < other.asked_at + FEEDER_LEASE_MS and not self._is_forgotten(other.asked_at):
                self.violations.append(("TWO-FEEDERS", f"{process} while {other.process} feeds"))
        self._feeding = Feeding(process, self._sim.now_ms, asked_at)

    def kept(self, process: str, asked_at: float) -> None:
        """Note that a process was told to go on."""
        feeding = self._feeding
        if feeding is None or feeding.process == process:
            self._feeding = Feeding(process, feeding.told_at if feeding else asked_at, asked_at)
        elif asked_at > feeding.told_at and not self._is_forgotten(feeding.told_at):
            self.violations.append(("TWO-FEEDERS", f"{process} goes on though {feeding.process} feeds"))

    def may_give_way(self, process: str) -> None:
        """Note that a process asks for a minute: where there is none to feed, it gives way."""
        if self._feeding is not None and self._feeding.process == process:
            self._feeding = None

    def _is_forgotten(self, since: float) -> bool:
        return any(at >= since and kind in FORGETTING for at, kind in self._sim.world_events)


class WatchedWindow:
    """The window as one process uses it; what it is told is noted when it hears it.

    Each call names its look, so that one which is carried out late is that of an earlier look.
    """

    def __init__(self, window: Any, process: Process, feeders: Feeders) -> None:
        self._window = window
        self._process = process
        self._name = f"{process.name}, start {process.incarnation}"
        self._feeders = feeders
        self._look = 0

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._window, attribute)

    def next(self, now: int, from_present: bool) -> Next:
        """Ask for the next minute to feed."""
        asked_at = self._process.sim.now_ms
        self._feeders.may_give_way(self._name)
        self._look += 1
        coming: Next = self._window.next(now, from_present=from_present, look=self._look)
        self._feeders.told(self._name, asked_at, coming.found)
        return coming

    def keep(self, minute: int) -> bool:
        """Ask whether to go on."""
        asked_at = self._process.sim.now_ms
        is_kept: bool = self._window.keep(minute, look=self._look)
        if is_kept:
            self._feeders.kept(self._name, asked_at)
        return is_kept

    def done(self, minute: int, firings: int, until_ms: int | None = None) -> bool:
        """Say that a minute is fed."""
        is_marked: bool = self._window.done(minute, firings, until_ms, look=self._look)
        return is_marked
