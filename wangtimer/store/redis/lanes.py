"""Lanes: what has no room now waits outside every process, and processes pull as room comes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from wangtimer.core.clock import LeaseClock
from wangtimer.core.firing import DueMember, Member
from wangtimer.core.slicing import SharedLane
from wangtimer.store.redis.connection import Argument, RedisConnection, ScriptCall, script
from wangtimer.store.redis.keys import Keys, expiry_of
from wangtimer.store.redis.slices import Leases, Taken

# Members one script takes at most: longer ones would hold up everybody else's commands.
MEMBERS_A_SCRIPT = 1_000
SCRIPTS_A_TRIP = 50


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull found and took; `next_at` (ms UTC) is when the first of those that still wait was due."""

    next_at: int | None
    waiting: int
    running: int
    dues: tuple[DueMember, ...] = ()
    taken: tuple[Taken, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands in the lane."""
        return not (self.waiting or self.running or self.dues)


class LaneStore:
    """The lanes; every method is one script a lane, and bears repeating.

    What was pulled runs in its lane as a claimed member runs in its slice: `SliceStore` renews, releases and puts
    it back. A lane exists while somebody stands in it; the index beside it says which do. A lane is written first and
    its entry second, each time under a new token, so that no entry is struck out that stands for anybody.
    """

    def __init__(self, connection: RedisConnection, keys: Keys, clock: LeaseClock, leases: Leases) -> None:
        self._connection = connection
        self._keys = keys
        self._clock = clock
        self._leases = leases

    def add(self, by_lane: Mapping[SharedLane, Sequence[DueMember]], is_repair: bool) -> None:
        """Put members into their lanes, to be verified in SQL when they are pulled."""
        now = int(self._clock.now_ms())
        calls = []
        for lane, members in by_lane.items():
            keys = self._keys.of_slice(lane, "due", "running", "suspect")
            head: list[Argument] = [now, self._leases.running_ms, int(is_repair), expiry_of(lane, now)]
            for start in range(0, len(members), MEMBERS_A_SCRIPT):
                flat: list[Argument] = []
                for due in members[start : start + MEMBERS_A_SCRIPT]:
                    flat += (str(due.member), due.due_at)
                calls.append(ScriptCall(script("lane_add"), keys, head + flat))
        for start in range(0, len(calls), SCRIPTS_A_TRIP):
            self._connection.run_all(calls[start : start + SCRIPTS_A_TRIP])

    def pull(
        self, lane: SharedLane, claim_id: str, most: int, keep_leases: bool, is_again: bool = False
    ) -> Pulled:
        """Take up to `most` of what is due for this claim, the first due first; repeatable by its id, with `is_again`.

        Leases that ran out are taken back, unless `keep_leases`.
        """
        now = int(self._clock.now_ms())
        keys = self._keys.of_slice(lane, "due", "running", "owner", "suspect", "deaths")
        lease_ends = int(self._clock.latest_ms()) + self._leases.running_ms
        ran_out_by = "" if keep_leases else int(self._clock.earliest_ms())
        arguments: list[Argument] = [now, claim_id, lease_ends, expiry_of(lane, now)]
        arguments += [min(most, MEMBERS_A_SCRIPT), ran_out_by, int(is_again)]
        next_at, waiting, running, told = self._connection.run("lane_pull", keys, arguments)
        dues, taken = [], []
        for text, moment, deaths in zip(told[::3], told[1::3], told[2::3], strict=True):
            member = Member.parse(text)
            dues.append(DueMember(member, int(float(moment))))
            taken.append(Taken(member, True, int(deaths)))
        first = int(float(next_at)) if next_at else None
        return Pulled(first, waiting, running, tuple(dues), tuple(taken))

    def enter(self, lanes: Sequence[SharedLane]) -> None:
        """Enter lanes into the index, after something was added to them."""
        tokens = {lane.key: uuid4().hex for lane in lanes}

        def write(client: Any) -> None:
            client.hset(self._keys.lanes, mapping=tokens)

        if tokens:
            self._connection.command(write)

    def index(self) -> dict[SharedLane, str]:
        """Return the lanes in which somebody may wait, each with the token of its last entry."""
        found: dict[str, str] = self._connection.command(self._read_index)
        return {SharedLane(key): token for key, token in found.items()}

    def forget(self, lane: SharedLane, token: str) -> None:
        """Strike out a lane that was found empty after the token was read."""
        self._connection.run("lane_forget", [self._keys.lanes], [lane.key, token])

    def _read_index(self, client: Any) -> Any:
        return client.hgetall(self._keys.lanes)
