"""The lane feeder: brings firings that wait for room from SQL into their lane, once the lane has room again."""

from dataclasses import dataclass
from uuid import uuid4

import structlog

from wangtimer.core.flow.firing import DueMember
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.lanes import LaneBudget, LaneStore
from wangtimer.store.sql.firings import FiringStore

log = structlog.get_logger()

PAGE = 2_000
# Bounds one pass; the next goes on where it stopped.
PAGES_A_PASS = 50
# One statement names up to so many lanes, so that SQL skips all other lanes within the index. It names no lane where
# more are fed.
MOST_NAMED = 100
# Firings that wait for room are due by now, or within the lead.
AHEAD_MS = 5_000


@dataclass(slots=True)
class _Fed:
    """A lane that is being fed: the first moment, how many more it may hold, when it was full; in ms UTC."""

    since_ms: int
    room: int
    full_at: int | None = None


@dataclass(frozen=True, slots=True)
class LaneFeeder:
    """A lane holds the waiting firings that were due first; SQL alone holds its rest. The rest is fed in due order.

    Feeding twice at once harms nothing: members already in a lane stay, and of two feeders of one lane only the
    second's end counts.
    """

    firings: FiringStore
    lanes: LaneStore
    lane_budget: LaneBudget
    clock: Clock

    def feed(self) -> int:
        """Feed the lanes that have room for some of their rest; return how many firings came. Raises `StoreAway`."""
        token = uuid4().hex
        coming = self._with_room(token)
        if not coming:
            return 0
        until = int(self.clock.now_ms()) + AHEAD_MS
        at: int | None = min(fed.since_ms for fed in coming.values())
        brought, after = 0, None
        for _ in range(PAGES_A_PASS):
            named = [lane for lane, fed in coming.items() if fed.full_at is None]
            if len(named) > MOST_NAMED:
                named = []
            page = self.firings.pending_between(at or 0, until, PAGE, after, in_lanes=True, of_lanes=named)
            brought += self._bring(
                coming,
                [(SharedLane(firing.lane), DueMember(firing.member, firing.due_at)) for firing in page],
            )
            after = page[-1] if len(page) == PAGE else None
            if after is None or all(fed.full_at is not None for fed in coming.values()):
                break
        at = None if after is None else after.due_at
        for lane, fed in coming.items():
            # SQL keeps what this pass did not reach.
            ended_at = at if fed.full_at is None else fed.full_at
            self.lanes.fed(lane, token, ended_at if ended_at is None else max(ended_at, fed.since_ms))
        if brought:
            log.info("lanes_fed", lanes=len(coming), firings=brought)
        return brought

    def _with_room(self, token: str) -> dict[SharedLane, _Fed]:
        """Begin to feed the lanes that have room for some of their rest."""
        found = {}
        for lane in self.lanes.with_rest():
            room = self.lane_budget.room_of(lane)
            if self.lane_budget.most_of(lane) - room > self.lane_budget.few_of(lane):
                continue
            since = self.lanes.feed(lane, token)
            if since is not None:
                found[lane] = _Fed(since, room)
                # Lanes that are fed together share what is free.
                self.lane_budget.note(lane, self.lane_budget.most_of(lane))
        return found

    def _bring(self, coming: dict[SharedLane, _Fed], page: list[tuple[SharedLane, DueMember]]) -> int:
        """Add those firings of a page for which their lanes have room; note which lanes are full."""
        wanted: dict[SharedLane, list[DueMember]] = {}
        for lane, due in page:
            fed = coming.get(lane)
            if fed is None or fed.full_at is not None or due.due_at < fed.since_ms:
                continue
            if fed.room == 0:
                fed.full_at = due.due_at
                continue
            fed.room -= 1
            wanted.setdefault(lane, []).append(due)
        self.lanes.add(wanted, is_repair=True, feeds=True)
        return sum(map(len, wanted.values()))
