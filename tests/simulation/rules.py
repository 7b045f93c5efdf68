"""The rules of the protocols that can be left out one at a time, each as a small patch of the real code or its stores.

A rule that can go without any run breaking a promise carries no weight, or another defence stands behind it: then
`together_with` names what must be left out as well, and the rule alone decides between right and wrong.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

from tests.fakes import memory_firings, memory_timers
from tests.simulation import fleet, judge, simulator
from tests.simulation import without_executor_rules as in_executor
from tests.simulation import without_repair_rules as in_repairs
from tests.simulation import without_store_rules as in_stores
from tests.simulation.fault import DURATIONS_MS, RARE, ROLLBACK_DEPTHS_MS, TYPICAL, Fault, Kind
from tests.simulation.scenario import (
    Scenario,
    draw_crowded_minute,
    draw_demands,
    draw_failing_targets,
    draw_limited_app,
    draw_limited_host,
    draw_many_migrators,
    draw_pauses,
    draw_scenario,
    draw_slow_targets,
    draw_slow_targets_each_second,
    draw_switched_off,
    draw_switched_off_and_on,
)
from tests.simulation.simulator import ProcessClock
from wangtimer.base.settings import Settings
from wangtimer.core.flow import limits
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.timer import Definition
from wangtimer.executor import claimer, executor, keeper, settler, throttle, verifier, waits, wanted
from wangtimer.executor import judge as executor_judge
from wangtimer.executor.claim import Claim
from wangtimer.store import refresher
from wangtimer.store.hot import HotStore
from wangtimer.store.redis import clock as redis_clock
from wangtimer.testing.doubles import memory_permits, memory_slices
from wangtimer.testing.doubles.memory_agenda import MemoryAgenda
from wangtimer.testing.doubles.memory_definitions import MemoryDefinitions
from wangtimer.testing.doubles.memory_slices import MemorySlices
from wangtimer.testing.doubles.memory_window import MemoryWindow
from wangtimer.timers import registrar
from wangtimer.window import feeder, sweeper, trigger

Patches = Callable[[], Sequence[AbstractContextManager[Any]]]
Strikes = tuple[tuple[Kind, str], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """`left_out` patches it away; `strikes` are the faults that need it (none: those of the seed, or none at all).

    Besides, one of each of `then` strikes; all at one of the first so many steps of their kind.
    `together_with` are rules that hide this one's absence. `setting` is how the world must be for it to matter, with
    the rule or without, and `draw` what is asked of it. `worse` names a field of `Run` that tells what the rule
    spares where no promise is broken.
    """

    name: str
    left_out: Patches
    strikes: Strikes = ()
    then: tuple[Strikes, ...] = ()
    among_first: int | None = None
    worse: str = ""
    together_with: tuple[str, ...] = ()
    setting: Patches = list
    draw: Callable[[Random], Scenario] = draw_scenario
    is_calm: bool = False
    clock_behind_ms: tuple[float, float] = (0.0, 30.0)

    def faults(self, seed: int) -> list[Fault] | None:
        """Return what strikes in the run of a seed: every other one what needs the rule; None: the seed's own."""
        if self.is_calm:
            return []
        if not self.strikes or seed % 2:
            return None
        random = Random(seed)
        return [_draw(strikes, random, self.among_first) for strikes in (self.strikes, *self.then)]

    @contextmanager
    def around(self) -> Iterator[None]:
        """Leave out what hides the rule, in the world where it matters; the rule itself holds."""
        with ExitStack() as stack:
            for patches in (self.setting, *(RULES[name].left_out for name in self.together_with)):
                for one in patches():
                    stack.enter_context(one)
            yield

    @contextmanager
    def without(self) -> Iterator[None]:
        """Leave the rule out as well."""
        with self.around(), ExitStack() as stack:
            for one in self.left_out():
                stack.enter_context(one)
            yield


