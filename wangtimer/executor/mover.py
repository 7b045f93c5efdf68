"""The mover: takes firings without room here to their lane, where they wait outside every process."""

from collections import defaultdict, deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import structlog

from wangtimer.base.loop import Loop
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import DueMember, Member
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.executor.claim import Claim, Held, by_claim, let_go
from wangtimer.executor.sql_rest import SqlRest
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.slices import SliceStore
from wangtimer.store.sql.firings import FiringStore

log = structlog.get_logger()

# Moves that come within this share one statement and one trip to Redis, whatever their lanes.
GATHER_S = 0.005
MOST_AT_ONCE = 1_000
# While SQL is away nothing moves. A member then waits half as long as it is late by now, within these bounds.
SHORTEST_WAIT_MS, LONGEST_WAIT_MS = 3_000, 30_000
# While SQL hangs, waiting moves are put back this often; and so often it is seen whether any wait.
RELIEVE_EVERY_S, LOOK_EVERY_S = 0.25, 1.0
# As it is noted of what stands in its slice.
NO_LANE = SharedLane("")


class Move(NamedTuple):
    """A member that is held, the lane it is to wait in, and its moment, ms UTC."""

    held: Held
    lane: SharedLane
    due_at: int


class Mover:
    """SQL notes the lane, the lane gets the member, the claim releases it: after each step it stands somewhere.

    The lease is checked before each of the first two steps; a member that may no longer be ours is let go of at once.
    """

    def __init__(
        self, firings: FiringStore, hot: HotStore, slices: SliceStore, clock: Clock, lease_s: float
    ) -> None:
        self._firings = firings
        self._hot = hot
        self._slices = slices
        self._clock = clock
        self._lease_s = lease_s
        self._moves: deque[Move] = deque()
        self._sql_rest = SqlRest()
        self.loop = Loop("mover", self._gather_and_move)
        self.relief_loop = Loop("mover relief", self.relieve)

    def take(self, move: Move) -> None:
        """Queue a move; quick, from any thread."""
        self._moves.append(move)
        self.loop.wake()

    @property
    def has_moves(self) -> bool:
        """Whether there is something to move."""
        return bool(self._moves)

    def move_all(self) -> None:
        """Make the moves queued by now."""
        for _ in range(0, len(self._moves), MOST_AT_ONCE):
            self._move_guarded(self._next_part())

    def _gather_and_move(self) -> None:
        self._clock.sleep(GATHER_S)
        self.move_all()

    def relieve(self) -> float:
        """Put back the queued members while SQL hangs and keeps the mover's own thread waiting.

        Return in how many seconds to look again.
        """
        if not self._moves:
            return LOOK_EVERY_S
        if self._sql_rest.lasts(self._clock):
            self.move_all()
        return RELIEVE_EVERY_S

    def _next_part(self) -> list[Move]:
        """Return the next moves, at most `MOST_AT_ONCE`: another thread may take some too."""
        part: list[Move] = []
        with suppress(IndexError):
            while len(part) < MOST_AT_ONCE:
                part.append(self._moves.popleft())
        return part

    def _move_guarded(self, moves: Sequence[Move]) -> None:
        """Make these moves. After an unforeseen error, go lane by lane, so that one bad lane holds up no other."""
        try:
            self._move(moves)
        except Exception:
            log.exception("move_failed", members=len(moves))
            by_lane = _by_lane(moves)
            if len(by_lane) <= 1:
                self._put_back(self._still_mine(moves), SHORTEST_WAIT_MS)
                return
            for lane_moves in by_lane.values():
                self._move_guarded(lane_moves)

    def _move(self, moves: Sequence[Move]) -> None:
        held_moves = self._still_mine(moves)
        self._put_back([move for move in held_moves if move.held.claim.stands_in == move.lane], 0)
        others = [move for move in held_moves if move.held.claim.stands_in != move.lane]
        if not others:
            return
        noted, left = self._noted(others)
        still_mine = self._still_mine(noted)
        self._join(still_mine)
        if len(still_mine) < len(noted):
            kept = {move.held.member for move in still_mine}
            self._take_back([move for move in noted if move.held.member not in kept])
        if left:
            self._put_back(left, SHORTEST_WAIT_MS)

    def _noted(self, moves: Sequence[Move]) -> tuple[Sequence[Move], Sequence[Move]]:
        """Note in SQL where these wait; return those that are noted, and the others.

        None is where SQL fails, or is better not asked now. Somebody else may hold the rows of some.
        """
        if self._sql_rest.lasts(self._clock):
            return [], moves
        noted = {
            lane: [move.held.member for move in lane_moves] for lane, lane_moves in _by_lane(moves).items()
        }
        try:
            with self._sql_rest.asking(self._clock):
                locked = self._firings.note_lanes(noted)
        except StoreAway as error:
            log.info("not_moved_without_sql", lanes=len(noted), members=len(moves), error=str(error))
            return [], moves
        free = [move for move in moves if move.held.member not in locked]
        return free, [move for move in moves if move.held.member in locked]

    def _take_back(self, moves: Sequence[Move]) -> None:
        """Note again where these stood, after this process was frozen before it noted their lanes.

        Somebody else has them by now, and may be calling them: from another place they would be called once more. Where
        he moved one meanwhile, whoever takes it from there puts it back.
        """
        log.warning("moves_taken_back", members=len(moves))
        stood_in: defaultdict[SharedLane, list[Member]] = defaultdict(list)
        for (claim, member), _, _ in moves:
            stood_in[claim.stands_in if isinstance(claim.stands_in, SharedLane) else NO_LANE].append(member)
        with suppress(StoreAway):
            self._firings.note_lanes(stood_in)

    def _join(self, moves: Sequence[Move]) -> None:
        if not moves:
            return
        helds = [move.held for move in moves]
        added = {
            lane: [DueMember(move.held.member, move.due_at) for move in lane_moves]
            for lane, lane_moves in _by_lane(moves).items()
        }
        try:
            self._hot.add_to_lanes(added)
            let_go(helds)
            self._slices.release(by_claim(helds))
        except StoreAway as error:
            # The lease runs out. Whoever claims the member then reads in SQL where it belongs.
            log.info("move_left_to_lease", lanes=len(added), members=len(helds), error=str(error))
            let_go(helds)

    def _put_back(self, moves: Sequence[Move], least_wait_ms: int) -> None:
        """Give members back to where they stand; they are judged again after at least so long.

        They are let go of even if that fails: those not put back come back when their leases run out.
        """
        by_its_claim: defaultdict[Claim, list[DueMember]] = defaultdict(list)
        try:
            for (claim, member), _, due_at in moves:
                by_its_claim[claim].append(DueMember(member, self._again_at(due_at, least_wait_ms)))
            for claim, dues in by_its_claim.items():
                self._slices.put_back(claim.stands_in, claim.id, dues)
        except Exception as error:
            log.warning("put_back_left_to_lease", members=len(moves), error=repr(error))
        finally:
            let_go(move.held for move in moves)

    def _again_at(self, due_at: int, least_wait_ms: int) -> int:
        if not least_wait_ms:
            return due_at
        now = self._clock.now_ms()
        return int(now + min(max((now - due_at) / 2, least_wait_ms), LONGEST_WAIT_MS))

    def _still_mine(self, moves: Sequence[Move]) -> list[Move]:
        now = self._clock.monotonic()
        held_moves: list[Move] = []
        others: list[Move] = []
        for move in moves:
            is_mine = move.held.claim.is_safe(move.held.member, now, self._lease_s)
            (held_moves if is_mine else others).append(move)
        let_go(move.held for move in others)
        return held_moves


def _by_lane(moves: Sequence[Move]) -> dict[SharedLane, list[Move]]:
    by_lane: defaultdict[SharedLane, list[Move]] = defaultdict(list)
    for move in moves:
        by_lane[move.lane].append(move)
    return by_lane
