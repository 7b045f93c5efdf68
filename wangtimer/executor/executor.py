"""The executor: claims a chunk, judges each member, has it sent at its moment, records its outcome."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress

import structlog

from wangtimer.callback import Delivery, EngineStopped
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.backlog import is_backlog
from wangtimer.core.flow.call_order import CallOrder, place_of
from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import WITHDRAWN, Chunk, DueMember, FiringStatus, Member, MemberKey
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.flow.strain import Strain
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import reason_of
from wangtimer.core.timers.overlap import Course, Overlap
from wangtimer.core.timers.timer import Definition
from wangtimer.executor.claim import MARGIN_S, Batch, Claim, Claims, Fired, Held, by_claim
from wangtimer.executor.fire_rule import FireRule
from wangtimer.executor.puller import Puller
from wangtimer.executor.read_ahead import ReadAhead
from wangtimer.executor.ready import Ready, ready
from wangtimer.executor.room import Room
from wangtimer.executor.sender import NONE_PAUSED, Sender, Sent, within_room
from wangtimer.executor.settler import Finished, Settler
from wangtimer.executor.shared import Known, Shared
from wangtimer.executor.unread import Fail, PutBack
from wangtimer.executor.verifier import Drop, Facts, Send, Verdict, Verifier
from wangtimer.executor.wanted import Wanted
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.definitions import READ_BYTES, Told
from wangtimer.store.redis.slices import SliceStore, Taken
from wangtimer.store.sql.begun_firings import BegunFirings, Judged
from wangtimer.store.sql.continuities import ContinuityStore

log = structlog.get_logger()

# Members due before this process last (re)connected to Redis, or up to so long after, are verified: Redis may have gone
# back to a state before they were sent. All other members that may have been sent are marked suspect in Redis.
FRESH_MS = 10_000
# A chunk's task ends this long after its last moment; the engine keeps the slow rest.
PATIENCE_S = 2.0
CLAIM_TRIES = 2
# A process that is full waits so long for room. Then the armed leases run out, and another process gets the chunk.
ROOM_PATIENCE_S = 5.0
# Members whose chunk failed in an unforeseen way are tried again after this.
AGAIN_MS = 3_000
# A firing that may not go yet is looked at once more, at its moment, if that is so near.
SOON_MS = 100
NONE_TOLD: Mapping[MemberKey, Continuity] = {}


class Executor:
    """A chunk that is delivered twice or late claims nothing, and so does nothing."""

    def __init__(
        self,
        slices: SliceStore,
        hot: HotStore,
        wanted: Wanted,
        shared: Shared,
        verifier: Verifier,
        sender: Sender,
        engine: Delivery,
        settler: Settler,
        puller: Puller,
        claims: Claims,
        clock: Clock,
        rule: FireRule,
        room: Room,
        one_at_a_time: Callable[[int], AbstractContextManager[object]],
        strain: Strain,
        tell_strain: Callable[[], None],
        is_stopping: Callable[[], bool],
        may_fire: Callable[[], bool],
        begun: BegunFirings,
        continuities: ContinuityStore,
    ) -> None:
        self._begun = begun
        self._continuities = continuities
        self._slices = slices
        self._hot = hot
        self._wanted = wanted
        self._shared = shared
        self._verifier = verifier
        self._engine = engine
        self._settler = settler
        self._puller = puller
        self._sender = sender
        self._claims = claims
        self._room = room
        self._clock = clock
        self._timeout_ms = rule.timeout_ms
        # Several chunks come at once. If all were prepared at once, the engine would get a small share of the CPU.
        self._one_at_a_time = one_at_a_time
        self._strain = strain
        self._tell_strain = tell_strain
        self._is_stopping = is_stopping
        self._may_fire = may_fire

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
        if not self._may_fire():
            log.warning("chunk_left_to_others", slice=chunk.slice.tag, members=len(chunk.members))
            return None
        claim, taken = self._claim(chunk)
        if not taken:
            return None
        is_strained = self._strain.note(chunk.members, self._clock.now_ms(), self._clock.monotonic())
        fired = self.fire_claimed(claim, chunk, taken)
        if is_strained:  # told after the calls are on their way: Redis may hang
            self._tell_strain()
        return claim, self._patience_s(fired.last)

    def fire_pulled(self, batches: Sequence[Batch]) -> list[Fired]:
        """Send what was pulled from lanes; what is needed for it is read once for all of them.

        * A batch of several that fails in an unforeseen way harms no other: it is put off.
        * Once this process is asked to stop, no further batch begins.
        """
        if len(batches) == 1:
            return [self._fire_batch(batches[0])]
        ahead, fired = self._read_ahead(batches), []
        for number, batch in enumerate(batches):
            if number and self._is_stopping():
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

    def _read_ahead(self, batches: Sequence[Batch]) -> ReadAhead | None:
        """Read what firings of several lanes need, in one go; None if that fails: then each lane reads for itself.

        Nobody counts the bytes of what is read, at most those of one part a process.
        """
        members = [one.member for batch in batches for one in batch.taken]
        read_at = self._clock.monotonic()
        if not self._room.has_any(is_late=True):
            return None
        try:
            with self._one_at_a_time(len(members)):
                told = self._wanted.read(member.timer_id for member in members)
            return ReadAhead(told, self._verifier.read(members), read_at)
        except Exception:
            log.exception("not_read_ahead", lanes=len(batches))
            return None

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
        dues = {due.member: due for due in chunk.members}
        most = len(taken) if most is None else most
        rest, fired = taken, Fired()
        try:
            while rest:
                claim.keep_until(self._clock.monotonic() + self._until_s(chunk))
                if not self._room.take(self._lateness(chunk)):
                    log.info("no_room_for_requests", slice=claim.stands_in.tag, members=len(rest))
                    self._leave_waiting(claim, [dues[one.member] for one in rest], fired)
                    break
                try:
                    number = self._fire_part(
                        claim, chunk, [dues[one.member] for one in rest], rest, most, fired, ahead
                    )
                finally:
                    self._room.give_part()
                fired.last = max(fired.last, *(dues[one.member].due_at for one in rest[:number]))
                rest = rest[number:]
                if rest and self._is_stopping():
                    self._leave_waiting(claim, [dues[one.member] for one in rest], fired)
                    break
        except EngineStopped:
            self._give_back(claim, claim.not_handed_on(), 0)
        except Exception:
            self._give_back(claim, claim.not_handed_on(), AGAIN_MS)
            raise
        return fired

    def _fire_part(
        self,
        claim: Claim,
        chunk: Chunk,
        mine: Sequence[DueMember],
        taken: Sequence[Taken],
        most: int,
        fired: Fired,
        ahead: ReadAhead | None,
    ) -> int:
        """Send the first part of these, up to `most` in all; return how many members it has.

        Members that need no question to SQL go first: SQL may hang, and then its answer takes seconds. SQL is asked too
        for those whose app's secret, or whose target, Redis does not have.
        """
        told = self._told_of([due.member.timer_id for due in mine], ahead)
        number, sizes = part_of(mine, told)
        claim.fill(self._room, sizes)
        definitions = self._wanted.current(told)
        known = self._shared.known(definitions.values(), told.signing_mark)
        deaths = {one.member: one.deaths for one in taken if one.deaths}
        with self._one_at_a_time(number):
            unwanted, asked = self._questionable(mine[:number], definitions, taken[:number], known)
            others = _without(mine[:number], asked)
            ready = _ready(claim, others, definitions, {}, known)
        if others:
            self._send(claim, chunk, others, ready, deaths, most, fired)
        if asked:
            facts = None if ahead is None else ahead.facts_by(self._clock.monotonic())
            ready, paused = self._judge(claim, chunk, unwanted, asked, facts, definitions, known, fired)
            self._send(claim, chunk, asked, ready, deaths, most, fired, paused)
        return number

    def _told_of(self, timer_ids: Sequence[int], ahead: ReadAhead | None) -> Told:
        told = None if ahead is None else ahead.told_of(timer_ids, self._clock.monotonic())
        if told is not None:
            return told
        with self._one_at_a_time(len(timer_ids)):
            return self._wanted.read(timer_ids)

    def _send(
        self,
        claim: Claim,
        chunk: Chunk,
        judged: Sequence[DueMember],
        ready: Sequence[Ready],
        deaths: Mapping[Member, int],
        most: int,
        fired: Fired,
        paused: Mapping[Member, SharedLane] = NONE_PAUSED,
    ) -> None:
        """Send those of the judged members that are ready, up to `most` in all; the rest waits again."""
        going, staying = within_room(ready, most - fired.sent + fired.elsewhere)
        claim.empty({due.member for due in judged} - {one.held.member for one in going})
        with self._one_at_a_time(len(judged)):
            sent = self._sender.send(going, deaths, paused)
        fired.sent += sent.calls
        fired.elsewhere += sent.elsewhere
        self._leave_waiting(claim, [DueMember(one.held.member, one.due_at) for one in staying], fired)
        self._leave_unjudged(claim, chunk, sent, fired)
        self._leave_unopened(claim, [one for one in going if one.held.member in sent.unopened], sent, fired)

    def _leave_waiting(self, claim: Claim, dues: Sequence[DueMember], fired: Fired) -> None:
        """Put members without room back to where they stood, at their own moments."""
        fired.note_waiting(dues)
        self._quietly_put_back(claim, dues)

    def drain(self, timeout_s: float) -> None:
        """Let running callbacks end, settle finished ones, put back unsent ones."""
        self._puller.stop()
        unsent = self._engine.stop(timeout_s)
        self._puller.give_permits_back()
        self._settler.settle_all()
        log.info("drained", unsent=len(unsent), handed_back=self._claims.held)
        for claim in self._claims.current():
            self._give_back(claim, claim.open_members(), 0)

    def _claim(self, chunk: Chunk) -> tuple[Claim, list[Taken]]:
        """Claim the members still armed. If Redis fails to answer twice, their armed leases run out instead."""
        claim_id = self._claims.new_id()
        taken: list[Taken] = []
        is_late = self._lateness(chunk)
        if not self._room.wait(is_late) or not self._claims.take_room(
            len(chunk.members), is_late, ROOM_PATIENCE_S
        ):
            return Claim(chunk.slice, claim_id, (), 0.0, 0.0), []
        try:
            with self._one_at_a_time(len(chunk.members)):
                sent_at, taken = self._claim_as(claim_id, chunk)
        finally:
            self._claims.give_room(len(chunk.members) - len(taken))
        mine, until = (one.member for one in taken), sent_at + self._until_s(chunk)
        claim = Claim(chunk.slice, claim_id, mine, sent_at, until, self._claims.give_room)
        if taken:
            self._claims.add(claim)
        return claim, taken

    def _lateness(self, chunk: Chunk) -> Callable[[], bool]:
        """Return a function that tells whether the chunk is late by now."""
        last = max(due.due_at for due in chunk.members)
        return lambda: is_backlog(last, self._clock.now_ms())

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

    def _until_s(self, chunk: Chunk) -> float:
        last = max(due.due_at for due in chunk.members)
        ahead_ms = max(0.0, last - self._clock.now_ms())
        return (ahead_ms + self._timeout_ms) / 1_000 + MARGIN_S

    def _judge(
        self,
        claim: Claim,
        chunk: Chunk,
        unwanted: list[DueMember],
        asked: list[DueMember],
        facts: Facts | None,
        definitions: dict[int, Definition],
        shared: Known,
        fired: Fired,
    ) -> tuple[list[Ready], dict[Member, SharedLane]]:
        """Ask SQL; return the members to send, and which of them are paused.

        The others are skipped, put back or let go of.
        """
        verdicts = self._verifier.verify(chunk.slice, asked, facts)
        cleared, refused = self._wanted.second_opinion(unwanted, verdicts)
        known: dict[int, Definition] = {**definitions, **{m.timer_id: d for m, d in cleared.items()}}
        refused |= self._misfires(claim, asked, verdicts, known)
        wanted = [due for due in asked if due.member not in refused]
        self._ask_shared(wanted, verdicts, known, shared)
        claim.begun.update(_with_policy(asked, known))
        paused = self._paused(claim, wanted, known, shared)
        may_begin = [due for due in wanted if due.member not in paused]
        refused |= self._overlaps(claim, may_begin, verdicts, known)
        # Only now: what was just cancelled or skipped is lost to those that go.
        continuities = self._ask_continuities(wanted, refused, verdicts, known)
        self._skip(claim, refused, verdicts, known)
        self._obey(claim, {member: verdicts[member] for member in verdicts if member not in refused}, fired)
        left = [
            _at_its_moment(due, verdicts[due.member]) if due.member in claim.begun else due
            for due in asked
            if due.member not in refused and not isinstance(verdicts[due.member], Fail)
        ]
        with self._one_at_a_time(len(left)):
            return _ready(claim, left, known, verdicts, shared, continuities), paused

    def _ask_shared(
        self,
        asked: Sequence[DueMember],
        verdicts: dict[Member, Verdict],
        definitions: Mapping[int, Definition],
        known: Known,
    ) -> None:
        """Ask for the secrets and targets that are not known yet; members for which one cannot be told wait."""
        lacking = [
            (due, definition)
            for due in asked
            if isinstance(verdicts[due.member], Send)
            and (definition := definitions.get(due.member.timer_id)) is not None
            and not known.suffices_for(definition)
        ]
        self._shared.ask([definition for _, definition in lacking], known)
        for due, definition in lacking:
            if not known.suffices_for(definition):
                verdicts[due.member] = self._verifier.wait(due)

    def _paused(
        self,
        claim: Claim,
        wanted: Sequence[DueMember],
        definitions: Mapping[int, Definition],
        known: Known,
    ) -> dict[Member, SharedLane]:
        """Return which are paused, and so have not begun and stand in the way of no other firing; and their lanes."""
        if not self._sender.are_any_paused:
            return {}
        lanes = {}
        for due in wanted:
            definition = definitions.get(due.member.timer_id)
            if definition is not None and known.suffices_for(definition):
                host = CallOrder(definition, known.target_of(definition)).where.host
                lanes[due.member] = self._sender.pause_of(Held(claim, due.member), definition.app, host)
        return {member: lane for member, lane in lanes.items() if lane is not None}

    def _ask_continuities(
        self,
        wanted: Sequence[DueMember],
        refused: Mapping[Member, str],
        verdicts: dict[Member, Verdict],
        definitions: Mapping[int, Definition],
    ) -> dict[MemberKey, Continuity]:
        """Return what calls of numbered timers tell; these members wait where SQL does not answer.

        What is `refused` with them is not written yet, and is lost all the same.
        """
        numbered = [
            (due, verdict.row)
            for due in wanted
            if due.member not in refused
            and isinstance(verdict := verdicts[due.member], Send)
            and verdict.row.seq is not None
            and (definition := definitions.get(due.member.timer_id)) is not None
            and definition.form.numbered
        ]
        if not numbered:
            return {}
        try:
            told = self._continuities.before([row for _, row in numbered])
        except StoreAway:
            verdicts.update({due.member: self._verifier.wait(due) for due, _ in numbered})
            return {}
        lost: dict[int, list[int]] = defaultdict(list)
        for member, reason in refused.items():
            if reason not in WITHDRAWN:
                lost[member.timer_id].append(member.fire_at)
        return {
            (timer_id, fire_at): one.with_lost(moment for moment in lost[timer_id] if moment < fire_at)
            for (timer_id, fire_at), one in told.items()
        }

    def _questionable(
        self,
        mine: Sequence[DueMember],
        definitions: dict[int, Definition],
        taken: Sequence[Taken],
        known: Known,
    ) -> tuple[list[DueMember], list[DueMember]]:
        """Return which seem unwanted, and which SQL is asked about.

        SQL is asked about members that seem unwanted, that the misfire policy may stop, that may have been sent
        already, or for which a secret or a target is not known; and of timers whose firings are not to overlap, or are
        numbered.
        """
        now = self._clock.now_ms()
        fresh_until = now - self._slices.seconds_since_reconnect * 1_000 + FRESH_MS
        suspects = {one.member for one in taken if one.is_suspect}
        unwanted, asked = [], []
        for due in mine:
            member = due.member
            definition = definitions.get(member.timer_id)
            if definition is None or not (
                definition.surely_wants(member.fire_at) or _seems_wanted(definition, member)
            ):
                unwanted.append(due)
                asked.append(due)
            elif (
                definition.overlap is not Overlap.ALLOW
                or definition.form.numbered
                or not known.suffices_for(definition)
                or definition.misfire.is_missed(member.fire_at, now)
                or _may_have_been_sent(due, suspects, fresh_until)
            ):
                asked.append(due)
        return unwanted, asked

    def _misfires(
        self,
        claim: Claim,
        asked: list[DueMember],
        verdicts: dict[Member, Verdict],
        definitions: dict[int, Definition],
    ) -> dict[Member, str]:
        """Return which late first attempts are no longer to be made, and why.

        A member that waited for room missed nothing, but is not sent past its catch-up window; one that waited for a
        pause to end was missed as after any outage. If this node cannot work that out, the member gets a verdict in
        `verdicts`: to wait, and at last to fail.
        """
        has_waited = isinstance(claim.stands_in, SharedLane) and claim.stands_in.paused is None
        now = self._clock.now_ms()
        reasons = {}
        for due in asked:
            member, verdict = due.member, verdicts[due.member]
            definition = definitions.get(member.timer_id)
            if isinstance(verdict, Send) and verdict.row.may_misfire and definition is not None:
                try:
                    reasons[member] = definition.misfire.why_not(
                        definition.schedule,
                        member.fire_at,
                        now,
                        has_waited=has_waited or verdict.row.has_queued,
                    )
                except Exception as error:
                    why = reason_of("its moments cannot be worked out", error)
                    verdicts[member] = self._verifier.unjudged(due, why, verdict.row)
        return {member: reason for member, reason in reasons.items() if reason}

    def _overlaps(
        self,
        claim: Claim,
        wanted: Sequence[DueMember],
        verdicts: dict[Member, Verdict],
        definitions: Mapping[int, Definition],
    ) -> dict[Member, str]:
        """Return which firings are not made because another one of their timer is not done, and why.

        Firings that wait for another one get a verdict in `verdicts`, and those that are undecided: they are judged
        again, at their moment or at once. Nothing is refused before its moment: until then the other one may be done.
        """
        apps = _with_policy(wanted, definitions)
        judged = self._judge_overlaps(
            [due for due in wanted if due.member in apps and isinstance(verdicts[due.member], Send)],
            verdicts,
            definitions,
        )
        refused = {}
        for member, found in judged.items():
            if found.is_undecided:
                verdicts[member] = PutBack(self._looks_again_at(member.fire_at) + self._verifier.lead_ms)
            elif found.course is None:
                verdicts[member] = Drop(None)
            elif found.course is Course.SKIP:
                refused[member] = found.reason
            elif found.course is Course.WAIT and found.row is not None:
                stays = found.row.stands_in == claim.stands_in
                verdicts[member] = PutBack(found.row.due_at) if stays else Drop(found.row)
        return refused

    def _looks_again_at(self, fire_at: int) -> int:
        """Return when a firing is looked at again that may not go yet: at its moment, and on the way there.

        Looked at only then, it would be late, and so would each one after it.
        """
        now = int(self._clock.now_ms())
        return fire_at if fire_at - now < SOON_MS else (now + fire_at) // 2

    def _judge_overlaps(
        self,
        asked: Sequence[DueMember],
        verdicts: dict[Member, Verdict],
        definitions: Mapping[int, Definition],
    ) -> dict[Member, Judged]:
        """Judge members that have a policy; those wait for which SQL does not answer."""
        if not asked:
            return {}
        judged: dict[Member, Judged] = {}
        with suppress(StoreAway), self._verifier.sql_rest.asking(self._clock):
            judged = self._begun.judge(
                [due.member for due in asked],
                int(self._clock.now_ms()),
                lambda outcome: self._sender.noted(outcome, place_of(definitions[outcome.member.timer_id])),
            )
        verdicts.update({due.member: self._verifier.wait(due) for due in asked if due.member not in judged})
        return judged

    def _skip(
        self,
        claim: Claim,
        refused: dict[Member, str],
        verdicts: dict[Member, Verdict],
        definitions: Mapping[int, Definition],
    ) -> None:
        for member, reason in refused.items():
            bucket = _bucket(claim, verdicts.get(member))
            outcome = Outcome(member, bucket, FiringStatus.SKIPPED, due_at=member.fire_at, error=reason)
            definition = definitions.get(member.timer_id)
            outcome = self._sender.noted(outcome, place_of(definition))
            self._settler.take(Finished(Held(claim, member), outcome))
            claim.hand_on([member])

    def _leave_unjudged(self, claim: Claim, chunk: Chunk, sent: Sent, fired: Fired) -> None:
        """Put back, or fail, members for which no request could be made here."""
        if sent.unmade:
            dues = {due.member: due for due in chunk.members}
            verdicts = {one: self._verifier.unjudged(dues[one], why) for one, why in sent.unmade.items()}
            self._obey(claim, verdicts, fired)

    def _leave_unopened(self, claim: Claim, unopened: Sequence[Ready], sent: Sent, fired: Fired) -> None:
        """Put back members whose secrets could not be opened here: at once if SQL has them sealed otherwise by now."""
        renewed = self._wanted.renew_seals({one.definition.timer_id: one.definition for one in unopened})
        now = int(self._clock.now_ms())
        verdicts = {
            one.held.member: PutBack(now)
            if one.definition.timer_id in renewed
            else self._verifier.unopened(
                DueMember(one.held.member, one.due_at), sent.unopened[one.held.member]
            )
            for one in unopened
        }
        self._obey(claim, verdicts, fired)

    def _obey(self, claim: Claim, verdicts: Mapping[Member, Verdict], fired: Fired) -> None:
        """Carry out verdicts: fail members, put back those that must wait, let go of those that are over.

        A member whose row stands elsewhere is added there first.
        """
        for member, verdict in verdicts.items():
            if isinstance(verdict, Fail):
                self._sender.fail(
                    Held(claim, member), member.fire_at, verdict.reason, _bucket(claim, verdict)
                )
        waiting = [
            DueMember(member, verdict.until)
            for member, verdict in verdicts.items()
            if isinstance(verdict, PutBack)
        ]
        fired.put_off += len(waiting)
        self._quietly_put_back(claim, waiting)
        drops = {member: verdict for member, verdict in verdicts.items() if isinstance(verdict, Drop)}
        if drops:
            self._drop(claim, drops)

    def _drop(self, claim: Claim, drops: dict[Member, Drop]) -> None:
        try:
            self._hot.add([verdict.row for verdict in drops.values() if verdict.row is not None])
            self._slices.release(by_claim(Held(claim, member) for member in drops))
        except StoreAway as error:
            log.info("drop_left_to_lease", slice=claim.stands_in.tag, error=str(error))
        claim.let_go(drops)

    def _give_back(self, claim: Claim, members: Sequence[Member], after_ms: int) -> None:
        """Put these back, to be judged again after so long."""
        again_at = int(self._clock.now_ms()) + after_ms
        self._quietly_put_back(
            claim, [DueMember(member, max(member.fire_at, again_at)) for member in members]
        )

    def _quietly_put_back(self, claim: Claim, members: Sequence[DueMember]) -> None:
        if not members:
            return
        try:
            self._slices.put_back(claim.stands_in, claim.id, members)
        except StoreAway as error:
            log.info("put_back_left_to_lease", slice=claim.stands_in.tag, error=str(error))
        finally:
            claim.let_go(due.member for due in members)

    def _patience_s(self, last: int) -> float:
        return max(0.0, (last - self._clock.now_ms()) / 1_000) + PATIENCE_S


def part_of(dues: Sequence[DueMember], told: Told) -> tuple[int, dict[Member, int]]:
    """Return how many of these, from the first on, make one part, and the bytes that each request takes.

    A part has at least one firing, and no more than were read and fit. A body that several firings share counts for
    each.
    """
    sizes: dict[Member, int] = {}
    total = 0
    for due in dues:
        size = told.sizes.get(due.member.timer_id)
        if sizes and (size is None or total + size > READ_BYTES):
            break
        sizes[due.member] = size or 0
        total += sizes[due.member]
    return len(sizes), sizes


def _with_policy(dues: Sequence[DueMember], definitions: Mapping[int, Definition]) -> dict[Member, str]:
    """Return members of timers whose firings are not to overlap, with their apps."""
    return {
        due.member: definition.app
        for due in dues
        if (definition := definitions.get(due.member.timer_id)) is not None
        and definition.overlap is not Overlap.ALLOW
    }


def _without(dues: Sequence[DueMember], others: Sequence[DueMember]) -> list[DueMember]:
    members = {due.member for due in others}
    return [due for due in dues if due.member not in members]


def _ready(
    claim: Claim,
    dues: Sequence[DueMember],
    definitions: Mapping[int, Definition],
    verdicts: Mapping[Member, Verdict],
    known: Known,
    continuities: Mapping[MemberKey, Continuity] = NONE_TOLD,
) -> list[Ready]:
    """Return those that can be sent: they are still held, and have a definition."""
    bucket = _bucket(claim, None)
    return [
        ready(
            Held(claim, due.member),
            _moment(due, verdicts.get(due.member)) if verdicts else due.due_at,
            definition,
            _bucket(claim, verdicts.get(due.member)) if verdicts else bucket,
            known.signings[definition.app],
            known.target_of(definition),
            continuities.get(due.member.key) if continuities else None,
        )
        for due in dues
        if claim.holds(due.member) and (definition := definitions.get(due.member.timer_id)) is not None
    ]


def _may_have_been_sent(due: DueMember, suspects: set[Member], fresh_until: float) -> bool:
    """Tell whether the member may have been sent already: only then SQL is asked."""
    member, due_at = due
    return member in suspects or member.attempt > 1 or due_at != member.fire_at or due_at < fresh_until


def _seems_wanted(definition: Definition, member: Member) -> bool:
    """Tell whether the member seems wanted; False if this cannot be judged: SQL's answer is then judged once more."""
    try:
        return _is_wanted(definition, member)
    except Exception:
        return False


def _is_wanted(definition: Definition, member: Member) -> bool:
    """Tell whether the member is wanted. A retry needs only an enabled timer and a moment that is not cancelled."""
    if definition.has_stopped(member.fire_at):
        return False
    if member.attempt > 1:
        return definition.is_enabled and not definition.has_cancelled(member.fire_at)
    return definition.still_wants(member.fire_at)


def _bucket(claim: Claim, verdict: Verdict | None) -> int:
    """Return the bucket of a member's row: in a slice the slice's; in a lane, where all are verified, the row's."""
    if isinstance(claim.stands_in, SharedLane):
        return verdict.row.bucket if isinstance(verdict, Send) else 0
    return claim.stands_in.bucket


def _at_its_moment(due: DueMember, verdict: Verdict) -> DueMember:
    """Return the member to be sent as soon as its row is due: it may have been put back to be judged a little later."""
    return DueMember(due.member, verdict.row.due_at) if isinstance(verdict, Send) else due


def _moment(due: DueMember, verdict: Verdict | None) -> int:
    return max(due.due_at, verdict.row.due_at) if isinstance(verdict, Send) else due.due_at