def _draw(strikes: Strikes, random: Random, among_first: int | None) -> Fault:
    kind, label = random.choice(strikes)
    return Fault(
        kind,
        label,
        nth=random.randint(1, among_first or (RARE | TYPICAL)[label]),
        lasts_ms=random.choice(DURATIONS_MS.get(kind, (0,))),
        depth_ms=random.choice(ROLLBACK_DEPTHS_MS) if kind is Kind.REDIS_ROLLBACK else 0,
        shard=random.choice((0, 1, None)) if kind in LOSSES else None,
    )


def attribute(target: object, name: str, value: object) -> Patches:
    """Replace one attribute."""
    return lambda: [patch.object(target, name, value)]


def each(*patches: Patches) -> Patches:
    """Replace several."""
    return lambda: [one for some in patches for one in some()]


def _verify_but(*reasons: str) -> Patches:
    return lambda: [
        patch.object(executor_judge, "_may_have_been_sent", in_executor.may_have_been_sent),
        patch.dict(in_executor.unheeded, dict.fromkeys(reasons, True)),
    ]


def _judge(check: str) -> Patches:
    return attribute(verifier.Verifier, "_judge", in_executor.judge_without(check))


def _add(rule: str) -> Patches:
    return attribute(MemorySlices, "_add", in_stores.add_without(rule))


def _as_read(*what: str) -> Patches:
    return lambda: [
        patch.object(memory_timers, "_is_as_read", in_repairs.is_as_read),
        patch.dict(in_repairs.unheeded, dict.fromkeys(what, True)),
    ]


def _settle_where(condition: Callable[[Any, Any], bool]) -> Patches:
    return attribute(memory_firings, "_takes_effect", condition)


def _strikes(kinds: Sequence[Kind], *labels: str) -> Strikes:
    return tuple((kind, label) for kind in kinds for label in labels)


LOSSES = (Kind.REDIS_LOSS, Kind.REDIS_ROLLBACK)
CRASHES = (Kind.CRASH_BEFORE, Kind.CRASH_AFTER)
SQL_AWAY = (Kind.SQL_DOWN, Kind.SQL_HANG)
REDIS_AWAY = (Kind.REDIS_DOWN, Kind.REDIS_HANG)
FREEZES = (Kind.FREEZE_BEFORE, Kind.FREEZE_AFTER)
FROZEN_SENDERS = (
    (Kind.FREEZE_AFTER, "target.send"),
    (Kind.FREEZE_BEFORE, "firings.settle"),
    (Kind.FREEZE_AFTER, "definitions.get_first"),
    (Kind.FREEZE_AFTER, "slices.claim"),
)
# So that runs in which one process notices a step seconds before another are not one in thousands.
STEPS_SEEN_LATE = each(
    attribute(simulator, "WITH_SCRIPTS_S", 6.0), attribute(judge, "UNKNOWN_STEP_MS", 12_000)
)
CLOCK_LABELS = ("slices.turn", "slices.claim", "slices.renew", "target.send", "firings.settle")
UNANSWERED_ADDS = _strikes([Kind.LATE, Kind.FREEZE_BEFORE], "slices.add")
STALE_PLANS = _strikes([*FREEZES, Kind.LATE], "timers.commit_plans", "load.reserve") + _strikes(
    [Kind.FREEZE_AFTER], "timers.to_plan"
)
BOTH_PLANNERS_FROZEN = _strikes([Kind.FREEZE_BEFORE], "timers.commit_plans")
# What enabling plans ends before the timer is on again.
PLANS_NEAR = attribute(fleet, "SETTINGS", Settings.model_construct(step_s=60, near_s=5))
# As outside of simulations: a minute has been fed by the time it is compared.
FED_BEFORE_IT_IS_COMPARED = attribute(
    fleet, "SETTINGS", Settings.model_construct(step_s=60, plan_every_s=10, window_s=90, window_memory_mb=0)
)
UNFENCED = "a plan holds only while its timer is as read"
NO_SWEEP = ("the sweep", "reconcile")
NO_SWEEP_OR_RELOAD = (*NO_SWEEP, "a lost slice is loaded again")

