"""The feeder: brings what comes due within the window from SQL into Redis, and compares the two before each minute."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import structlog

from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.slicing import MINUTE_MS, Slice
from wangtimer.core.flow.tally import Tally
from wangtimer.core.time.clock import Clock
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.window import Found, Next, Window
from wangtimer.store.refresher import tell
from wangtimer.store.sql.firings import FiringStore
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

PAGE = 2_000
# A row costs 1.4 µs: at 20,000 firings a second such a part takes 0.3 s, where a read that takes 5 s is given up.
TALLIED_AT_ONCE_MS = 10_000
# Redis takes some 1 µs a member, and up to 7 where this process' other threads want its CPU: after so many members the
# feeder's lease, which lasts for 15 s, is kept.
COMPARED_AT_ONCE = 100_000
# Pages of what waits in lanes that one look adds after a loss; the next look goes on there.
LANE_PAGES = 50
# SQL and Redis are compared for a minute so long before it begins, and again until a comparison succeeds.
COMPARE_AHEAD_MS = 45_000
# Timers whose recently written definitions this process remembers, at most: some 100 bytes each.
MOST_TOLD = 200_000
# A long feeding logs its progress this often.
TELL_EACH_S = 5.0


@dataclass(frozen=True, slots=True)
class Brought:
    """How many firings a minute has pending, as far as known, and how many were added.

    `is_whole`: whether Redis now holds all firings of the minute that are due before `until_ms`, ms UTC.
    """

    pending: int
    added: int
    until_ms: int
    is_whole: bool = True


@dataclass(slots=True)
class Feeding:
    """How far a feeder has come, for the log; moments in seconds of the stop-watch."""

    began_at: float
    minutes: int = 0
    firings: int = 0
    _told_at: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        """Log nothing before feeding has lasted a while."""
        self._told_at = self.began_at

    def note(self, added: int, fed: Next, now: float) -> None:
        """Count a minute; log the progress of a long feeding."""
        self.minutes += 1
        self.firings += added
        if now - self._told_at >= TELL_EACH_S:
            self._told_at = now
            log.info("feeding", minutes=self.minutes, firings=self.firings, minute=fed.minute, last=fed.last)

    def note_end(self, now: float) -> None:
        """Log what was fed, unless it was the one minute that comes due each minute."""
        if self.minutes > 1:
            took_s = round(now - self.began_at, 1)
            log.warning("window_fed", minutes=self.minutes, firings=self.firings, seconds=took_s)


@dataclass(slots=True)
class Feeder:
    """One process feeds at a time. A minute that was fed half-way is fed again: members already in a slice stay.

    SQL and Redis are compared by tallies, so that firings which Redis holds are not read and sent again.
    """

    timers: TimerStore
    firings: FiringStore
    hot: HotStore
    definitions: DefinitionStore
    window: Window
    clock: Clock
    definitions_live_s: int
    _reconnects: int | None = field(default=None, init=False)
    _told: dict[int, float] = field(default_factory=dict, init=False)
    _is_lanes_turn: bool = field(default=False, init=False)
    _lanes_brought_to: Firing | None = field(default=None, init=False)

    def feed(self) -> int:
        """Feed minute after minute until the window is full; return how many firings were added.

        After a reconnect feeding begins at the present minute again: Redis may have lost firings, with or without its
        marks. Raises `StoreAway`.
        """
        feeding = Feeding(self.clock.monotonic())
        while (coming := self._next()).found is Found.FEED:
            feeding.note(self._feed(coming), coming, self.clock.monotonic())
        if coming.found is Found.FULL:
            self._bring_lanes()
            feeding.note_end(self.clock.monotonic())
        return feeding.firings

    def compare(self) -> int:
        """Compare the coming minute's firings in SQL and Redis shortly before it, and add what is missing.

        It finds firings that no feeder and no adder brought: the adder died after its commit, the commit took effect
        late, or Redis lost the write. Firings that are due by now are left to the sweep: their adder may be about to
        arm them. Returns how many firings were added. Raises `StoreAway`.
        """
        now = int(self.clock.now_ms())
        minute = (now + COMPARE_AHEAD_MS) // MINUTE_MS
        if self.window.compared() >= minute:
            return 0
        since = max(minute * MINUTE_MS, now + 1)
        brought = self._bring(minute, since, (minute + 1) * MINUTE_MS, lambda: True)
        if brought.added:
            log.info("missing_firings_added", minute=minute, firings=brought.added)
        self.window.note_compared(minute)
        return brought.added

    def _next(self) -> Next:
        if self._reconnects is None:
            self.window.announced()  # connects
        seen, self._reconnects = self._reconnects, self.window.reconnects
        is_anew = seen != self._reconnects
        try:
            coming = self.window.next(int(self.clock.now_ms()), from_present=is_anew)
        except Exception:
            self._reconnects = None
            raise
        if coming.was_lost:
            log.warning("redis_holds_no_firings", from_minute=coming.minute, to_minute=coming.last)
        if coming.was_lost or is_anew:
            self._told.clear()
            self._is_lanes_turn, self._lanes_brought_to = True, None
        return coming

    def _feed(self, coming: Next) -> int:
        """Feed a minute or a part. If another feeder took over or Redis was lost, the next look says how to go on."""
        minute, since_ms, until_ms = coming.minute, coming.since_ms, coming.until_ms

        def keep() -> bool:
            return self.window.keep(minute)

        if since_ms == minute * MINUTE_MS:
            brought = self._bring(minute, since_ms, until_ms, keep)
        else:  # the rest of a minute: it is no longer known which of its slices differed from SQL
            brought = self._add_pages(since_ms, until_ms, lambda _firing: True, keep)
        if brought.is_whole:
            self.window.done(minute, brought.pending, brought.until_ms)
        return brought.added

    def _bring(self, minute: int, since_ms: int, until_ms: int, keep: Callable[[], bool]) -> Brought:
        """Add firings of a minute due from `since_ms` on and before `until_ms`, while `keep` returns True.

        Slices in which Redis and SQL agree are left out. All slices of the minute go onto the agenda.
        """
        tallies = self._tallies(minute, keep)
        if tallies is None:
            return Brought(0, 0, until_ms, is_whole=False)
        pending = sum(tally.number for tally in tallies.values())
        others: set[Slice] = set()
        for together in _at_once(tallies):
            others |= self.hot.raise_same(together)
            if not keep():
                return Brought(pending, 0, until_ms, is_whole=False)
        if not others:
            return Brought(pending, 0, (minute + 1) * MINUTE_MS)
        brought = self._add_pages(since_ms, until_ms, lambda firing: firing.slice in others, keep)
        return replace(brought, pending=pending)

    def _tallies(self, minute: int, keep: Callable[[], bool]) -> dict[Slice, Tally] | None:
        """Return the tally of each of the minute's slices in SQL, read in parts; None once `keep` returns False."""
        tallies: defaultdict[Slice, Tally] = defaultdict(Tally)
        starts_at, ends_at = minute * MINUTE_MS, (minute + 1) * MINUTE_MS
        for first in range(starts_at, ends_at, TALLIED_AT_ONCE_MS):
            part = self.firings.tallies(first, first + TALLIED_AT_ONCE_MS - 1)
            for slice_, tally in part.items():
                tallies[slice_] = tallies[slice_].plus(tally)
            if not keep():
                return None
        return dict(tallies)

    def _add_pages(
        self, since_ms: int, until_ms: int, is_wanted: Callable[[Firing], bool], keep: Callable[[], bool]
    ) -> Brought:
        """Add wanted pending firings due from `since_ms` on and before `until_ms`, while `keep` returns True."""
        added = 0
        after: Firing | None = None
        while page := self.firings.pending_between(since_ms, until_ms - 1, PAGE, after, in_lanes=False):
            if not keep():
                return Brought(0, added, until_ms, is_whole=False)
            missing = [firing for firing in page if is_wanted(firing)]
            self._tell({firing.timer_id for firing in missing})
            self.hot.add_all(missing, is_repair=True)
            added += len(missing)
            after = page[-1]
        return Brought(0, added, until_ms)

    def _bring_lanes(self) -> None:
        """After a loss or a reconnect, add the firings that wait in lanes: they were due before the present minute.

        One look adds `LANE_PAGES` pages. The next look goes on there, also after SQL or Redis failed half-way.
        """
        if not self._is_lanes_turn:
            return
        now = int(self.clock.now_ms())
        for _ in range(LANE_PAGES):
            page = self.firings.pending_between(0, now, PAGE, self._lanes_brought_to, in_lanes=True)
            if not page:
                self._is_lanes_turn = False
                return
            self._tell({firing.timer_id for firing in page})
            self.hot.add_all(page, is_repair=True)
            self._lanes_brought_to = page[-1]

    def _tell(self, timer_ids: set[int]) -> None:
        """Write the definitions of those timers whose definitions this process did not write lately."""
        now = self.clock.monotonic()
        fresh_since = now - self.definitions_live_s / 3
        news = {timer_id for timer_id in timer_ids if self._told.get(timer_id, float("-inf")) < fresh_since}
        if not news:
            return
        tell(self.timers, self.definitions, news)
        if len(self._told) + len(news) > MOST_TOLD:
            self._told.clear()
        self._told |= dict.fromkeys(news, now)


def _at_once(tallies: Mapping[Slice, Tally]) -> Iterator[dict[Slice, Tally]]:
    """Yield the tallies in parts of `COMPARED_AT_ONCE` members; a slice stays whole."""
    part: dict[Slice, Tally] = {}
    members = 0
    for slice_, tally in tallies.items():
        part[slice_] = tally
        members += tally.number
        if members >= COMPARED_AT_ONCE:
            yield part
            part, members = {}, 0
    if part:
        yield part
