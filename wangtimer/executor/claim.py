"""What this process holds: claims on chunks, and how long their leases surely last."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event, Lock
from typing import NamedTuple
from uuid import uuid4

from wangtimer.callback.permits import Permit
from wangtimer.core.flow.backlog import CROWD_SHARE
from wangtimer.core.flow.firing import Chunk, DueMember, Member
from wangtimer.core.flow.slicing import SharedLane, SliceOrLane
from wangtimer.executor.capacity import Capacity
from wangtimer.executor.room import Room
from wangtimer.store.redis.slices import Taken

# A member is not sent with less than this left of its lease, by this process's own stop-watch.
SAFETY_S = 1.0
# A chunk is small if it has at most a fiftieth of the firings that a process may hold.
FEW_SHARE = 50
# The kinds of chunks that wait for room: a small one that is on time, a large one, and one that is late.
_KINDS = 3
_FEW, _CROWD, _LATE = range(_KINDS)
# Renewing ends this long after the last possible answer, so that a hung engine cannot hold a member for ever.
MARGIN_S = 60.0


class Claim:
    """One chunk's members, or what was pulled from a lane, in this process's hands.

    `renewed_at` is when the last renewal that succeeded was *sent*, `until` when renewing ends for good, both in
    seconds of the stop-watch. `until` moves on with each part that is sent, and with a call that may take long.
    `permits` are those that the members were pulled with, as long as no call has taken them. `begun` are members of
    timers whose firings are not to overlap: once they are done, the next may go.
    """

    def __init__(
        self,
        stands_in: SliceOrLane,
        claim_id: str,
        members: Iterable[Member],
        renewed_at: float,
        until: float,
        on_let_go: Callable[[int], None] = lambda _number: None,
        permits: Iterable[Permit] = (),
    ) -> None:
        self.stands_in = stands_in
        self.id = claim_id
        self.renewed_at = renewed_at
        self.until = until
        self.is_done = Event()
        self.begun: set[Member] = set()
        self._open = dict.fromkeys(members, 0)  # the bytes that its request takes
        self._handed_on: set[Member] = set()
        self._lock = Lock()
        self._on_let_go = on_let_go
        self._room: Room | None = None
        self._permits = list(permits)

    def keep_until(self, until: float) -> None:
        """Renew up to then, or for longer where that is known already."""
        self.until = max(self.until, until)

    @property
    def has_permits(self) -> bool:
        """Whether its members were pulled with permits, of which some are left."""
        return bool(self._permits)

    def take_permit(self) -> tuple[Permit, ...]:
        """Take out a permit for a call of this claim; none if none is left."""
        with self._lock:
            return (self._permits.pop(0),) if self._permits else ()

    def take_permits(self) -> list[Permit]:
        """Take out the permits that no call has taken."""
        with self._lock:
            left, self._permits = self._permits, []
            return left

    def holds(self, member: Member) -> bool:
        """Whether the member is still this claim's, as far as this process knows."""
        return member in self._open

    def is_safe(self, member: Member, now: float, lease_s: float) -> bool:
        """Whether the member may be sent now: held, with a second of its lease surely left."""
        return member in self._open and now - self.renewed_at <= lease_s - SAFETY_S

    def open_members(self) -> list[Member]:
        """Return the members that are held."""
        with self._lock:
            return list(self._open)

    def hand_on(self, members: Iterable[Member]) -> None:
        """Note that the engine, the settler or the mover is responsible for these now."""
        with self._lock:
            self._handed_on.update(members)

    def not_handed_on(self) -> list[Member]:
        """Return the held members for which the claimer is still responsible."""
        with self._lock:
            return [member for member in self._open if member not in self._handed_on]

    def fill(self, room: Room, sizes: Mapping[Member, int]) -> None:
        """Take so many bytes of room for these members' requests, until they are let go of."""
        with self._lock:
            self._room = room
            held = {member: size for member, size in sizes.items() if member in self._open}
            self._open |= held
            room.hold(sum(held.values()))

    def empty(self, members: Iterable[Member]) -> None:
        """Free the room of these members: no request is made for them here."""
        with self._lock:
            emptied = {member: 0 for member in members if member in self._open}
            freed = sum(self._open[member] for member in emptied)
            self._open |= emptied
        if self._room is not None:
            self._room.give(freed)

    def let_go(self, members: Iterable[Member]) -> None:
        """Hold these no longer."""
        with self._lock:
            before = len(self._open)
            freed = sum([self._open.pop(member, 0) for member in members])
            left = len(self._open)
        if self._room is not None:
            self._room.give(freed)
        self._on_let_go(before - left)
        if not left:
            self.is_done.set()