_EXECUTOR = (
    Rule("suspects are verified", _verify_but("suspect"), _strikes([Kind.LATE], "slices.add"), among_first=2),
    Rule(
        "retries are verified",
        _verify_but("retry"),
        _strikes([Kind.SQL_DOWN], "firings.settle"),
        among_first=2,
        draw=draw_failing_targets,
    ),
    Rule(
        "all is verified after a reconnect",
        _verify_but("fresh"),
        _strikes([Kind.REDIS_ROLLBACK], "firings.settle", "slices.release", "slices.claim"),
    ),
    Rule("what may have been sent is verified", _verify_but("suspect", "retry", "fresh")),
    Rule(
        "own check of the lease before the send",
        attribute(Claim, "is_safe", lambda self, member, now, lease_s: member in self._open),
        FROZEN_SENDERS,
    ),
    Rule("the keeper asks Redis", attribute(keeper.Keeper, "ask", in_executor.ask_nobody), FROZEN_SENDERS),
    Rule(
        "a renewal soon gives up",
        attribute(fleet, "KEEPER_TIMEOUT_MS", 8_000),
        _strikes([Kind.LATE, Kind.ERROR], "slices.renew"),
    ),
    Rule("settle: only while pending", _settle_where(lambda row, outcome: True), FROZEN_SENDERS),
    Rule(
        "settle: only at its attempt",
        _settle_where(lambda row, outcome: row.status is FiringStatus.PENDING),
        _strikes([Kind.LATE, *FREEZES], "firings.settle"),
        among_first=3,
    ),
    Rule(
        "the retry is added before the release",
        attribute(settler.Settler, "_settle", in_executor.release_before_retry),
        _strikes([Kind.CRASH_AFTER, Kind.CRASH_BEFORE, Kind.FREEZE_AFTER], "slices.release"),
        together_with=NO_SWEEP,
    ),
    Rule(
        "recorded before the release",
        attribute(settler.Settler, "_settle", in_executor.release_before_record),
    ),
    Rule(
        "outcomes are parked while SQL is away",
        attribute(settler.Settler, "_write", in_executor.never_park),
        _strikes([Kind.SQL_DOWN], "target.send", "firings.settle"),
    ),
    Rule(
        "the outbox is read before SQL",
        attribute(verifier.Verifier, "read", in_executor.read_sql_first),
        _strikes([Kind.SQL_DOWN], "firings.settle"),
        then=(
            _strikes([Kind.BEATS_STOP], "firings.settle"),
            _strikes([Kind.CRASH_BEFORE], "slices.release"),
            _strikes([Kind.FREEZE_AFTER], "firings.rows"),
        ),
        among_first=1,
        draw=draw_crowded_minute,
    ),
    Rule(
        "the outbox is read",
        attribute(verifier.Verifier, "read", in_executor.read_without_outbox),
        _strikes(SQL_AWAY, "target.send", "firings.settle"),
    ),
    Rule("verified: attempt, slice, moment", _judge("attempt slice moment")),
    Rule("verified: the attempt", _judge("attempt"), FROZEN_SENDERS),
    Rule(
        "verified: the slice",
        _judge("slice"),
        STALE_PLANS,
        together_with=("the bucket is the row's", UNFENCED),
        draw=draw_slow_targets,
    ),
    Rule(
        "sent at the row's moment",
        attribute(executor_judge, "_moment", lambda due, _: due.due_at),
        _strikes([Kind.DRAIN], "slices.claim", "target.send", "firings.settle"),
        together_with=("verified: the moment",),
        draw=draw_failing_targets,
    ),
    Rule(
        "verified: the moment",
        _judge("moment"),
        _strikes([Kind.DRAIN], "slices.claim", "target.send", "firings.settle"),
        together_with=("sent at the row's moment",),
        draw=draw_failing_targets,
    ),
    Rule(
        "what cannot be verified waits",
        attribute(verifier.Verifier, "verify", in_executor.send_unverified),
        _strikes([Kind.CRASH_BEFORE], "slices.release"),
        then=(_strikes(SQL_AWAY, "slices.release"),),
        among_first=2,
    ),
    Rule(
        "what waits is put back for seconds",
        attribute(verifier.Verifier, "wait", in_executor.wait_no_time),
        _strikes(SQL_AWAY, "firings.rows", "target.send", "firings.settle"),
    ),
    Rule(
        "what stands elsewhere is added there",
        attribute(claimer.Claimer, "drop", in_executor.drop_without_adding),
        _strikes([Kind.REDIS_ROLLBACK], "firings.rows", "firings.settle"),
        together_with=(*NO_SWEEP_OR_RELOAD, "after a reconnect the window is fed again"),
    ),
    Rule(
        "skipped on SQL's word alone",
        attribute(wanted.Wanted, "rule", in_executor.take_redis_word),
    ),
    Rule("renewing ends", attribute(claimer, "MARGIN_S", 10_000.0), is_calm=True),
    Rule(
        "a slow target holds no thread",
        attribute(executor, "PATIENCE_S", 10_000.0),
        setting=attribute(fleet, "EXECUTOR_THREADS", 1),
        is_calm=True,
    ),
)

