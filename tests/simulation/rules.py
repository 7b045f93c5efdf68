"""The rules of the protocols that can be left out one at a time, each as a small patch of the real code or its stores.

A rule that can go without any run breaking a promise carries no weight, or the simulation cannot see it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from tests.fakes import memory_firings, memory_slices, memory_timers
from tests.fakes.memory_agenda import MemoryAgenda
from tests.fakes.memory_definitions import MemoryDefinitions
from tests.fakes.memory_slices import MemorySlices, Sets
from tests.simulation import fleet
from tests.simulation.fault import Kind
from wangtimer import registrar, sweeper, trigger
from wangtimer.core.errors import StoreAway
from wangtimer.core.firing import DueMember, FiringStatus, Member
from wangtimer.core.timer import Timer
from wangtimer.executor import executor, keeper, settler, verifier, wanted
from wangtimer.executor.claim import Claim, by_claim
from wangtimer.executor.verifier import Drop, Send
from wangtimer.store.hot import HotStore

Patches = Callable[[], Sequence[AbstractContextManager[Any]]]


@dataclass(frozen=True, slots=True)
class Rule:
    """`left_out` patches it away; `strikes` are the faults that need it (none: those of the seed, or none at all).

    `needs_fast_clocks` and `calm` are about the run: clocks that may be ahead; no fault.
    """

    name: str
    left_out: Patches
    strikes: tuple[tuple[Kind, str], ...] = ()
    is_calm: bool = False
    clock_behind_ms: tuple[float, float] = (0.0, 30.0)

    @contextmanager
    def without(self) -> Any:
        """Leave the rule out."""
        with ExitStack() as stack:
            for one in self.left_out():
                stack.enter_context(one)
            yield


def attribute(target: object, name: str, value: object) -> Patches:
    """Replace one attribute."""
    return lambda: [patch.object(target, name, value)]


# executor


def _is_doubtful_without(reason: str) -> Callable[..., bool]:
    def is_doubtful(self: Any, due: DueMember, suspects: set[Member]) -> bool:
        reasons = {
            "suspect": due.member in suspects,
            "retry": due.member.attempt > 1 or due.due_at != due.member.fire_at,
            "fresh": due.due_at
            < self._clock.now_ms() - self._slices.seconds_since_reconnect * 1_000 + executor.FRESH_MS,
        }
        return any(holds for name, holds in reasons.items() if name not in reason.split())

    return is_doubtful


def _verify_sql_first(self: Any, slice_: Any, members: Any) -> Any:
    try:
        rows = self.firings.rows(due.member for due in members)
        parked = self.outbox.holds([due.member for due in members])
    except StoreAway:
        return {due.member: self.wait(due) for due in members}
    return _verdicts(self, slice_, members, parked, rows)


def _verify_without_outbox(self: Any, slice_: Any, members: Any) -> Any:
    try:
        rows = self.firings.rows(due.member for due in members)
    except StoreAway:
        return {due.member: self.wait(due) for due in members}
    return _verdicts(self, slice_, members, set(), rows)


def _verdicts(self: Any, slice_: Any, members: Any, parked: set[Member], rows: Any) -> Any:
    return {
        due.member: Drop(None)
        if due.member in parked
        else self._judge(slice_, due, rows.get((due.member.timer_id, due.member.fire_at)))
        for due in members
    }


def _judge_pending_only(self: Any, slice_: Any, due: Any, row: Any) -> Any:
    return Send(row) if row is not None and row.status is FiringStatus.PENDING else Drop(None)


def _send_unverified(self: Any, slice_: Any, members: Any) -> Any:
    try:
        parked = self.outbox.holds([due.member for due in members])
        rows = self.firings.rows(due.member for due in members)
    except StoreAway:
        return {due.member: Drop(None) if False else Send(_row_of(due)) for due in members}
    return _verdicts(self, slice_, members, parked, rows)


def _row_of(due: DueMember) -> Any:
    from wangtimer.core.firing import Firing

    return replace(Firing.planned(due.member.timer_id, due.member.fire_at, 0), attempt=due.member.attempt)


def _drop_without_adding(self: Any, claim: Any, drops: Any) -> None:
    with suppress(StoreAway):
        self._slices.release(by_claim(executor.Held(claim, member) for member in drops))
    claim.let_go(drops)


def _take_redis_word(self: Any, unwanted: Any, verdicts: Any) -> Any:
    known = self.definitions(due.member.timer_id for due in unwanted)
    return {}, {due.member: "disabled" for due in unwanted if due.member.timer_id in known}


def _keeper_believes(self: Any, doubtful: Any, started_at: float) -> None:
    for _, if_mine in doubtful:
        if_mine()


def _release_before_retry(self: Any, batch: Any) -> None:
    outcomes = [finished.outcome for finished in batch]
    if not self._write(outcomes):
        self._outbox.park(outcomes)
    try:
        self._slices.release(by_claim(finished.held for finished in batch))
        self._hot.add([outcome.retry_firing() for outcome in outcomes if outcome.is_retry])
    except StoreAway:
        pass
    for finished in batch:
        finished.held.claim.let_go([finished.held.member])


def _release_before_record(self: Any, batch: Any) -> None:
    with suppress(StoreAway):
        self._slices.release(by_claim(finished.held for finished in batch))
    outcomes = [finished.outcome for finished in batch]
    if not self._write(outcomes):
        self._outbox.park(outcomes)
    with suppress(StoreAway):
        self._hot.add([outcome.retry_firing() for outcome in outcomes if outcome.is_retry])
    for finished in batch:
        finished.held.claim.let_go([finished.held.member])


def _never_park(self: Any, outcomes: Any) -> bool:
    self._clock.sleep(0.001)
    with suppress(StoreAway):
        self._firings.settle(outcomes)
    return True


# slices


def _add_without(rule: str) -> Callable[..., None]:
    def add(self: Any, sets: Sets, due: DueMember, is_repair: bool) -> None:
        is_held = sets.holds(due.member) if rule != "look" else due.member in sets.due
        if is_held:
            return
        now = self._latest() if rule != "server time" else self._now()
        is_near = due.due_at <= now + self._leases.lead_ms
        if is_near and rule != "suspect":
            sets.suspect.add(due.member)
        wait_ms = self._leases.running_ms if is_near and is_repair and rule != "delay" else 0
        sets.due[due.member] = due.due_at + wait_ms

    return add


def _take_back_unsuspected(self: Any, slice_: Any, held: dict[Member, int]) -> None:
    sets, now = self._written(slice_), self._now()
    for member in memory_slices._first_until(held, now, memory_slices.TAKEN_BACK_A_TURN):
        del held[member]
        sets.owner.pop(member, None)
        sets.due[member] = member.fire_at if member.attempt == 1 else now


def _anybodys(claim_id: str, sets: Sets, members: Sequence[Member]) -> list[Member]:
    for member in members:
        if member in sets.running:
            sets.owner.setdefault(member, claim_id)
    return [member for member in members if member in sets.running]


def _renew_to_any_end(self: Any, held: Any) -> Any:
    def work() -> Any:
        mine = {}
        for (slice_, claim_id), members in held.items():
            sets = self._read(slice_)
            mine[slice_, claim_id] = set(memory_slices._of(claim_id, sets, members))
            for member in mine[slice_, claim_id] & sets.running.keys():
                sets.running[member] = self._now() + self._leases.running_ms
        return mine

    return self._server.call(work)


def _claim_once(self: Any, slice_: Any, claim_id: str, members: Any) -> Any:
    def work() -> Any:
        sets = self._written(slice_)
        taken = []
        for member in members:
            if sets.armed.pop(member, None) is not None:
                sets.running[member] = self._now() + self._leases.running_ms
                sets.owner[member] = claim_id
                taken.append(memory_slices.Taken(member, member in sets.suspect, sets.deaths.get(member, 0)))
        return taken

    return self._server.call(work)


def _claim_anything(self: Any, slice_: Any, claim_id: str, members: Any) -> Any:
    def work() -> Any:
        sets = self._written(slice_)
        for member in members:
            sets.armed.pop(member, None)
            sets.running[member] = self._now() + self._leases.running_ms
            sets.owner[member] = claim_id
        return [memory_slices.Taken(member, member in sets.suspect) for member in members]

    return self._server.call(work)


# agenda


def _agenda_add_keeping_marks(self: Any, needs: Any) -> None:
    def work() -> None:
        for slice_, moment in needs:
            self._bring_forward(slice_, moment)

    self._server.call(work)


def _set_moment(self: Any, slice_: Any, moment: int) -> None:
    self._entries[slice_] = moment


def _close_at_once(self: Any, watch: Any) -> None:
    """Look first, then strike the entry out: without the mark."""

    def close() -> None:
        need = self.slices.next_need(watch.slice)
        self.agenda.begin_closing(watch.slice, watch.token, int(self.clock.now_ms()))
        self.agenda.finish_closing(watch.slice, watch.token, need)
        self.slices.unlock(watch.slice, watch.token)

    self._quietly(close)


def _agenda_first(self: Any, firings: Any, is_repair: bool = False) -> None:
    from wangtimer.store import hot

    by_slice = hot._by_slice(firings)
    if by_slice:
        needs = [(slice_, hot._first(members) - self._lead_ms) for slice_, members in by_slice.items()]
        self._retry(lambda: self._agenda.add(needs))
        self._retry(lambda: self._slices.add(by_slice, is_repair))


def _add_once(self: Any, step: Callable[[], Any]) -> Any:
    return step()


# planning


def _same_but_for_version(timer: Timer | None, read: Timer) -> bool:
    return timer is not None


def _enable_from_now(self: Any, timer: Timer, now: int) -> Any:
    near = registrar.plan(timer.planned_from(now), now + self.near.near_ms, self.near.most)
    return near, registrar.firings_of([near], {}, self.buckets)


def _enable_from_mark(self: Any, timer: Timer, now: int) -> Any:
    near = registrar.plan(timer, now + self.near.near_ms, self.near.most)
    return near, registrar.firings_of([near], {}, self.buckets)


def _return_all_planned(table: Any, planned: Any) -> Any:
    for firing in planned:
        row = replace(firing, status=FiringStatus.PENDING)
        table.setdefault(
            memory_firings._key(firing), memory_firings.FiringRecord(row, None, None, None, None, "", "")
        )
    return list(planned)


def _definitions_overwrite(self: Any, definitions: Any) -> None:
    def work() -> None:
        expires_at = self._clock.monotonic() + self._seconds_to_live
        for one in definitions:
            self._server.table("definitions")[one.timer_id] = one, expires_at

    self._server.call(work)


# repairs


def _forget_then_settle(self: Any) -> int:
    flushed = 0
    while texts := self.outbox.page(sweeper.PAGE):
        outcomes = self.outbox.read(texts)
        self.outbox.forget(texts)
        self.firings.settle(outcomes)
        self.hot.add([outcome.retry_firing() for outcome in outcomes if outcome.is_retry], is_repair=True)
        flushed += len(texts)
    return flushed


def _flush_without_retry(self: Any) -> int:
    flushed = 0
    while texts := self.outbox.page(sweeper.PAGE):
        self.firings.settle(self.outbox.read(texts))
        self.outbox.forget(texts)
        flushed += len(texts)
    return flushed


def _sweep_only_flush(self: Any) -> int:
    return self.flush()


def _epoch_first(self: Any, token: str) -> bool:
    def work() -> bool:
        if "epoch" in self._epoch:
            return False
        self._epoch["epoch"] = token
        return True

    return self._server.call(work)


def _settle_where(condition: Callable[[Any, Any], bool]) -> Patches:
    return attribute(memory_firings, "_takes_effect", condition)


def _is_pending(row: Any, outcome: Any) -> bool:
    return row.status is FiringStatus.PENDING


LOSSES = (Kind.REDIS_LOSS, Kind.REDIS_ROLLBACK)
HELD_UP = ((Kind.FREEZE_BEFORE, "slices.claim"), (Kind.FREEZE_AFTER, "slices.claim"))
FROZEN_SENDERS = (
    (Kind.FREEZE_AFTER, "target.send"),
    (Kind.FREEZE_BEFORE, "firings.settle"),
    (Kind.FREEZE_AFTER, "definitions.get"),
    (Kind.FREEZE_AFTER, "slices.claim"),
)


def _strikes(kinds: Sequence[Kind], *labels: str) -> tuple[tuple[Kind, str], ...]:
    return tuple((kind, label) for kind in kinds for label in labels)


RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            "suspects are verified",
            attribute(executor.Executor, "_is_doubtful", _is_doubtful_without("suspect")),
        ),
        Rule(
            "retries are verified",
            attribute(executor.Executor, "_is_doubtful", _is_doubtful_without("retry")),
        ),
        Rule(
            "all is verified after a reconnect",
            attribute(executor.Executor, "_is_doubtful", _is_doubtful_without("fresh")),
            _strikes([Kind.REDIS_ROLLBACK], "firings.settle", "slices.release", "slices.claim"),
        ),
        Rule(
            "what is taken back is suspect",
            attribute(MemorySlices, "_take_back", _take_back_unsuspected),
        ),
        Rule(
            "what is added near its moment is suspect",
            attribute(MemorySlices, "_add", _add_without("suspect")),
        ),
        Rule(
            "nearness counts by the server's time too",
            attribute(MemorySlices, "_add", _add_without("server time")),
            _strikes([Kind.LATE, Kind.FREEZE_BEFORE], "slices.add"),
        ),
        Rule(
            "a late renewal shortens no lease",
            attribute(MemorySlices, "renew", _renew_to_any_end),
            _strikes([Kind.LATE], "slices.renew"),
        ),
        Rule("add looks into armed and running", attribute(MemorySlices, "_add", _add_without("look"))),
        Rule(
            "a repair waits a running lease",
            attribute(MemorySlices, "_add", _add_without("delay")),
            _strikes(LOSSES, "target.send", "slices.renew", "slices.claim"),
        ),
        Rule("owner fence", attribute(memory_slices, "_of", _anybodys), FROZEN_SENDERS),
        Rule(
            "own check of the lease before the send",
            attribute(Claim, "is_safe", lambda self, member, now, lease_s: member in self._open),
            FROZEN_SENDERS,
        ),
        Rule("the keeper asks Redis", attribute(keeper.Keeper, "_answer", _keeper_believes), FROZEN_SENDERS),
        Rule(
            "a claim is repeatable by its id",
            attribute(MemorySlices, "claim", _claim_once),
            _strikes([Kind.ERROR_APPLIED, Kind.TWICE], "slices.claim"),
        ),
        Rule(
            "only what is armed is claimed",
            attribute(MemorySlices, "claim", _claim_anything),
            _strikes([Kind.DOUBLE, Kind.DELAY], "send.chunk"),
        ),
        Rule("settle: only while pending", _settle_where(lambda row, outcome: True), FROZEN_SENDERS),
        Rule("settle: only at its attempt", _settle_where(_is_pending), FROZEN_SENDERS),
        Rule(
            "the retry is added before the release",
            attribute(settler.Settler, "_settle", _release_before_retry),
            _strikes([Kind.CRASH_AFTER, Kind.CRASH_BEFORE, Kind.FREEZE_AFTER], "slices.release"),
        ),
        Rule("recorded before the release", attribute(settler.Settler, "_settle", _release_before_record)),
        Rule(
            "outcomes are parked while SQL is away",
            attribute(settler.Settler, "_write", _never_park),
            _strikes([Kind.SQL_DOWN], "target.send", "firings.settle"),
        ),
        Rule(
            "the outbox is read before SQL",
            attribute(verifier.Verifier, "verify", _verify_sql_first),
            _strikes([Kind.SQL_DOWN, Kind.SQL_HANG], "target.send", "firings.settle"),
        ),
        Rule(
            "the outbox is read",
            attribute(verifier.Verifier, "verify", _verify_without_outbox),
            _strikes([Kind.SQL_DOWN, Kind.SQL_HANG], "target.send", "firings.settle"),
        ),
        Rule("verified: attempt, place, moment", attribute(verifier.Verifier, "_judge", _judge_pending_only)),
        Rule(
            "what cannot be verified waits",
            attribute(verifier.Verifier, "verify", _send_unverified),
            _strikes([Kind.SQL_DOWN, Kind.SQL_HANG], "target.send", "firings.settle"),
        ),
        Rule(
            "what stands elsewhere is added there",
            attribute(executor.Executor, "_drop", _drop_without_adding),
        ),
        Rule("skipped on SQL's word alone", attribute(wanted.Wanted, "second_opinion", _take_redis_word)),
        Rule(
            "renewing ends",
            attribute(executor, "MARGIN_S", 10_000.0),
            is_calm=True,
        ),
        Rule("adders clear the closing mark", attribute(MemoryAgenda, "add", _agenda_add_keeping_marks)),
        Rule("closing looks after its mark is set", attribute(trigger.Trigger, "_close", _close_at_once)),
        Rule("adders only bring forward", attribute(MemoryAgenda, "_bring_forward", _set_moment)),
        Rule("slice first, agenda second", attribute(HotStore, "add", _agenda_first)),
        Rule("add is tried again", attribute(HotStore, "_retry", _add_once)),
        Rule(
            "a lost slice is loaded again", attribute(trigger.Trigger, "_reload", lambda self, slice_: False)
        ),
        Rule(
            "no lease is taken back right after a reconnect",
            attribute(trigger, "GRACE_S", 0.0),
            _strikes([Kind.REDIS_DOWN, Kind.REDIS_HANG], "target.send", "slices.renew", "slices.turn"),
        ),
        Rule(
            "nothing is armed while the queue is long",
            attribute(fleet, "QUEUE_MOST", 10**9),
            _strikes([Kind.CRASH_AFTER], "slices.turn"),
        ),
        Rule(
            "a plan holds only while its timer is as read",
            attribute(memory_timers, "_is_as_read", _same_but_for_version),
        ),
        Rule(
            "enabling plans from where planning stands",
            attribute(registrar.Registrar, "_plan_near", _enable_from_now),
        ),
        Rule(
            "enabling plans nothing of the past",
            attribute(registrar.Registrar, "_plan_near", _enable_from_mark),
        ),
        Rule(
            "switching off plans what came due",
            attribute(
                registrar.Registrar, "_plan_past", lambda self, timer, now: (registrar.plan(timer, 0, 1), [])
            ),
            _strikes([Kind.BEATS_STOP], "timers.enable", "agenda.needs_until"),
        ),
        Rule(
            "planning adds what the table holds",
            attribute(memory_timers, "insert_missing", _return_all_planned),
        ),
        Rule(
            "only newer definitions are written", attribute(MemoryDefinitions, "put", _definitions_overwrite)
        ),
        Rule("flush: settle before forgetting", attribute(sweeper.Sweeper, "flush", _forget_then_settle)),
        Rule("flush adds retries", attribute(sweeper.Sweeper, "flush", _flush_without_retry)),
        Rule("the sweep", attribute(sweeper.Sweeper, "sweep", _sweep_only_flush)),
        Rule("reconcile", attribute(sweeper.Sweeper, "reconcile", lambda self: 0)),
        Rule(
            "rehydrate",
            attribute(sweeper.Sweeper, "rehydrate", lambda self: 0),
            _strikes(LOSSES, "slices.turn"),
        ),
        Rule("the epoch is set last", attribute(MemoryAgenda, "begin_load", _epoch_first)),
        Rule("the clock is a lower bound", list, clock_behind_ms=(-30.0, 30.0), is_calm=True),
    )
}
