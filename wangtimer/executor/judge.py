"""The judge: reads what is known of firings, and asks each step about those that need a question."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

import structlog

from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.firing import DueMember, Firing, Member
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.timer import Definition
from wangtimer.executor.case import CallStep, Case
from wangtimer.executor.claim import Batch, Claim, Held
from wangtimer.executor.read_ahead import ReadAhead
from wangtimer.executor.ready import Ready
from wangtimer.executor.shared import SharedSource
from wangtimer.executor.verdicts import PutBack, Send, Verdict
from wangtimer.executor.verifier import Verifier
from wangtimer.executor.wanted import Wanted
from wangtimer.store.redis.definitions import DefinitionsRead
from wangtimer.store.redis.slices import Taken

log = structlog.get_logger()

# Members due before this process last (re)connected to Redis, or up to so long after, are verified: Redis may have gone
# back to a state before they were sent. All other members that may have been sent are marked suspect in Redis.
FRESH_MS = 10_000


class Judge:
    """Any thread may use it. `steps` are asked in their order; the first that stops a firing has the last word."""

    def __init__(
        self,
        wanted: Wanted,
        shared: SharedSource,
        verifier: Verifier,
        steps: Sequence[CallStep],
        clock: Clock,
        one_at_a_time: Callable[[int], AbstractContextManager[object]],
    ) -> None:
        self._wanted = wanted
        self._shared = shared
        self._verifier = verifier
        self._steps = steps
        self._concerning = [step.concerns for step in steps if step.concerns is not None]
        self._clock = clock
        self._one_at_a_time = one_at_a_time

    def read(self, timer_ids: Sequence[int], ahead: ReadAhead | None) -> DefinitionsRead:
        """Return the definitions of these timers, or of the first of them."""
        read = None if ahead is None else ahead.definitions_of(timer_ids, self._clock.monotonic())
        if read is not None:
            return read
        with self._one_at_a_time(len(timer_ids)):
            return self._wanted.read(timer_ids)

    def read_ahead(self, batches: Sequence[Batch]) -> ReadAhead | None:
        """Read what firings of several lanes need, in one go; None if that fails: then each lane reads for itself."""
        members = [entry.member for batch in batches for entry in batch.taken]
        read_at = self._clock.monotonic()
        try:
            with self._one_at_a_time(len(members)):
                read = self._wanted.read(member.timer_id for member in members)
            return ReadAhead(read, self._verifier.read(members), read_at)
        except Exception:
            log.exception("not_read_ahead", lanes=len(batches))
            return None

    def look(
        self,
        claim: Claim,
        dues: Sequence[DueMember],
        taken: Sequence[Taken],
        read: DefinitionsRead,
        ahead: ReadAhead | None,
    ) -> tuple[list[Ready], Case]:
        """Return those that go without a question, and the case of the others.

        SQL is asked about members that seem unwanted, that the misfire policy may stop, that may have been sent
        already, or for which a secret or a target is not known; and of timers that concern a step.
        """
        definitions = self._wanted.current(read)
        shared = self._shared.known(definitions.values(), read.signing_mark)
        case = Case(claim, [], [], definitions, shared)
        with self._one_at_a_time(len(dues)):
            plain = self._parted(case, dues, {entry.member for entry in taken if entry.is_suspect})
        if case.asked and ahead is not None:
            case.rows = ahead.rows_by(self._clock.monotonic())
        return plain, case

    def _parted(self, case: Case, dues: Sequence[DueMember], suspects: set[Member]) -> list[Ready]:
        """Return those that go without a question; the others become the case's."""
        claim, definitions, shared, asked = case.claim, case.definitions, case.shared, case.asked
        concerning, now = self._concerning, self._clock.now_ms()
        fresh_until = now - self._wanted.definitions.seconds_since_reconnect * 1_000 + FRESH_MS
        bucket, signings, targets = bucket_of(claim, None), shared.signings, shared.targets
        plain = []
        for due in dues:
            member, due_at = due
            definition = definitions.get(member.timer_id)
            if definition is None or not (
                definition.surely_wants(member.fire_at) or _seems_wanted(definition, member)
            ):
                case.unwanted.append(due)
                asked.append(due)
            elif (
                not shared.suffices_for(definition)
                or definition.misfire.is_missed(member.fire_at, now)
                or _may_have_been_sent(due, suspects, fresh_until)
            ):
                asked.append(due)
            else:
                for concerns in concerning:
                    if concerns(definition):
                        asked.append(due)
                        break
                else:
                    if claim.holds(member):
                        app = definition.app
                        target, held = targets.get((app, definition.notify.target)), Held(claim, member)
                        order = CallOrder(definition, target)
                        plain.append(Ready(held, due_at, order, bucket, definition, target, signings[app]))
        return plain

    def judge(self, case: Case) -> None:
        """Have each step rule."""
        for step in self._steps:
            step.rule(case)

    def ready(self, case: Case) -> list[Ready]:
        """Return those of a case that go, and those that are paused: the sender lets these wait."""
        with self._one_at_a_time(len(case.asked)):
            return [
                _ready(case, due, verdict, definition)
                for due in case.asked
                if isinstance(verdict := case.verdicts[due.member], Send)
                and case.claim.holds(due.member)
                and (definition := case.definitions.get(due.member.timer_id)) is not None
            ]

    def unmade(self, dues: Sequence[DueMember], why: Mapping[Member, str]) -> dict[Member, Verdict]:
        """Return what becomes of members for which no request could be made here."""
        return {due.member: self._verifier.unjudged(due, why[due.member]) for due in dues}

    def unopened(self, unopened: Sequence[Ready], why: Mapping[Member, str]) -> dict[Member, Verdict]:
        """Return when those are looked at again whose secrets could not be opened here.

        At once if SQL has them sealed otherwise by now.
        """
        renewed = self._wanted.renew_seals(
            {firing.definition.timer_id: firing.definition for firing in unopened}
        )
        now = int(self._clock.now_ms())
        return {
            firing.held.member: PutBack(now)
            if firing.definition.timer_id in renewed
            else self._verifier.unopened(firing.due, why[firing.held.member])
            for firing in unopened
        }


def _ready(case: Case, due: DueMember, verdict: Send, definition: Definition) -> Ready:
    row, claim, shared = verdict.row, case.claim, case.shared
    target = shared.targets.get((definition.app, definition.notify.target))
    return Ready(
        Held(claim, due.member),
        # One that was judged for overlap may have been put back to be judged a little later.
        row.due_at if due.member in claim.begun else _moment(due, row),
        CallOrder(definition, target),
        bucket_of(claim, row),
        definition,
        target,
        shared.signings[definition.app],
        case.continuities.get(due.member.key),
    )


def bucket_of(claim: Claim, row: Firing | None) -> int:
    """Return the bucket of a member's row: in a slice the slice's; in a lane, where all are verified, the row's."""
    if isinstance(claim.stands_in, SharedLane):
        return 0 if row is None else row.bucket
    return claim.stands_in.bucket


def _moment(due: DueMember, row: Firing) -> int:
    return max(due.due_at, row.due_at)


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