_SLICES = (
    Rule(
        "what is taken back is suspect",
        attribute(MemorySlices, "_take_back", in_stores.take_back_unsuspected),
        _strikes(CRASHES, "slices.release"),
        among_first=2,
    ),
    Rule(
        "what is added near its moment is suspect",
        _add("suspect"),
        _strikes([Kind.LATE], "slices.add"),
        among_first=2,
    ),
    Rule(
        "what is armed at once and past is suspect",
        attribute(MemorySlices, "arm_now", in_stores.arm_now_unsuspected),
        _strikes([Kind.LATE], "slices.arm_now"),
        among_first=2,
        together_with=("what is taken back is suspect",),
    ),
    Rule(
        "nearness counts by the server's time too",
        _add("server time"),
        _strikes([Kind.LATE], "slices.add"),
        among_first=2,
    ),
    Rule(
        "a late renewal shortens no lease",
        attribute(MemorySlices, "renew", in_stores.renew_to_any_end),
        _strikes([Kind.LATE], "slices.renew"),
    ),
    Rule("add looks into armed and running", _add("look")),
    Rule("add changes nothing that is due", _add("look in due"), worse="all_late_ms"),
    Rule("an attempt is a member of its own", _add("attempt")),
    Rule(
        "a repair waits a running lease",
        _add("delay"),
        _strikes(LOSSES, "target.send"),
        worse="second_sends",
        draw=draw_slow_targets,
    ),
    Rule(
        "owner fence",
        attribute(memory_slices, "_of", in_stores.anybodys),
        FROZEN_SENDERS,
    ),
    Rule(
        "a claim is repeatable by its id",
        attribute(MemorySlices, "claim", in_stores.claim_once),
        _strikes([Kind.ERROR_APPLIED, Kind.TWICE], "slices.claim"),
        worse="late_ms",
    ),
    Rule(
        "only what is armed is claimed",
        attribute(MemorySlices, "claim", in_stores.claim_anything),
        _strikes([Kind.DOUBLE, Kind.DELAY], "send.chunk"),
    ),
    Rule(
        "credit counts only what is armed",
        attribute(MemorySlices, "_arm", in_stores.arm_by_all_in_hand),
        is_calm=True,
    ),
    Rule("a trigger only for a free slice", attribute(MemorySlices, "lock", in_stores.lock_anyhow)),
)

