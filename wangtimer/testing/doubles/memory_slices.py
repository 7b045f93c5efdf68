"""Slices in memory: the rules of the Lua scripts add, arm_now, turn, claim, renew, release and put_back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from wangtimer.core.flow.backlog import BACKLOG_SHARE, CROWD_SHARE, LATE_MS
from wangtimer.core.flow.firing import DueMember, Member
from wangtimer.core.flow.slicing import Slice, SliceOrLane
from wangtimer.core.flow.tally import ID_MODULUS, Tally
from wangtimer.store.redis.keys import expiry_of
from wangtimer.store.redis.slices import BacklogRoom, Leases, Taken, Turn
from wangtimer.testing.doubles.hand_clock import HandClock
from wangtimer.testing.doubles.memory_server import MemoryServer, at_once

TAKEN_BACK_A_TURN = 2_000
ARMED_A_TURN = 5_000


@dataclass
class Sets:
    """One slice: `due` holds moments, `armed` and `running` ends of leases, ms."""

    due: dict[Member, int] = field(default_factory=dict)
    armed: dict[Member, int] = field(default_factory=dict)
    running: dict[Member, int] = field(default_factory=dict)
    owner: dict[Member, str] = field(default_factory=dict)
    suspect: set[Member] = field(default_factory=set)
    deaths: dict[Member, int] = field(default_factory=dict)
    apart: dict[Member, int] = field(default_factory=dict)
    token: str = ""
    locked_until: float = 0.0
    expires_at_s: int = 0

    def holder(self, now: float) -> str | None:
        """Return the token of the trigger that owns the slice now."""
        return self.token if self.token and now < self.locked_until else None

    def holds(self, member: Member) -> bool:
        """Tell whether the member is in any of the sets."""
        return member in self.due or member in self.armed or member in self.running


class MemorySlices:
    """The hot firings, in the table `slices` of a server."""

    def __init__(self, server: MemoryServer, clock: HandClock, leases: Leases) -> None:
        self._server = server
        self._clock = clock
        self._leases = leases

    @property
    def seconds_since_reconnect(self) -> float:
        return self._server.seconds_since_reconnect

    @at_once
    def add(self, by_slice: dict[Slice, Sequence[DueMember]], is_repair: bool) -> dict[Slice, int]:
        needs = {}
        for slice_, members in by_slice.items():
            sets = self._written(slice_)
            for due in members:
                self._add(sets, due, is_repair)
            need = self._need(sets)
            if members and need is not None:
                needs[slice_] = need
        return needs

    @at_once
    def arm_now(self, slice_: Slice, members: Sequence[DueMember]) -> list[DueMember]:
        sets, now = self._written(slice_), self._by_latest()
        new = [due for due in members if due.member not in sets.armed and due.member not in sets.running]
        for due in new:
            sets.due.pop(due.member, None)
        sets.armed |= {due.member: now + self._leases.armed_ms for due in new}
        sets.suspect |= {due.member for due in new if due.due_at <= self._latest()}
        return new

    @at_once
    def lock(self, tokens: dict[Slice, str]) -> dict[Slice, str]:
        now = self._server.now_ms()
        free = {slice_: token for slice_, token in tokens.items() if not self._read(slice_).holder(now)}
        for slice_, token in free.items():
            self._lock(self._read(slice_), token)
        return free

    @at_once
    def turn(
        self,
        slice_: Slice,
        token: str,
        credit: int,
        keep_leases: bool,
        backlog: BacklogRoom,
        tell_all_armed: bool = False,
    ) -> Turn | None:
        sets, holder = self._read(slice_), self._read(slice_).holder(self._server.now_ms())
        if holder not in (None, token):
            return None
        self._lock(sets, token)
        if not keep_leases:
            self._take_back(slice_, sets.armed)
            self._take_back(slice_, sets.running)
        stood_armed = list(sets.armed) if tell_all_armed else []
        now_armed = self._arm(slice_, credit, backlog)
        for member in stood_armed:
            moment = member.fire_at if member.attempt == 1 else self._now()
            now_armed = (*now_armed, DueMember(member, moment))
            sets.suspect.add(member)
        first = min(sets.due.values(), default=None)
        counts = len(sets.due), len(sets.armed), len(sets.running)
        return Turn(holder is None, first, *counts, now_armed)

    def next_need(self, slice_: Slice) -> int | None:
        return self._server.call(lambda: self._need(self._read(slice_)))

    @at_once
    def needs_of_same(self, tallies: Mapping[Slice, Tally]) -> dict[Slice, int]:
        needs = {}
        for slice_, tally in tallies.items():
            sets = self._read(slice_)
            nearest = sorted(sets.due, key=lambda member: (sets.due[member], str(member)))[: tally.number]
            found = tally_of([(member.timer_id, sets.due[member]) for member in nearest])
            need = self._need(sets)
            if found == tally and need is not None:
                needs[slice_] = need
        return needs

    @at_once
    def unlock(self, slice_: Slice, token: str) -> None:
        if self._read(slice_).holder(self._server.now_ms()) == token:
            self._read(slice_).token = ""

    @at_once
    def claim(self, slice_: Slice, claim_id: str, members: Sequence[Member]) -> list[Taken]:
        sets = self._written(slice_)
        for member in members:
            if sets.armed.pop(member, None) is not None:
                sets.running[member] = self._by_latest() + self._leases.running_ms
                sets.owner[member] = claim_id
        mine = _of(claim_id, sets, members)
        return [Taken(member, member in sets.suspect, sets.deaths.get(member, 0)) for member in mine]

    @at_once
    def renew(
        self, held: dict[tuple[SliceOrLane, str], Sequence[Member]]
    ) -> dict[tuple[SliceOrLane, str], set[Member]]:
        mine = {}
        for (slice_, claim_id), members in held.items():
            sets = self._read(slice_)
            mine[slice_, claim_id] = set(_of(claim_id, sets, members))
            for member in mine[slice_, claim_id] & sets.running.keys():
                lease_end = self._by_latest() + self._leases.running_ms
                sets.running[member] = max(sets.running[member], lease_end)
        return mine

    @at_once
    def release(self, held: dict[tuple[SliceOrLane, str], Sequence[Member]]) -> None:
        for (slice_, claim_id), members in held.items():
            sets = self._read(slice_)
            for member in _of(claim_id, sets, members):
                _let_go(sets, member)
                sets.suspect.discard(member)
                sets.deaths.pop(member, None)
                sets.apart.pop(member, None)

    @at_once
    def try_apart(
        self, held: dict[tuple[SliceOrLane, str], Sequence[Member]], deaths: int
    ) -> dict[tuple[SliceOrLane, str], set[Member]]:
        mine = {}
        for (slice_, claim_id), members in held.items():
            sets = self._written(slice_)
            mine[slice_, claim_id] = {member for member in members if sets.owner.get(member) == claim_id}
            sets.apart |= dict.fromkeys(mine[slice_, claim_id], deaths)
        return mine

    @at_once
    def put_back(self, slice_: SliceOrLane, claim_id: str, members: Sequence[DueMember]) -> None:
        sets = self._written(slice_)
        moments = {due.member: due.due_at for due in members}
        for member in _of(claim_id, sets, list(moments)):
            _let_go(sets, member)
            sets.due[member] = moments[member]
            sets.suspect.add(member)
            sets.apart.pop(member, None)

    def _add(self, sets: Sets, due: DueMember, is_repair: bool) -> None:
        if sets.holds(due.member):
            return
        is_near = due.due_at <= self._latest() + self._leases.lead_ms
        if is_near:
            sets.suspect.add(due.member)
        wait_ms = self._leases.running_ms if is_near and is_repair else 0
        sets.due[due.member] = due.due_at + wait_ms

    def _need(self, sets: Sets) -> int | None:
        needs = [moment - self._leases.lead_ms for moment in sets.due.values()]
        return min([*needs, *sets.armed.values(), *sets.running.values()], default=None)

    def _take_back(self, slice_: SliceOrLane, held: dict[Member, int]) -> None:
        sets, now = self._written(slice_), self._now()
        for member in _first_until(held, int(self._clock.earliest_ms()), TAKEN_BACK_A_TURN):
            del held[member]
            sets.owner.pop(member, None)
            sets.due[member] = member.fire_at if member.attempt == 1 else now
            sets.suspect.add(member)
            if held is sets.running and member in sets.apart:
                sets.deaths[member] = sets.apart.pop(member)
            elif held is sets.running and sets.deaths.get(member, 0) < 2:
                sets.deaths[member] = sets.deaths.get(member, 0) + 1

    def _arm(self, slice_: Slice, credit: int, backlog_room: BacklogRoom) -> tuple[DueMember, ...]:
        sets, now = self._read(slice_), self._now()
        room = max(0, min(credit - len(sets.armed), ARMED_A_TURN))
        late = now - LATE_MS
        backlog = {member: moment for member, moment in sets.due.items() if moment < late}
        coming = {member: moment for member, moment in sets.due.items() if moment >= late}
        free = credit - len(sets.armed) - len(sets.running)
        for_backlog = free - free % backlog_room.full if free < len(backlog) else free
        for_backlog = min(room, max(for_backlog, backlog_room.anyway))
        share = min(len(backlog), ceil(room / BACKLOG_SHARE), for_backlog)
        ready = _with_those_after_a_crowd(
            _first_until(coming, now + self._leases.lead_ms, len(coming)),
            coming,
            room - share,
            credit - len(sets.armed) - credit // CROWD_SHARE,
        )
        ready += _first_until(backlog, now, min(room - len(ready), for_backlog))
        armed = tuple(DueMember(member, sets.due.pop(member)) for member in ready)
        sets.armed |= {due.member: self._by_latest() + self._leases.armed_ms for due in armed}
        if armed:
            self._written(slice_)
        return armed

    def _lock(self, sets: Sets, token: str) -> None:
        sets.token, sets.locked_until = token, self._server.now_ms() + self._leases.lock_ms

    def _read(self, slice_: SliceOrLane) -> Sets:
        """Return the slice; it is empty where its keys have expired."""
        slices: dict[SliceOrLane, Sets] = self._server.table("slices")
        sets = slices.get(slice_)
        if sets is None or (sets.expires_at_s and self._server.now_ms() >= sets.expires_at_s * 1_000):
            sets = slices[slice_] = Sets()
        return sets

    def _written(self, slice_: SliceOrLane) -> Sets:
        """Return the slice for a change; the change extends its expiry."""
        sets = self._read(slice_)
        sets.expires_at_s = expiry_of(slice_, self._now())
        return sets

    def _latest(self) -> float:
        """Return the later of the client's time, its `latest_ms`, and the server's: the client may be delayed."""
        return max(self._by_latest(), self._server.now_ms())

    def _now(self) -> int:
        return int(self._clock.now_ms())

    def _by_latest(self) -> int:
        return int(self._clock.latest_ms())


def _first_until(scores: dict[Member, int], moment: int, limit: int) -> list[Member]:
    """Return the members up to a score in Redis' order: by score, then by their text."""
    ready = [member for member, score in scores.items() if score <= moment]
    return sorted(ready, key=lambda member: (scores[member], str(member)))[:limit]


def _with_those_after_a_crowd(
    ready: list[Member], scores: dict[Member, int], most: int, most_of_crowd: int
) -> list[Member]:
    """Return at most so many ready members. If some are left out, members due after the crowd get a part."""
    if len(ready) <= most:
        return ready
    crowd = ready[: max(0, min(most, most_of_crowd))]
    crowd_at = scores[crowd[-1] if crowd else ready[0]]
    after = [member for member in ready if scores[member] > crowd_at]
    return crowd + after[: max(0, most - len(crowd))]


def _of(claim_id: str, sets: Sets, members: Sequence[Member]) -> list[Member]:
    return [member for member in members if sets.owner.get(member) == claim_id]


def _let_go(sets: Sets, member: Member) -> None:
    sets.running.pop(member, None)
    del sets.owner[member]


def tally_of(firings: Sequence[tuple[int, int]]) -> Tally:
    """Return the tally of firings, given by their timers' ids and due moments."""
    ids, due = sum(timer_id % ID_MODULUS for timer_id, _ in firings), sum(due_at for _, due_at in firings)
    return Tally(len(firings), ids, due)
