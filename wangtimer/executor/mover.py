"""The mover: takes what has no room here to its lane, where it waits outside every process."""

from collections import defaultdict, deque
from collections.abc import Sequence
from threading import Event, Thread
from typing import NamedTuple

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import DueMember
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.executor.claim import Held, by_claim, let_go
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.slices import SliceStore
from wangtimer.store.sql.firings import FiringStore

log = structlog.get_logger()

# One statement and one script for what comes together.
GATHER_S = 0.005
MOST_AT_ONCE = 1_000
# With nothing to do; whatever is taken ends it.
LONGEST_REST_S = 60.0
# While SQL is away nothing moves: it waits half as long as it is late by now, between these.
SHORTEST_WAIT_MS, LONGEST_WAIT_MS = 3_000, 30_000


class Move(NamedTuple):
    """A member that is held, the lane it is to wait in, and its moment, ms UTC."""

    held: Held
    lane: SharedLane
    due_at: int


class Mover:
    """SQL notes the lane, then the lane has the member, then it is released: at each step it stands somewhere.

    The lease is looked at before each of the first two steps; what may not be ours any more is let go of at once.
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
        self._wake = Event()

    def start(self) -> None:
        """Begin to move, until the process ends."""
        Thread(target=self._run, name="mover", daemon=True).start()

    def take(self, move: Move) -> None:
        """Move this soon; quick, from any thread."""
        self._moves.append(move)
        self._wake.set()

    @property
    def has_moves(self) -> bool:
        """Whether there is something to move."""
        return bool(self._moves)

    def move_all(self) -> None:
        """Move what was taken by now."""
        by_lane: defaultdict[SharedLane, list[Move]] = defaultdict(list)
        for _ in range(len(self._moves)):
            move = self._moves.popleft()
            by_lane[move.lane].append(move)
        for lane, moves in by_lane.items():
            for start in range(0, len(moves), MOST_AT_ONCE):
                part = moves[start : start + MOST_AT_ONCE]
                try:
                    self._move(lane, part)
                except Exception:
                    log.exception("move_failed", lane=lane.key, members=len(part))
                    self._put_back(self._still_mine(part), SHORTEST_WAIT_MS)

    def _move(self, lane: SharedLane, moves: Sequence[Move]) -> None:
        mine = self._still_mine(moves)
        self._put_back([move for move in mine if move.held.claim.stands_in == lane], 0)
        others = [move for move in mine if move.held.claim.stands_in != lane]
        if not others:
            return
        try:
            self._firings.note_lane(lane, [move.held.member for move in others])
        except StoreAway as error:
            log.info("not_moved_without_sql", lane=lane.key, members=len(others), error=str(error))
            self._put_back(others, SHORTEST_WAIT_MS)
            return
        self._join(lane, self._still_mine(others))

    def _join(self, lane: SharedLane, moves: Sequence[Move]) -> None:
        if not moves:
            return
        helds = [move.held for move in moves]
        try:
            self._hot.add_to_lanes({lane: [DueMember(move.held.member, move.due_at) for move in moves]})
            let_go(helds)
            self._slices.release(by_claim(helds))
        except StoreAway as error:
            # Its lease runs out, and who claims it then reads in SQL where it belongs.
            log.info("move_left_to_lease", lane=lane.key, members=len(helds), error=str(error))
            let_go(helds)

    def _put_back(self, moves: Sequence[Move], least_wait_ms: int) -> None:
        """Give members back to where they stand; they are looked at again after so long at least."""
        helds = [move.held for move in moves]
        moments = {
            (move.held.claim, move.held.member): self._again_at(move.due_at, least_wait_ms) for move in moves
        }
        claims = {held.claim.id: held.claim for held in helds}
        try:
            for (slice_, claim_id), members in by_claim(helds).items():
                claim = claims[claim_id]
                dues = [DueMember(member, moments[claim, member]) for member in members]
                self._slices.put_back(slice_, claim_id, dues)
        except StoreAway as error:
            log.info("put_back_left_to_lease", members=len(helds), error=str(error))
        let_go(helds)

    def _again_at(self, due_at: int, least_wait_ms: int) -> int:
        if not least_wait_ms:
            return due_at
        now = self._clock.now_ms()
        return int(now + min(max((now - due_at) / 2, least_wait_ms), LONGEST_WAIT_MS))

    def _still_mine(self, moves: Sequence[Move]) -> list[Move]:
        now = self._clock.monotonic()
        mine: list[Move] = []
        others: list[Move] = []
        for move in moves:
            is_mine = move.held.claim.is_safe(move.held.member, now, self._lease_s)
            (mine if is_mine else others).append(move)
        let_go(move.held for move in others)
        return mine

    def _run(self) -> None:
        while True:
            self._wake.wait(LONGEST_REST_S)
            self._clock.sleep(GATHER_S)
            self._wake.clear()
            try:
                self.move_all()
            except Exception:
                log.exception("mover_stumbled")