_CLOCK = (
    Rule(
        "a clock that was put back is noticed",
        attribute(redis_clock.Sample, "contradicts", lambda self, other: False),
        _strikes([Kind.REDIS_CLOCK_BACK], *CLOCK_LABELS),
    ),
    Rule(
        "leases are taken back by the earlier clock",
        attribute(ProcessClock, "earliest_ms", ProcessClock.now_ms),
        _strikes([Kind.REDIS_CLOCK_AHEAD], *CLOCK_LABELS),
        draw=draw_slow_targets,
    ),
    Rule(
        "leases are written by the later clock",
        attribute(ProcessClock, "latest_ms", ProcessClock.now_ms),
        _strikes([Kind.EXECUTORS_STOP], "timers.enable"),
        then=(_strikes([Kind.REDIS_CLOCK_BACK], "slices.claim"),),
        among_first=1,
        setting=STEPS_SEEN_LATE,
        draw=draw_slow_targets_each_second,
    ),
    Rule("the clock is a lower bound", list, clock_behind_ms=(-30.0, 30.0), is_calm=True),
)

_AGENDA = (
    Rule(
        "adders clear the closing mark",
        attribute(MemoryAgenda, "add", in_stores.agenda_add_keeping_marks),
        _strikes([Kind.FREEZE_AFTER], "slices.next_need"),
        together_with=NO_SWEEP,
        draw=draw_crowded_minute,
    ),
    Rule(
        "closing looks after its mark is set",
        attribute(trigger.Trigger, "_close", in_stores.close_at_once),
        _strikes([Kind.FREEZE_AFTER], "slices.next_need"),
        together_with=NO_SWEEP,
        draw=draw_crowded_minute,
    ),
    Rule(
        "closing leaves an entry until it has looked",
        attribute(MemoryAgenda, "begin_closing", in_stores.put_out_of_sight),
        _strikes([*CRASHES, *FREEZES], "slices.next_need", "agenda.finish_closing", "agenda.begin_closing"),
        together_with=NO_SWEEP,
    ),
    Rule(
        "adders only bring forward",
        attribute(MemoryAgenda, "_bring_forward", in_stores.set_moment),
        _strikes([*FREEZES, Kind.LATE], "agenda.add"),
        together_with=NO_SWEEP,
    ),
    Rule(
        "slice first, agenda second",
        attribute(HotStore, "add_all", in_stores.agenda_first),
        _strikes(FREEZES, "slices.add"),
        together_with=NO_SWEEP,
    ),
    Rule(
        "add is tried again",
        attribute(HotStore, "_retry", in_stores.add_once),
        _strikes([Kind.ERROR], "slices.add", "agenda.add"),
        together_with=NO_SWEEP,
    ),
    Rule(
        "repairs add and never ask",
        attribute(HotStore, "add_all", in_stores.add_only_what_is_missing),
        _strikes([Kind.CRASH_AFTER, Kind.CRASH_BEFORE], "slices.add", "agenda.add"),
    ),
    Rule(
        "a lost slice is loaded again",
        attribute(trigger.SliceReload, "reload", lambda self, slice_: False),
        _strikes(LOSSES, "slices.turn", "agenda.needs_until", "slices.lock"),
        together_with=NO_SWEEP,
    ),
    Rule(
        "no lease is taken back right after a reconnect",
        attribute(trigger, "GRACE_S", 0.0),
        _strikes(REDIS_AWAY, "target.send"),
        worse="second_sends",
        draw=draw_slow_targets,
    ),
    Rule(
        "nothing is armed while the queue is long",
        attribute(fleet, "QUEUE_MOST", 10**9),
        _strikes([Kind.EXECUTORS_STOP], "timers.enable", "timers.to_plan"),
    ),
    Rule(
        "an idle minute holds no thread",
        each(attribute(trigger, "IDLE_AHEAD_MS", 10**9), attribute(trigger, "RUNNING_PATIENCE_S", 10.0**6)),
        setting=attribute(fleet, "TRIGGER_THREADS", 1),
        is_calm=True,
    ),
)

