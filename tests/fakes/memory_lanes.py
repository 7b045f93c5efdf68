"""Lanes in memory: the rules of lane_add, lane_pull and lane_forget, as in their Lua."""

from collections.abc import Mapping, Sequence
from itertools import count

from tests.fakes.memory_slices import MemorySlices, _first_until, _of
from wangtimer.core.firing import DueMember
from wangtimer.core.slicing import SharedLane
from wangtimer.store.redis.lanes import MEMBERS_A_SCRIPT, Pulled
from wangtimer.store.redis.slices import Taken


class MemoryLanes:
    """The lanes, among the slices of a server; the index is its table `lanes`."""

    def __init__(self, slices: MemorySlices) -> None:
        self._slices = slices
        self._server = slices._server
        self._tokens = count()

    def add(self, by_lane: Mapping[SharedLane, Sequence[DueMember]], is_repair: bool) -> None:
        def work() -> None:
            for lane, members in by_lane.items():
                sets, now = self._slices._written(lane), self._slices._now()
                for member, due_at in members:
                    if not sets.holds(member):
                        is_put_off = is_repair and due_at <= now
                        sets.due[member] = now + self._slices._leases.running_ms if is_put_off else due_at
                        sets.suspect.add(member)

        self._server.call(work)

    def pull(
        self, lane: SharedLane, claim_id: str, most: int, keep_leases: bool, is_again: bool = False
    ) -> Pulled:
        def work() -> Pulled:
            sets, now = self._slices._written(lane), self._slices._now()
            if not keep_leases:
                self._slices._take_back(lane, sets.running)
            dues = []
            if is_again:
                dues = [DueMember(one, now) for one in _of(claim_id, sets, list(sets.running))]
            for member in _first_until(sets.due, now, max(0, min(most, MEMBERS_A_SCRIPT) - len(dues))):
                dues.append(DueMember(member, sets.due.pop(member)))
                sets.running[member] = now + self._slices._leases.running_ms
                sets.owner[member] = claim_id
            taken = tuple(Taken(due.member, True, sets.deaths.get(due.member, 0)) for due in dues)
            next_at = min(sets.due.values(), default=None)
            return Pulled(next_at, len(sets.due), len(sets.running), tuple(dues), taken)

        return self._server.call(work)

    def enter(self, lanes: Sequence[SharedLane]) -> None:
        def work() -> None:
            for lane in lanes:
                self._server.table("lanes")[lane] = str(next(self._tokens))

        self._server.call(work)

    def index(self) -> dict[SharedLane, str]:
        return self._server.call(lambda: dict(self._server.table("lanes")))

    def forget(self, lane: SharedLane, token: str) -> None:
        def work() -> None:
            if self._server.table("lanes").get(lane) == token:
                del self._server.table("lanes")[lane]

        self._server.call(work)
