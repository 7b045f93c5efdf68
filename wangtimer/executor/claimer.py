"""The claimer: takes the members of a chunk into this process's hands, and lets go of those that it does not send."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.backlog import is_backlog
from wangtimer.core.flow.firing import Chunk, DueMember, Firing, Member
from wangtimer.core.time.clock import Clock
from wangtimer.executor.claim import MARGIN_S, Claim, Claims, Held, by_claim
from wangtimer.executor.room import Room
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.slices import SliceStore, Taken

log = structlog.get_logger()

CLAIM_TRIES = 2
# A process that is full waits so long for room. Then the armed leases run out, and another process gets the chunk.
ROOM_PATIENCE_S = 5.0


class Claimer:
    """Any thread may use it. What Redis does not take is left to the leases, which run out."""

    def __init__(
        self,
        slices: SliceStore,
        hot: HotStore,
        claims: Claims,
        room: Room,
        clock: Clock,
        callback_timeout_ms: int,
        one_at_a_time: Callable[[int], AbstractContextManager[object]],
    ) -> None:
        self._slices = slices
        self._hot = hot
        self._claims = claims
        self._room = room
        self._clock = clock
        self._timeout_ms = callback_timeout_ms
        self._one_at_a_time = one_at_a_time

    def claim(self, chunk: Chunk) -> tuple[Claim, list[Taken]]:
        """Claim the members still armed. If Redis fails to answer twice, their armed leases run out instead."""
        claim_id = self._claims.new_id()
        taken: list[Taken] = []
        last, number = chunk.last, len(chunk.members)
        is_late = self.lateness(last)
        if not self._room.wait(is_late) or not self._claims.take_room(number, is_late, ROOM_PATIENCE_S):
            return Claim(chunk.slice, claim_id, (), 0.0, 0.0), []
        try:
            with self._one_at_a_time(number):
                sent_at, taken = self._claim_as(claim_id, chunk)
        finally:
            self._claims.give_room(number - len(taken))
        until = sent_at + self._renewing_s(last)
        members = [entry.member for entry in taken]
        claim = Claim(chunk.slice, claim_id, members, sent_at, until, self._claims.give_room)
        if taken:
            self._claims.add(claim)
        return claim, taken

    def lateness(self, last: int) -> Callable[[], bool]:
        """Return a function that tells whether members are late by now of which the last is due at `last`, ms UTC."""
        return lambda: is_backlog(last, self._clock.now_ms())

    def keep(self, claim: Claim, last: int) -> None:
        """Renew a claim for as long as calls may take of which the last is due at `last`, ms UTC."""
        claim.keep_until(self._clock.monotonic() + self._renewing_s(last))

    def put_back(self, claim: Claim, dues: Sequence[DueMember]) -> None:
        """Put members back to where they stood, at these moments."""
        if not dues:
            return
        try:
            self._slices.put_back(claim.stands_in, claim.id, dues)
        except StoreAway as error:
            log.info("put_back_left_to_lease", slice=claim.stands_in.tag, error=str(error))
        finally:
            claim.let_go(due.member for due in dues)

    def give_back(self, claim: Claim, members: Sequence[Member], after_ms: int) -> None:
        """Put these back, to be judged again after so long."""
        again_at = int(self._clock.now_ms()) + after_ms
        self.put_back(claim, [DueMember(member, max(member.fire_at, again_at)) for member in members])

    def give_all_back(self) -> None:
        """Put back all that this process holds, to be judged again at once."""
        for claim in self._claims.current():
            self.give_back(claim, claim.open_members(), 0)

    def drop(self, claim: Claim, members: Sequence[Member], rows: Iterable[Firing]) -> None:
        """Let go of members that are over; add these rows to where they stand."""
        try:
            self._hot.add(list(rows))
            self._slices.release(by_claim(Held(claim, member) for member in members))
        except StoreAway as error:
            log.info("drop_left_to_lease", slice=claim.stands_in.tag, error=str(error))
        claim.let_go(members)

    @property
    def held(self) -> int:
        """How many firings this process holds, or is about to."""
        return self._claims.held

    def _claim_as(self, claim_id: str, chunk: Chunk) -> tuple[float, list[Taken]]:
        """Return when the claim was first sent, by the stop-watch, and what it took: leases may run since then."""
        members = [due.member for due in chunk.members]
        sent_at = self._clock.monotonic()
        for _ in range(CLAIM_TRIES):
            try:
                return sent_at, self._slices.claim(chunk.slice, claim_id, members)
            except StoreAway as error:
                log.warning("claim_failed", slice=chunk.slice.tag, error=str(error))
        return sent_at, []

    def _renewing_s(self, last: int) -> float:
        ahead_ms = max(0.0, last - self._clock.now_ms())
        return (ahead_ms + self._timeout_ms) / 1_000 + MARGIN_S
