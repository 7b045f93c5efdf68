"""The executor: claims a chunk, judges each member, has it sent at its moment, records its outcome."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import structlog

from wangtimer.callback import EngineStopped
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_order import place_of
from wangtimer.core.flow.firing import Chunk, DueMember, Member
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.flow.strain import Strain
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.timer import Definition
from wangtimer.executor.claim import Batch, Claim, Fired, Held
from wangtimer.executor.claimer import Claimer
from wangtimer.executor.judge import Judge, bucket_of
from wangtimer.executor.puller import Puller
from wangtimer.executor.read_ahead import ReadAhead
from wangtimer.executor.ready import Ready
from wangtimer.executor.room import LATE, Room
from wangtimer.executor.sender import NONE_PAUSED, Sender, Sent, within_room
from wangtimer.executor.verdicts import Drop, Fail, PutBack, Skip, Verdict
from wangtimer.store.redis.definitions import READ_BYTES, DefinitionsRead
from wangtimer.store.redis.slices import Taken

log = structlog.get_logger()

# A chunk's task ends this long after its last moment; the engine keeps the slow rest.
PATIENCE_S = 2.0
# Members whose chunk failed in an unforeseen way are tried again after this.
AGAIN_MS = 3_000


@dataclass(slots=True)
class Duty:
    """Whether this process may take on firings, and whom it tells how close to their moments they come.

    `may_fire`: it knows what apps may call. `is_stopping`: it was asked to stop.
    """

    may_fire: Callable[[], bool]
    is_stopping: Callable[[], bool]
    strain: Strain
    tell_strain: Callable[[], None]


class Executor:
    """A chunk that is delivered twice or late claims nothing, and so does nothing."""

    def __init__(
        self,
        claimer: Claimer,
        judge: Judge,
        sender: Sender,
        puller: Puller,
        duty: Duty,
        room: Room,
        clock: Clock,
        one_at_a_time: Callable[[int], AbstractContextManager[object]],
    ) -> None:
        self._claimer = claimer
        self._judge = judge
        self._sender = sender
        self._puller = puller
        self._duty = duty
        self._room = room
        self._clock = clock
        # Several chunks come at once. If all were prepared at once, the engine would get a small share of the CPU.
        self._one_at_a_time = one_at_a_time

    def warm_up(self) -> None:
        """Connect to Redis and read its clock, so that the first chunk does not wait for it."""
        try:
            self._clock.now_ms()
        except StoreAway as error:
            log.warning("redis_away_at_start", error=str(error))

    def fire(self, chunk: Chunk) -> None:
        """Fire a chunk; returns when every member is settled, or `PATIENCE_S` after the last moment."""
        begun = self.begin(chunk)
        del chunk  # a thousand members, and the wait may be long
        if begun is not None:
            claim, patience_s = begun
            claim.is_done.wait(patience_s)

    def begin(self, chunk: Chunk) -> tuple[Claim, float] | None:
        """Send what can be claimed; return the claim and how long to wait for it, in seconds.

        While this process does not know what apps may call, it claims nothing: what is armed is armed again.
        """
        if not self._duty.may_fire():
            log.warning("chunk_left_to_others", slice=chunk.slice.tag, members=len(chunk.members))
            return None
        claim, taken = self._claimer.claim(chunk)
        if not taken:
            return None
        is_strained = self._duty.strain.note(chunk.members, self._clock.now_ms(), self._clock.monotonic())
        fired = self.fire_claimed(claim, chunk, taken)
        if is_strained:  # told after the calls are on their way: Redis may hang
            self._duty.tell_strain()
        return claim, max(0.0, (fired.last - self._clock.now_ms()) / 1_000) + PATIENCE_S

    def fire_pulled(self, batches: Sequence[Batch]) -> list[Fired]:
        """Send what was pulled from lanes; what is needed for it is read once for all of them.

        * A batch of several that fails in an unforeseen way harms no other: it is put off.
        * Once this process is asked to stop, no further batch begins.
        """
        if len(batches) == 1:
            return [self._fire_batch(batches[0])]
        # Nobody counts the bytes of what is read ahead, at most those of one part a process.
        ahead = self._judge.read_ahead(batches) if self._room.has_room(LATE) else None
        fired = []
        for number, batch in enumerate(batches):
            if number and self._duty.is_stopping():
                fired.append(Fired())
                self._leave_waiting(batch.claim, batch.chunk.members, fired[-1])
                continue
            try:
                fired.append(self._fire_batch(batch, ahead))
            except Exception:
                log.exception("lane_not_fired", lane=batch.lane.key)
                fired.append(Fired(put_off=len(batch.taken)))
        return fired

    def _fire_batch(self, batch: Batch, ahead: ReadAhead | None = None) -> Fired:
        return self.fire_claimed(batch.claim, batch.chunk, batch.taken, batch.most, ahead)

    def fire_claimed(
        self,
        claim: Claim,
        chunk: Chunk,
        taken: Sequence[Taken],
        most: int | None = None,
        ahead: ReadAhead | None = None,
    ) -> Fired:
        """Send members that were claimed, or pulled from a lane; at most `most`, if given.

        `ahead` was read already, of these members and of others.

        * They go part by part, as there is room for the requests.
        * Members without room go back to where they stood, at their own moment. No attempt is used, and any process
          with room takes them.
        * Where a part fails, or the engine is stopped, only members not yet handed on go back: no call is made twice.
        * Once this process is asked to stop, no further part begins.
        """
        by_member = {due.member: due for due in chunk.members}
        dues, last = [by_member[entry.member] for entry in taken], chunk.last
        most = len(taken) if most is None else most
        fired = Fired()
        try:
            while dues:
                self._claimer.keep(claim, last)
                if not self._room.take(self._claimer.lateness(last)):
                    log.info("no_room_for_requests", slice=claim.stands_in.tag, members=len(dues))
                    self._leave_waiting(claim, dues, fired)
                    break
                try:
                    number = self._fire_part(claim, dues, taken, most, fired, ahead)
                finally:
                    self._room.give_part()
                fired.last = max(fired.last, *[due.due_at for due in dues[:number]])
                dues, taken = dues[number:], taken[number:]
                if dues and self._duty.is_stopping():
                    self._leave_waiting(claim, dues, fired)
                    break
        except EngineStopped:
            self._claimer.give_back(claim, claim.not_handed_on(), 0)
        except Exception:
            self._claimer.give_back(claim, claim.not_handed_on(), AGAIN_MS)
            raise
        return fired

    def _fire_part(
        self,
        claim: Claim,
        dues: Sequence[DueMember],
        taken: Sequence[Taken],
        most: int,
        fired: Fired,
        ahead: ReadAhead | None,
    ) -> int:
        """Send the first part of these, up to `most` in all; return how many members it has.

        Members that need no question to SQL go first: SQL may hang, and then its answer takes seconds.
        """
        read = self._judge.read([due.member.timer_id for due in dues], ahead)
        number, sizes = part_of(dues, read)
        claim.fill(self._room, sizes)
        plain, case = self._judge.look(claim, dues[:number], taken[:number], read, ahead)
        deaths = {entry.member: entry.deaths for entry in taken if entry.deaths}
        if plain:
            self._send(claim, plain, deaths, most, fired)
        if case.asked:
            self._judge.judge(case)
            self._obey(claim, case.verdicts, case.definitions, fired)
            ready = self._judge.ready(case)
            claim.empty({due.member for due in case.asked} - {going.held.member for going in ready})
            if ready:
                self._send(claim, ready, deaths, most, fired, case.paused)
        return number

    def _send(
        self,
        claim: Claim,
        ready: Sequence[Ready],
        deaths: Mapping[Member, int],
        most: int,
        fired: Fired,
        paused: Mapping[Member, SharedLane] = NONE_PAUSED,
    ) -> None:
        """Send what is ready, up to `most` in all; the rest waits again."""
        going, staying = within_room(ready, most - fired.sent + fired.to_other_host)
        if staying:
            claim.empty([firing.held.member for firing in staying])
        with self._one_at_a_time(len(ready)):
            sent = self._sender.send(going, deaths, paused)
        fired.sent += sent.calls
        fired.to_other_host += sent.to_other_host
        self._leave_waiting(claim, [firing.due for firing in staying], fired)
        if sent.unmade or sent.unopened:
            self._leave_unsent(claim, going, sent, fired)

    def _leave_unsent(self, claim: Claim, going: Sequence[Ready], sent: Sent, fired: Fired) -> None:
        """Put back, or fail, members for which no request could be made, or whose secrets could not be opened."""
        unmade = [firing.due for firing in going if firing.held.member in sent.unmade]
        unopened = [firing for firing in going if firing.held.member in sent.unopened]
        verdicts = self._judge.unmade(unmade, sent.unmade) | self._judge.unopened(unopened, sent.unopened)
        self._obey(claim, verdicts, {}, fired)

    def _leave_waiting(self, claim: Claim, dues: Sequence[DueMember], fired: Fired) -> None:
        """Put members without room back to where they stood, at their own moments."""
        if dues:
            fired.note_waiting(dues)
            self._claimer.put_back(claim, dues)

    def drain(self, timeout_s: float) -> None:
        """Let running callbacks end, settle finished ones, put back unsent ones."""
        self._puller.stop()
        unsent = self._sender.stop(timeout_s)
        self._puller.give_permits_back()
        self._sender.settle_all()
        log.info("drained", unsent=len(unsent), handed_back=self._claimer.held)
        self._claimer.give_all_back()

    def _obey(
        self,
        claim: Claim,
        verdicts: Mapping[Member, Verdict],
        definitions: Mapping[int, Definition],
        fired: Fired,
    ) -> None:
        """Carry out verdicts: skip and fail members, put back those that must wait, let go of those that are over.

        A member whose row stands elsewhere is added there first.
        """
        waiting: list[DueMember] = []
        drops: dict[Member, Drop] = {}
        for member, verdict in verdicts.items():
            held = Held(claim, member)
            if isinstance(verdict, Skip):
                place = place_of(definitions.get(member.timer_id))
                self._sender.skip(held, verdict.reason, bucket_of(claim, verdict.row), place)
            elif isinstance(verdict, Fail):
                self._sender.fail(held, member.fire_at, verdict.reason, bucket_of(claim, None))
            elif isinstance(verdict, PutBack):
                waiting.append(DueMember(member, verdict.until))
            elif isinstance(verdict, Drop):
                drops[member] = verdict
        fired.put_off += len(waiting)
        self._claimer.put_back(claim, waiting)
        if drops:
            self._claimer.drop(
                claim, list(drops), [drop.row for drop in drops.values() if drop.row is not None]
            )


def part_of(dues: Sequence[DueMember], read: DefinitionsRead) -> tuple[int, dict[Member, int]]:
    """Return how many of these, from the first on, make one part, and the bytes that each request takes.

    A part has at least one firing, and no more than were read and fit. A body that several firings share counts for
    each.
    """
    sizes: dict[Member, int] = {}
    total = 0
    for due in dues:
        size = read.sizes.get(due.member.timer_id)
        if sizes and (size is None or total + size > READ_BYTES):
            break
        sizes[due.member] = size or 0
        total += sizes[due.member]
    return len(sizes), sizes