class Batch(NamedTuple):
    """What was pulled from one lane, under its claim; `most` of it at most are to call the lane's own target."""

    lane: SharedLane
    claim: Claim
    chunk: Chunk
    taken: Sequence[Taken]
    most: int


class Held(NamedTuple):
    """A member under its claim."""

    claim: Claim
    member: Member


@dataclass(slots=True)
class Fired:
    """What became of members that were fired.

    `sent` were handed to the engine, `to_other_host` of them to call another target than the lane's. `waiting` found no
    room and wait again, the first of them due at `waits_since`. `put_off` could not be judged now. All others were
    skipped, dropped or moved. `last` is the last moment of all members looked at.
    """

    sent: int = 0
    to_other_host: int = 0
    waiting: int = 0
    put_off: int = 0
    waits_since: int | None = None
    last: int = 0

    def note_waiting(self, dues: Sequence[DueMember]) -> None:
        """Add these to the members that wait again."""
        self.waiting += len(dues)
        moments = [due.due_at for due in dues]
        self.waits_since = min(
            [*moments, *([] if self.waits_since is None else [self.waits_since])], default=None
        )


class Claims:
    """Every claim of this process that still holds members.

    `holder` names the process in the claims' ids, so that `owner` in Redis tells which process runs a member.

    Once `most` firings are held, late ones are no longer claimed: a backlog waits in its slices, so that memory
    suffices. Others are claimed until `2 * most` are held.
    """

    def __init__(self, holder: str, most: int) -> None:
        self._holder = holder
        self._claims: dict[str, Claim] = {}
        self._lock = Lock()
        self._most = most
        self._capacity = Capacity(_KINDS, self._has_room)

    def take_room(self, number: int, is_late: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until there is room, then hold so many firings more; False where that took too long.

        * Late firings have room while fewer than `most` are held.
        * Others have room while fewer than `2 * most` are held: they need not wait behind a backlog.
        * The last part of that is for small chunks, so that a crowd does not hold up firings due after it.
        """
        on_time = _CROWD if number * FEW_SHARE > self._most else _FEW
        return self._capacity.enter(number, lambda: _LATE if is_late() else on_time, timeout_s)

    @property
    def held(self) -> int:
        """How many firings are held, or about to be held."""
        return self._capacity.held

    def give_room(self, number: int) -> None:
        """Hold so many fewer."""
        self._capacity.give(number)

    def _has_room(self, held: int, kind: int) -> bool:
        on_time = 2 * self._most
        return held < (on_time, on_time - on_time // CROWD_SHARE, self._most)[kind]

    def new_id(self) -> str:
        """Return the id for a claim to be made."""
        return f"{self._holder}/{uuid4().hex}"

    def add(self, claim: Claim) -> None:
        """Keep a claim until it is empty."""
        with self._lock:
            self._claims[claim.id] = claim

    def current(self) -> list[Claim]:
        """Return the claims that hold members; forget the others."""
        with self._lock:
            done = [claim_id for claim_id, claim in self._claims.items() if claim.is_done.is_set()]
            for claim_id in done:
                del self._claims[claim_id]
            return list(self._claims.values())


def by_claim(held: Iterable[Held]) -> dict[tuple[SliceOrLane, str], list[Member]]:
    """Group members as the slice store takes them: by slice and claim id."""
    return {(claim.stands_in, claim.id): members for claim, members in _grouped(held).items()}


def let_go(held: Iterable[Held]) -> None:
    """Hold these no longer, each by its claim."""
    for claim, members in _grouped(held).items():
        claim.let_go(members)


def _grouped(held: Iterable[Held]) -> dict[Claim, list[Member]]:
    grouped: dict[Claim, list[Member]] = {}
    for claim, member in held:
        grouped.setdefault(claim, []).append(member)
    return grouped
