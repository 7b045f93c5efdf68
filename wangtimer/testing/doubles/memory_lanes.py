"""Lanes in memory: the rules of the Lua scripts lane_add, lane_pull, lane_feed, lane_fed and lane_forget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from wangtimer.core.flow.firing import DueMember
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.redis.lanes import MEMBERS_A_SCRIPT, LaneBudget, Pulled, PullOrder
from wangtimer.store.redis.slices import Taken
from wangtimer.testing.doubles.memory_server import at_once
from wangtimer.testing.doubles.memory_slices import MemorySlices, _first_until, _of


@dataclass(frozen=True, slots=True)
class Rest:
    """The part of a lane that only SQL holds: its first moment, who feeds the lane, the first one left out since then.

    `held`: until when another may hold some of it; `asked`: when feeding was last requested.
    """

    until: int
    feeder: str = ""
    low: int | None = None
    held: int = 0
    asked: float = 0


class MemoryLanes:
    """The lanes, stored with the slices of a server; the index is its table `lanes`."""

    def __init__(self, slices: MemorySlices, budget: LaneBudget) -> None:
        self._slices = slices
        self._budget = budget
        self._server = slices._server
        self._tokens = count()

    def add(
        self, by_lane: Mapping[SharedLane, Sequence[DueMember]], is_repair: bool, feeds: bool = False
    ) -> None:
        mosts = {lane: self._budget.most_of(lane) for lane in by_lane}

        def work() -> dict[SharedLane, int]:
            for lane, members in by_lane.items():
                sets, now = self._slices._written(lane), self._slices._now()
                rest = self._rests.get(lane)
                lease_ends = now + self._slices._leases.running_ms
                held = (rest.held if rest else 0) if feeds else lease_ends
                left = []
                for member, due_at in members:
                    if sets.holds(member):
                        continue
                    comes_after = rest is not None and due_at >= rest.until and not feeds
                    if len(sets.due) >= mosts[lane] or comes_after:
                        left.append(due_at)
                        continue
                    is_put_off = is_repair and due_at <= now and held > now
                    sets.due[member] = held if is_put_off else due_at
                    sets.suspect.add(member)
                if left:
                    if rest is None or (is_repair and min(left) < rest.until):
                        rest = replace(rest or Rest(min(left)), held=lease_ends)
                    low = min(left) if rest.low is None else min(rest.low, *left)
                    self._rests[lane] = replace(rest, until=min(rest.until, *left), low=low)
            return {lane: len(self._slices._written(lane).due) for lane in by_lane}

        for lane, waiting in self._server.call(work).items():
            self._budget.note(lane, waiting)

    def pull(
        self, lane: SharedLane, claim_id: str, most: int, keep_leases: bool, is_again: bool = False
    ) -> Pulled:
        few = self._budget.few_of(lane)

        def work() -> Pulled:
            sets, now = self._slices._written(lane), self._slices._now()
            if not keep_leases:
                self._slices._take_back(lane, sets.running)
            dues = []
            if is_again:
                dues = [DueMember(member, now) for member in _of(claim_id, sets, list(sets.running))]
            for member in _first_until(sets.due, now, max(0, min(most, MEMBERS_A_SCRIPT) - len(dues))):
                dues.append(DueMember(member, sets.due.pop(member)))
                sets.running[member] = now + self._slices._leases.running_ms
                sets.owner[member] = claim_id
            taken = tuple(Taken(due.member, True, sets.deaths.get(due.member, 0)) for due in dues)
            next_at = min(sets.due.values(), default=None)
            rest = self._rests.get(lane)
            is_to_be_fed = False
            if rest is not None and len(sets.due) <= few and abs(now - rest.asked) >= 1_000:
                is_to_be_fed = True
                self._rests[lane] = replace(rest, asked=now)
            counts = len(sets.due), len(sets.running)
            return Pulled(next_at, *counts, tuple(dues), taken, rest is not None, is_to_be_fed)

        pulled = self._server.call(work)
        self._budget.note(lane, pulled.waiting)
        return pulled

    def pull_all(
        self, orders: Sequence[PullOrder], keep_leases: bool, is_again: bool = False
    ) -> list[Pulled]:
        return [self.pull(order.lane, order.claim_id, order.most, keep_leases, is_again) for order in orders]

    def with_rest(self) -> list[SharedLane]:
        def work() -> dict[SharedLane, tuple[int, bool]]:
            rests = self._rests
            return {
                lane: (len(self._slices._written(lane).due), lane in rests)
                for lane in self._server.table("lanes")
            }

        found = self._server.call(work)
        self._budget.keep(found)
        for lane, (waiting, _) in found.items():
            self._budget.note(lane, waiting)
        return [lane for lane, (_, has_rest) in found.items() if has_rest]

    def throttled(self) -> int:
        return sum(self.waiting_in([lane for lane in self.index() if lane.is_of_limit]).values())

    def waiting_for_targets(self) -> int:
        lanes = [lane for lane in self.index() if not lane.is_of_limit and lane.paused is None]
        return sum(self.waiting_in(lanes).values())

    def paused(self) -> int:
        return sum(self.waiting_in([lane for lane in self.index() if lane.paused is not None]).values())

    def waiting_in(self, lanes: Sequence[SharedLane]) -> dict[SharedLane, int]:
        return self._server.call(lambda: {lane: len(self._slices._written(lane).due) for lane in lanes})

    @at_once
    def feed(self, lane: SharedLane, token: str) -> int | None:
        rest = self._rests.get(lane)
        if rest is None:
            return None
        self._rests[lane] = replace(rest, feeder=token, low=None)
        return rest.until

    @at_once
    def fed(self, lane: SharedLane, token: str, until_ms: int | None) -> None:
        rest = self._rests.get(lane)
        if rest is None or rest.feeder != token:
            return
        moments = [moment for moment in (until_ms, rest.low) if moment is not None]
        if moments:
            self._rests[lane] = replace(rest, until=min(moments), feeder="", low=None)
        else:
            del self._rests[lane]

    @at_once
    def enter(self, lanes: Sequence[SharedLane]) -> None:
        for lane in lanes:
            self._server.table("lanes")[lane] = str(next(self._tokens))

    def index(self) -> dict[SharedLane, str]:
        found = self._server.call(lambda: dict(self._server.table("lanes")))
        self._budget.keep(found)
        return found

    @at_once
    def forget(self, lanes: Mapping[SharedLane, str]) -> None:
        for lane, token in lanes.items():
            if self._server.table("lanes").get(lane) == token:
                del self._server.table("lanes")[lane]

    @property
    def _rests(self) -> dict[SharedLane, Rest]:
        return self._server.table("rests")