_PLANNING = (
    Rule(
        "a plan holds only while its timer is as read",
        _as_read("version", "planned_until", "enabled"),
        BOTH_PLANNERS_FROZEN,
        then=(BOTH_PLANNERS_FROZEN,),
        among_first=2,
        setting=PLANS_NEAR,
        draw=draw_switched_off_and_on,
    ),
    Rule(
        "a plan is of the version read",
        _as_read("version"),
        BOTH_PLANNERS_FROZEN,
        then=(BOTH_PLANNERS_FROZEN,),
        among_first=2,
        together_with=("a plan goes on from where planning stands", "a plan is of an enabled timer"),
        setting=PLANS_NEAR,
        draw=draw_switched_off_and_on,
    ),
    Rule(
        "a plan goes on from where planning stands",
        _as_read("planned_until"),
        BOTH_PLANNERS_FROZEN,
        then=(BOTH_PLANNERS_FROZEN,),
        among_first=2,
        together_with=("a plan is of the version read", "a plan is of an enabled timer"),
        setting=PLANS_NEAR,
        draw=draw_switched_off_and_on,
    ),
    Rule(
        "a plan is of an enabled timer",
        _as_read("enabled"),
        BOTH_PLANNERS_FROZEN,
        then=(BOTH_PLANNERS_FROZEN,),
        among_first=2,
        together_with=("a plan is of the version read", "a plan goes on from where planning stands"),
        setting=PLANS_NEAR,
        draw=draw_switched_off_and_on,
    ),
    Rule(
        "enabling plans from where planning stands",
        attribute(registrar.Registrar, "_plan_near", in_repairs.enable_from_now),
    ),
    Rule(
        "enabling plans nothing of the past",
        attribute(registrar.Registrar, "_plan_near", in_repairs.enable_from_mark),
        _strikes([Kind.BEATS_STOP], "timers.enable"),
        setting=PLANS_NEAR,
        draw=draw_switched_off_and_on,
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
        attribute(memory_timers, "insert_missing", in_repairs.return_all_planned),
        STALE_PLANS,
        together_with=(UNFENCED, "suspects are verified"),
    ),
    Rule(
        "the bucket is the row's",
        attribute(memory_timers, "insert_missing", in_repairs.return_as_planned),
        STALE_PLANS,
        together_with=(UNFENCED,),
    ),
    Rule(
        "disabling stops what was asked for before",
        attribute(Definition, "has_stopped", lambda self, fire_at, asked_at=None: False),
        draw=draw_demands,
    ),
    Rule(
        "only newer definitions are written",
        attribute(MemoryDefinitions, "put", in_repairs.definitions_overwrite),
        _strikes([Kind.LATE], "definitions.put"),
        among_first=2,
        together_with=("the sweep tells Redis of changes",),
        setting=PLANS_NEAR,
        draw=draw_switched_off,
    ),
)

