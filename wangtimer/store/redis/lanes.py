"""Lanes: firings without room wait here, outside every process; processes pull them as they have room."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any
from uuid import uuid4

from wangtimer.core.flow.firing import DueMember, Member
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import LeaseClock
from wangtimer.store.redis.connection import Argument, RedisConnection, ScriptCall, script
from wangtimer.store.redis.keys import Keys, expiry_of
from wangtimer.store.redis.slices import Leases, Taken

# Bytes of Redis that a firing takes in a lane.
BYTES_A_FIRING = 250
# Every lane may hold so many, however many the others hold.
LEAST = 100
# A lane is fed once it holds no more than this part of what it may hold.
FED_AT = 1 / 2


class LaneBudget:
    """How many firings a lane may hold in Redis: the rest waits in SQL alone.

    A lane holds at most as many firings as are free: one full lane takes half of all, two take a third each.

    Each process counts by what it last saw of the lanes; every method may be called from any thread.
    """

    def __init__(self, memory_bytes: int, least: int = LEAST) -> None:
        self._firings = memory_bytes // BYTES_A_FIRING
        self._least = least
        self._waiting: dict[SharedLane, int] = {}
        self._total = 0
        self._lock = Lock()

    def note(self, lane: SharedLane, waiting: int) -> None:
        """Learn how many firings wait in a lane."""
        with self._lock:
            self._total += waiting - self._waiting.get(lane, 0)
            self._waiting[lane] = waiting

    def keep(self, lanes: Collection[SharedLane]) -> None:
        """Forget all other lanes: nothing waits there any more."""
        with self._lock:
            self._waiting = {lane: number for lane, number in self._waiting.items() if lane in lanes}
            self._total = sum(self._waiting.values())

    def most_of(self, lane: SharedLane) -> int:
        """Return how many firings the lane may hold."""
        with self._lock:
            others = self._total - self._waiting.get(lane, 0)
        return max(self._least, (self._firings - others) // 2)

    def few_of(self, lane: SharedLane) -> int:
        """Return the number of waiting firings at or below which the lane is to be fed, if SQL holds more."""
        return int(self.most_of(lane) * (1 - FED_AT))

    def room_of(self, lane: SharedLane) -> int:
        """Return how many more firings the lane may hold."""
        return max(0, self.most_of(lane) - self._waiting.get(lane, 0))


# Members one script takes at most: longer ones would hold up everybody else's commands.
MEMBERS_A_SCRIPT = 1_000
SCRIPTS_A_TRIP = 50
LANES_A_TRIP = 500
# The answer of `lane_pull` that there is a rest and that the caller is to get it fed.
TO_BE_FED = 2


@dataclass(frozen=True, slots=True)
class PullOrder:
    """What one claim is to take from one lane: up to `most` due members."""

    lane: SharedLane
    claim_id: str
    most: int


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull found and took; `next_at` (ms UTC) is the due moment of the first firing that still waits.

    `has_rest`: SQL alone holds more firings of this lane. `is_to_be_fed`: some of those are to be fed now; once a
    second, one process that pulls is told so.
    """

    next_at: int | None
    waiting: int
    running: int
    dues: tuple[DueMember, ...] = ()
    taken: tuple[Taken, ...] = ()
    has_rest: bool = False
    is_to_be_fed: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands in the lane."""
        return not (self.waiting or self.running or self.dues or self.has_rest)


@dataclass(frozen=True, slots=True)
class ListedLane:
    """A lane with how many firings wait there in Redis; from `rest_from` (ms UTC) on SQL alone has the later ones."""

    lane: SharedLane
    waiting: int
    rest_from: int | None


class LaneStore:
    """The lanes. Each move is one script on one lane; every method may be repeated.

    * A pulled member runs in its lane as a claimed member runs in its slice: `SliceStore` renews, releases and puts it
      back.
    * A lane exists while it holds members; the index beside it lists such lanes. A lane is written first and its entry
      second, each time under a new token, so that no entry of a lane with members is struck out.
    * A lane holds the first due, as many as the budget allows. SQL alone holds the rest; a mark says from which moment
      on.
    """

    def __init__(
        self,
        redis: RedisConnection,
        keys: Keys,
        clock: LeaseClock,
        leases: Leases,
        lane_budget: LaneBudget,
    ) -> None:
        self._connection = redis
        self._budget = lane_budget
        self._keys = keys
        self._clock = clock
        self._leases = leases

    def add(
        self, by_lane: Mapping[SharedLane, Sequence[DueMember]], is_repair: bool, feeds: bool = False
    ) -> None:
        """Put members into their lanes as far as there is room; they are verified in SQL when they are pulled.

        If SQL holds a rest of a lane, members of that rest are added only by its feeder (`feeds`).
        """
        now = int(self._clock.now_ms())
        lanes, calls = [], []
        for lane, members in by_lane.items():
            keys = self._keys.of_slice(lane, "due", "running", "suspect", "rest")
            head: list[Argument] = [now, self._leases.running_ms, int(is_repair), expiry_of(lane, now)]
            head += (self._budget.most_of(lane), int(feeds))
            for start in range(0, len(members), MEMBERS_A_SCRIPT):
                flat: list[Argument] = []
                for due in members[start : start + MEMBERS_A_SCRIPT]:
                    flat += (str(due.member), due.due_at)
                calls.append(ScriptCall(script("lane_add"), keys, head + flat))
                lanes.append(lane)
        for start in range(0, len(calls), SCRIPTS_A_TRIP):
            waiting = self._connection.run_all(calls[start : start + SCRIPTS_A_TRIP])
            for lane, number in zip(lanes[start:], waiting, strict=False):
                self._budget.note(lane, number)

    def pull(
        self, lane: SharedLane, claim_id: str, most: int, keep_leases: bool, is_again: bool = False
    ) -> Pulled:
        """Take up to `most` due members for this claim, in due order; repeatable under the same id with `is_again`.

        Leases that ran out are taken back, unless `keep_leases`.
        """
        return self.pull_all([PullOrder(lane, claim_id, most)], keep_leases, is_again)[0]

    def pull_all(
        self, orders: Sequence[PullOrder], keep_leases: bool, is_again: bool = False
    ) -> list[Pulled]:
        """Do the same for several lanes in one trip."""
        calls = [self._pull_call(order, keep_leases, is_again) for order in orders]
        answers = self._connection.run_all(calls)
        return [self._pulled(order.lane, *answer) for order, answer in zip(orders, answers, strict=True)]

    def _pull_call(self, order: PullOrder, keep_leases: bool, is_again: bool) -> ScriptCall:
        lane, now = order.lane, int(self._clock.now_ms())
        keys = self._keys.of_slice(lane, "due", "running", "owner", "suspect", "deaths", "rest")
        lease_ends = int(self._clock.latest_ms()) + self._leases.running_ms
        ran_out_by = "" if keep_leases else int(self._clock.earliest_ms())
        arguments: list[Argument] = [now, order.claim_id, lease_ends, expiry_of(lane, now)]
        arguments += [min(order.most, MEMBERS_A_SCRIPT), ran_out_by, int(is_again), self._budget.few_of(lane)]
        return ScriptCall(script("lane_pull"), keys, arguments)

    def _pulled(
        self, lane: SharedLane, next_at: str, waiting: int, running: int, told: Sequence[str], rest: int
    ) -> Pulled:
        dues, taken = [], []
        for text, moment, deaths in zip(told[::3], told[1::3], told[2::3], strict=True):
            member = Member.parse(text)
            dues.append(DueMember(member, int(float(moment))))
            taken.append(Taken(member, True, int(deaths)))
        first = int(float(next_at)) if next_at else None
        self._budget.note(lane, waiting)
        return Pulled(first, waiting, running, tuple(dues), tuple(taken), rest > 0, rest == TO_BE_FED)

    def with_rest(self) -> list[SharedLane]:
        """Return the lanes that have a rest in SQL alone."""
        found = []
        for lane, waiting, has_rest in self._rests(list(self.index())):
            self._budget.note(lane, waiting)
            if has_rest:
                found.append(lane)
        return found

    def listed(self) -> list[ListedLane]:
        """Return the lanes that may hold firings, the fullest first."""
        rests = self._rests(list(self.index()), asks_moment=True)
        found = [
            ListedLane(lane, waiting, None if rest_from is None else int(rest_from))
            for lane, waiting, rest_from in rests
        ]
        return sorted(found, key=lambda state: (-state.waiting, state.lane.key))

    def waiting_for_targets(self) -> int:
        """Return how many firings wait in Redis for a place at their target, or for their app's share of all places."""
        lanes = [lane for lane in self.index() if not lane.is_of_limit and lane.paused is None]
        return sum(self.waiting_in(lanes).values())

    def throttled(self) -> int:
        """Return how many firings wait in Redis for limits of calls."""
        return sum(self.waiting_in([lane for lane in self.index() if lane.is_of_limit]).values())

    def paused(self) -> int:
        """Return how many firings wait in Redis since an operator paused them."""
        return sum(self.waiting_in([lane for lane in self.index() if lane.paused is not None]).values())

    def waiting_in(self, lanes: Sequence[SharedLane]) -> dict[SharedLane, int]:
        """Return how many firings wait in Redis in each of these lanes."""
        return {lane: waiting for lane, waiting, _ in self._rests(lanes)}

    def feed(self, lane: SharedLane, token: str) -> int | None:
        """Begin to feed a lane; return from when on only SQL has its firings (ms UTC); None: Redis has all.

        Who fed it before is put off: its end no longer counts.
        """
        expiry = expiry_of(lane, self._clock.now_ms())
        since = self._connection.run("lane_feed", self._keys.of_slice(lane, "rest"), [token, expiry])
        return int(since) if since else None

    def fed(self, lane: SharedLane, token: str, until_ms: int | None) -> None:
        """End feeding: firings due before `until_ms`, ms UTC, were added; None: all that wait were."""
        until: Argument = "" if until_ms is None else until_ms
        self._connection.run("lane_fed", self._keys.of_slice(lane, "rest"), [token, until])

    def enter(self, lanes: Sequence[SharedLane]) -> None:
        """Enter lanes into the index, after something was added to them."""
        tokens = {lane.key: uuid4().hex for lane in lanes}

        def write(client: Any) -> None:
            client.hset(self._keys.lanes, mapping=tokens)

        if tokens:
            self._connection.command(write)

    def index(self) -> dict[SharedLane, str]:
        """Return the lanes that may hold firings, each with the token of its last entry."""
        found: dict[str, str] = self._connection.command(self._read_index)
        index = {SharedLane(key): token for key, token in found.items()}
        self._budget.keep(index)
        return index

    def forget(self, lanes: Mapping[SharedLane, str]) -> None:
        """Strike out lanes that were found empty after their tokens were read, in one trip."""
        text, keys = script("lane_forget"), [self._keys.lanes]
        self._connection.run_all([ScriptCall(text, keys, [lane.key, token]) for lane, token in lanes.items()])

    def _read_index(self, client: Any) -> Any:
        return client.hgetall(self._keys.lanes)

    def _rests(
        self, lanes: Sequence[SharedLane], asks_moment: bool = False
    ) -> Iterator[tuple[SharedLane, int, int | None]]:
        """Yield each lane with how many wait in it, and whether it has a rest, or from which moment on."""
        for start in range(0, len(lanes), LANES_A_TRIP):
            named = lanes[start : start + LANES_A_TRIP]
            told = self._connection.command(partial(self._read_rests, lanes=named, asks_moment=asks_moment))
            yield from zip(named, told[::2], told[1::2], strict=True)

    def _read_rests(self, client: Any, lanes: Sequence[SharedLane], asks_moment: bool = False) -> list[int]:
        pipeline = client.pipeline(transaction=False)
        for lane in lanes:
            due, rest = self._keys.of_slice(lane, "due", "rest")
            pipeline.zcard(due)
            if asks_moment:
                pipeline.hget(rest, "until")
            else:
                pipeline.exists(rest)
        told: list[int] = pipeline.execute()
        return told
