"""Slices: the sets a member moves through, `due` to `armed` to `running`, each move one script."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from wangtimer.core.flow.backlog import BACKLOG_SHARE, CROWD_SHARE, LATE_MS
from wangtimer.core.flow.firing import DueMember, Member
from wangtimer.core.flow.slicing import Slice, SliceOrLane
from wangtimer.core.flow.tally import ID_MODULUS, Tally
from wangtimer.core.time.clock import LeaseClock
from wangtimer.store.redis.connection import Argument, RedisConnection, ScriptCall, script
from wangtimer.store.redis.keys import Keys, expiry_of

# Members one script takes at most: longer ones would hold up everybody else's commands.
MEMBERS_A_SCRIPT = 2_000
# The smaller scripts take so many, because of Lua's `unpack` and the length of a chunk.
MEMBERS_A_CLAIM = 1_000
# After Redis was away living claims renew first; only then are leases taken back.
GRACE_S = 3.0
_PLACES = ("due", "armed", "running")


@dataclass(frozen=True, slots=True)
class Leases:
    """How long things are held, ms: the lock of a slice, an armed member, a running one; and the lead."""

    lead_ms: int
    lock_ms: int
    armed_ms: int
    running_ms: int


class BacklogRoom(NamedTuple):
    """How many of a backlog a turn arms: a multiple of `full`, or all; at least `anyway`, whatever runs."""

    full: int = 1
    anyway: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """What a trigger's turn found and did; moments in ms UTC."""

    took_lock: bool
    next_due_at: int | None
    due: int
    armed: int
    running: int
    now_armed: tuple[DueMember, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all stands in the slice."""
        return not (self.due or self.armed or self.running or self.now_armed)


class Taken(NamedTuple):
    """A member a claim took; a suspect one must be verified in SQL before it is sent.

    `deaths` is how many executors died on it: how often its lease ran out while it ran with others, up to 2; after a
    trial alone, the number that `try_apart` gave.
    """

    member: Member
    is_suspect: bool
    deaths: int = 0


Item = TypeVar("Item")


class SliceStore:
    """The hot firings. Each move is one script on one slice; every method may be repeated.

    Leases are written by the latest clock reading believed recently and taken back by the earliest, so that a step of
    Redis' clock ends no lease of a living process.
    """

    def __init__(self, redis: RedisConnection, keys: Keys, clock: LeaseClock, leases: Leases) -> None:
        self._connection = redis
        self._keys = keys
        self._clock = clock
        self._leases = leases

    @property
    def seconds_since_reconnect(self) -> float:
        """Seconds since this process last (re)connected to a Redis that had been away, or first connected."""
        return self._connection.reconnects.seconds_since

    def add(self, by_slice: Mapping[Slice, Sequence[DueMember]], is_repair: bool) -> dict[Slice, int]:
        """Put members into the `due` of their slices; one that its slice already holds stays as it is.

        Members due by now may have been sent already, and are verified in SQL; now is the latest clock reading believed
        recently. Returns when each slice next needs a trigger (ms UTC).
        """
        now, leases = self._latest(), self._leases
        calls, slices = [], []
        for slice_, members in by_slice.items():
            keys = self._keys.of_slice(slice_, "due", "armed", "running", "suspect")
            head = [now, leases.lead_ms, leases.running_ms, int(is_repair), expiry_of(slice_, now)]
            for page in _pages(members, MEMBERS_A_SCRIPT):
                calls.append(ScriptCall(script("add"), keys, [*head, *_flat(page)]))
                slices.append(slice_)
        answers = [need for page in _pages(calls, 50) for need in self._connection.run_all(page)]
        return _soonest(zip(slices, answers, strict=True))

    def arm_now(self, slice_: Slice, members: Sequence[DueMember]) -> list[DueMember]:
        """Put members that are due at once into `armed`; return those that were neither armed nor running before."""
        now = self._latest()
        keys = self._keys.of_slice(slice_, "due", "armed", "running", "suspect")
        head = [now, self._leases.armed_ms, expiry_of(slice_, now)]
        answers = self._connection.run("arm_now", keys, [*head, *_flat(members)])
        return [member for member, armed in zip(members, answers, strict=True) if armed]

    def lock(self, tokens: dict[Slice, str]) -> dict[Slice, str]:
        """Lock free slices with these tokens; return those that were free, with their tokens."""

        def set_locks(pipe: Any) -> None:
            for slice_, token in tokens.items():
                pipe.set(self._lock_key(slice_), token, px=self._leases.lock_ms, nx=True)

        answers = self._connection.run_all([], set_locks)
        return {slice_: token for (slice_, token), got in zip(tokens.items(), answers, strict=True) if got}

    def turn(
        self,
        slice_: Slice,
        token: str,
        credit: int,
        keep_leases: bool,
        backlog: BacklogRoom,
        tell_all_armed: bool = False,
    ) -> Turn | None:
        """Renew the lock, take back ended leases (unless `keep_leases`), arm what comes due within the lead.

        * At most `credit` members stand armed and unclaimed. For a backlog, running members count too, except as
          `backlog` says.
        * Members yet to come go before a backlog. A crowd leaves places to members due after it.

        Returns None when another trigger owns the slice.

        `tell_all_armed` is for the turn after one whose answer was lost: nobody knows what that one armed. `now_armed`
        then has all armed members, which are verified in SQL before they are sent.
        """
        now, leases = self._now(), self._leases
        keys = self._keys.of_slice(slice_, "due", "armed", "running", "owner", "suspect", "deaths", "lock")
        armed_until = self._latest() + leases.armed_ms
        ran_out_by = "" if keep_leases else int(self._clock.earliest_ms())
        arguments: list[Argument] = [now, token, leases.lock_ms, leases.lead_ms, credit, armed_until]
        arguments += [ran_out_by, expiry_of(slice_, now), LATE_MS, BACKLOG_SHARE, CROWD_SHARE]
        arguments += [backlog.full, backlog.anyway, int(tell_all_armed)]
        answer = self._connection.run("turn", keys, arguments)
        if answer is None:
            return None
        took, next_due_at, due, armed, running, taken = answer
        members = zip(taken[::2], taken[1::2], strict=True)
        now_armed = tuple(DueMember(Member.parse(text), int(float(moment))) for text, moment in members)
        return Turn(bool(took), _moment(next_due_at), due, armed, running, now_armed)

    def next_need(self, slice_: Slice) -> int | None:
        """Return when the slice next needs a trigger (ms UTC), None when it is empty."""
        return self._need_of(self._connection.run("look", self._keys.of_slice(slice_, *_PLACES), []))

    def needs_of_same(self, tallies: Mapping[Slice, Tally]) -> dict[Slice, int]:
        """Return the slices whose `due` matches its tally, and when each next needs a trigger (ms UTC)."""
        same = [slice_ for slice_, found in self._tallies(tallies).items() if found == tallies[slice_]]
        looks = [ScriptCall(script("look"), self._keys.of_slice(slice_, *_PLACES), []) for slice_ in same]
        needs = map(self._need_of, self._connection.run_all(looks) if looks else [])
        return {slice_: need for slice_, need in zip(same, needs, strict=True) if need is not None}

    def unlock(self, slice_: Slice, token: str) -> None:
        """Give the lock back, if it is still this token's."""
        self._connection.run("unlock", [self._lock_key(slice_)], [token])

    def claim(self, slice_: SliceOrLane, claim_id: str, members: Sequence[Member]) -> list[Taken]:
        """Move armed members to `running` for this claim; return what it has now. Repeatable under the same id."""
        if not members:
            return []
        now = self._latest()
        keys = self._keys.of_slice(slice_, "armed", "running", "owner", "suspect", "deaths")
        head: list[Argument] = [now, claim_id, self._leases.running_ms, expiry_of(slice_, now)]
        answers = self._connection.run("claim", keys, head + [str(member) for member in members])
        return [
            Taken(member, answer % 2 == 0, (answer - 1) // 2)
            for member, answer in zip(members, answers, strict=True)
            if answer
        ]

    def renew(
        self, held: Mapping[tuple[SliceOrLane, str], Sequence[Member]]
    ) -> dict[tuple[SliceOrLane, str], set[Member]]:
        """Renew running leases, by slice and claim id; return which members are still each claim's."""
        now = self._latest()
        calls = []
        for (slice_, claim_id), members in held.items():
            keys = self._keys.of_slice(slice_, "running", "owner")
            head: list[Argument] = [now, self._leases.running_ms, claim_id]
            calls.append(ScriptCall(script("renew"), keys, head + [str(member) for member in members]))
        return self._mine(held, calls)

    def release(self, held: Mapping[tuple[SliceOrLane, str], Sequence[Member]]) -> None:
        """Let go of running members, by slice and claim id; touches only what is still each claim's."""
        calls = []
        for (slice_, claim_id), members in held.items():
            keys = self._keys.of_slice(slice_, "running", "owner", "suspect", "deaths")
            for page in _pages([str(member) for member in members], MEMBERS_A_CLAIM):
                calls.append(ScriptCall(script("release"), keys, [claim_id, *page]))
        if calls:
            self._connection.run_all(calls)

    def try_apart(
        self, held: Mapping[tuple[SliceOrLane, str], Sequence[Member]], deaths: int
    ) -> dict[tuple[SliceOrLane, str], set[Member]]:
        """Note that members are now tried apart: if their lease runs out, so many executors have died on them.

        Returns which are still each claim's. A member that is put back or released counts no death.
        """
        now = self._now()
        calls = []
        for (slice_, claim_id), members in held.items():
            keys = self._keys.of_slice(slice_, "owner", "deaths")
            head: list[Argument] = [claim_id, expiry_of(slice_, now), deaths]
            calls.append(ScriptCall(script("try_apart"), keys, head + [str(member) for member in members]))
        return self._mine(held, calls)

    def put_back(self, slice_: SliceOrLane, claim_id: str, members: Sequence[DueMember]) -> None:
        """Put running members back to wait until their moment; touches only what is still this claim's."""
        keys = self._keys.of_slice(slice_, "due", "running", "owner", "suspect", "deaths")
        self._connection.run("put_back", keys, [claim_id, expiry_of(slice_, self._now()), *_flat(members)])

    def _tallies(self, expected: Mapping[Slice, Tally]) -> dict[Slice, Tally]:
        """Tally as many members of each slice's `due` as are expected, nearest first.

        Each script is a trip of its own. Redis runs a trip's scripts one after the other, so claims would wait for all.
        """
        found = dict.fromkeys(expected, Tally())
        for slice_, tally in expected.items():
            keys = self._keys.of_slice(slice_, "due")
            for first in range(0, tally.number, MEMBERS_A_SCRIPT):
                last = min(first + MEMBERS_A_SCRIPT, tally.number) - 1
                answer = self._connection.run("tally", keys, [first, last, ID_MODULUS])
                found[slice_] = found[slice_].plus(Tally(*map(int, answer)))
        return found

    def _need_of(self, looked: Sequence[str]) -> int | None:
        due, armed, running = (_moment(text) for text in looked)
        needs = [due - self._leases.lead_ms if due is not None else None, armed, running]
        return min((need for need in needs if need is not None), default=None)

    def _mine(
        self, held: Mapping[tuple[SliceOrLane, str], Sequence[Member]], calls: Sequence[ScriptCall]
    ) -> dict[tuple[SliceOrLane, str], set[Member]]:
        """Run a script for each claim; return the members that are still the claim's."""
        return {
            claim: {member for member, is_mine in zip(members, flags, strict=True) if is_mine}
            for (claim, members), flags in zip(held.items(), self._connection.run_all(calls), strict=True)
        }

    def _lock_key(self, slice_: Slice) -> str:
        return self._keys.of_slice(slice_, "lock")[0]

    def _now(self) -> int:
        return int(self._clock.now_ms())

    def _latest(self) -> int:
        return int(self._clock.latest_ms())


def _flat(members: Iterable[DueMember]) -> list[Argument]:
    flat: list[Argument] = []
    for due in members:
        flat += (str(due.member), due.due_at)
    return flat


def _soonest(needs: Iterable[tuple[Slice, int]]) -> dict[Slice, int]:
    soonest: dict[Slice, int] = {}
    for slice_, need in needs:
        soonest[slice_] = min(need, soonest.get(slice_, need))
    return soonest


def _pages(items: Sequence[Item], size: int) -> Iterable[Sequence[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _moment(text: str) -> int | None:
    return int(float(text)) if text else None