_REPAIRS = (
    Rule(
        "flush: settle before forgetting",
        attribute(sweeper.Sweeper, "flush", in_repairs.forget_then_settle),
        _strikes(SQL_AWAY, "firings.settle"),
        then=(_strikes([*CRASHES, Kind.ERROR], "outbox.forget"),),
        among_first=3,
    ),
    Rule(
        "flush adds retries",
        attribute(sweeper.Sweeper, "flush", in_repairs.flush_without_retry),
        _strikes(SQL_AWAY, "firings.settle"),
        then=(_strikes([Kind.CRASH_AFTER], "outbox.park"),),
        among_first=3,
        together_with=("overdue firings are added", "reconcile", "what stands elsewhere is added there"),
    ),
    Rule(
        "the sweep",
        attribute(sweeper.Sweeper, "sweep", in_repairs.sweep_only_flush),
        _strikes([*LOSSES, *CRASHES], "timers.enable", "slices.release", "agenda.add"),
    ),
    Rule(
        "overdue firings are added",
        attribute(sweeper, "PAGES_A_SWEEP", 0),
        _strikes([*LOSSES, *CRASHES], "timers.enable", "slices.release", "agenda.add"),
    ),
    Rule(
        "the sweep tells Redis of changes",
        attribute(refresher.Refresher, "_tell", lambda self, versions: None),
        _strikes([*CRASHES, Kind.ERROR], "definitions.put", "timers.disable", "timers.delete"),
    ),
    Rule(
        "after a reconnect the window is fed again",
        attribute(MemoryWindow, "next", in_stores.next_as_the_marks_say),
        _strikes(REDIS_AWAY, "timers.enable", "slices.add", "timers.commit_plans"),
        together_with=("reconcile", "overdue firings are added"),
    ),
    Rule(
        "reconcile",
        attribute(feeder.Feeder, "compare", lambda self: 0),
        _strikes([*LOSSES, *CRASHES, Kind.ERROR], "timers.commit_plans", "slices.add", "agenda.add"),
        together_with=("the sweep",),
        setting=FED_BEFORE_IT_IS_COMPARED,
    ),
    Rule(
        "the window is fed",
        attribute(feeder.Feeder, "feed", lambda self: 0),
        _strikes(LOSSES, "slices.turn"),
        together_with=NO_SWEEP,
    ),
    Rule(
        "one feeds at a time",
        attribute(MemoryWindow, "next", in_stores.next_though_another_feeds),
        _strikes(LOSSES, "agenda.needs_until", "slices.turn"),
        then=(_strikes(FREEZES, "window.keep", "firings.tallies", "slices.needs_of_same"),),
        draw=draw_many_migrators,
    ),
    Rule(
        "looks of a feeder are told apart",
        attribute(MemoryWindow, "_is_late", lambda self, look: False),
        _strikes(REDIS_AWAY, "window.next", "agenda.needs_until"),
        draw=draw_many_migrators,
    ),
    Rule(
        "a minute is fed once all of it is added",
        attribute(MemoryWindow, "next", in_stores.fed_first),
        _strikes(CRASHES, "window.next", "firings.tallies", "timers.definitions"),
        together_with=NO_SWEEP_OR_RELOAD,
    ),
    Rule(
        "a minute whose Redis was lost is fed again",
        attribute(MemoryWindow, "done", in_stores.done_though_lost),
        _strikes([Kind.REDIS_LOSS], "window.done", "slices.add"),
        together_with=NO_SWEEP_OR_RELOAD,
    ),
    Rule(
        "adders look at the mark after their commit",
        attribute(HotStore, "in_window", in_stores.in_window_by_an_earlier_mark),
        _strikes([*FREEZES, Kind.LATE], "timers.commit_plans"),
        together_with=NO_SWEEP_OR_RELOAD,
    ),
    Rule(
        "what is due soon is added whatever is announced",
        attribute(fleet, "ALWAYS_HELD_MS", 0),
        _strikes([Kind.REDIS_LOSS], "agenda.needs_until", "window.next"),
        together_with=NO_SWEEP_OR_RELOAD,
    ),
    Rule("ticks outlive a wall clock that is an hour off", attribute(fleet, "EXPIRES_S", 3), is_calm=True),
)

_LIMITS = (
    Rule(
        "a permit outlasts its call",
        attribute(memory_permits, "MARGIN_MS", -9_500),
        _strikes(CRASHES, "target.send", "slices.renew"),
        draw=draw_limited_app,
    ),
    Rule(
        "a limited call has a permit",
        attribute(throttle.Throttle, "may_begin", lambda self, app, host, permits, longest_ms: True),
        draw=draw_limited_app,
    ),
    Rule(
        "a call has a permit of its host too",
        attribute(limits.CallLimits, "lanes_of", lambda self, app, host: [SharedLane.of_limit(app)]),
        draw=draw_limited_host,
    ),
)

_PAUSES = (
    Rule(
        "what is paused is sent to the lane of its pause",
        attribute(waits.Waits, "pause_of", lambda self, held, app, host: None),
        draw=draw_pauses,
    ),
)

RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (*_LIMITS, *_PAUSES, *_EXECUTOR, *_SLICES, *_CLOCK, *_AGENDA, *_PLANNING, *_REPAIRS)
}
