"""A whole deployment of real stages in simulated processes; who uses it, and what it calls."""

import math
from collections.abc import Callable
from contextlib import suppress
from random import Random
from types import SimpleNamespace
from typing import Any

import celeryconfig
from tests.fakes import MemoryDemands, MemoryFiringLists, MemoryFirings, MemoryTimers
from tests.simulation.evidence import Evidence
from tests.simulation.fault import Kind
from tests.simulation.feeders import Feeders, WatchedWindow
from tests.simulation.scenario import APP, HOST, PlannedTimer, Scenario, Wish
from tests.simulation.simulated_engine import Answer, SimulatedEngine
from tests.simulation.simulator import Process, Simulation
from tests.simulation.stepped_store import KEEPER_TIMEOUT_MS, SteppedStore
from wangtimer.callback import Request
from wangtimer.callback.permits import NoLimits, Permits
from wangtimer.core.errors import Conflict, InvalidInput, StoreAway, UnknownFiring, UnknownTimer
from wangtimer.core.flow.call_rules import CallRules
from wangtimer.core.flow.credit import Credits
from wangtimer.core.flow.firing import Chunk
from wangtimer.core.flow.pace import Pace
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.planning import Ahead
from wangtimer.core.flow.slicing import MINUTE_MS, BucketRule, TriggerOrder
from wangtimer.core.timers.timer import NewTimer, Notify
from wangtimer.executor import Executor, FireRule
from wangtimer.executor.asker import Asker
from wangtimer.executor.claim import Claims
from wangtimer.executor.keeper import Keeper
from wangtimer.executor.known_rules import KnownRules
from wangtimer.executor.mover import Mover
from wangtimer.executor.puller import Puller
from wangtimer.executor.settler import Settler
from wangtimer.executor.throttle import Throttle
from wangtimer.executor.verifier import Verifier
from wangtimer.executor.wanted import Wanted
from wangtimer.feeder import Feeder
from wangtimer.lane_feeder import LaneFeeder
from wangtimer.migrator import Migrator, PlanRule
from wangtimer.on_demand import OnDemand
from wangtimer.registrar import NearRule, Registrar
from wangtimer.scheduler import Scheduler
from wangtimer.settings import FEED_EVERY_S, RECONCILE_EVERY_S, Settings
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.lane_budget import BYTES_A_FIRING, LaneBudget
from wangtimer.store.redis.slices import Leases
from wangtimer.store.redis.told_rules import ToldForCalls
from wangtimer.store.redis.window import WindowRule
from wangtimer.sweeper import Sweeper
from wangtimer.teller import Teller
from wangtimer.testing.doubles import (
    MemoryAgenda,
    MemoryCallLimits,
    MemoryCallRules,
    MemoryDefinitions,
    MemoryLanes,
    MemoryLoad,
    MemoryOutbox,
    MemoryPermits,
    MemorySlices,
    MemoryToldForCalls,
    MemoryWindow,
    NeverSigned,
)
from wangtimer.testing.doubles.hand_clock import START_MS
from wangtimer.trigger import ArmRule, Trigger

# A step of a minute, so that a run of two minutes plans many times; seldom, so that timers wait for it.
# Redis holds half a minute ahead, so that most firings come there by the feeder; adders add what is nearer than this.
SETTINGS = Settings.model_construct(step_s=60, plan_every_s=10, window_s=30, window_memory_mb=0)
ALWAYS_HELD_MS = 10_000
TRIGGER_THREADS, EXECUTOR_THREADS = 4, 3
# Celery beat's own pace, and what `wangtimer.tasks` lets through.
SAME_TICK_S = 0.3
# Ticks are the only messages with a moment of their sender's wall clock; the receiver holds its own against it.
EXPIRES_S = min(entry["options"]["expires"] for entry in celeryconfig.beat_schedule.values())
WISH_TRIES = 6
SNAPSHOT_EVERY_MS = 150
# How long a slow call of a limited app takes: it ends within its time-out although its process was frozen for a lease.
LIMITED_MS = (1_000, 2_000, 4_000)
# Chunks in the callback queue above which nothing is armed: few, for the runs are small.
QUEUE_MOST = 5


class Stores:
    """The stores as one process reaches them."""

    def __init__(self, fleet: "Fleet", process: Process) -> None:
        redis, sql = fleet.sim.redis.server, fleet.sim.sql.server
        s = SETTINGS
        leases = Leases(s.lead_ms, s.lock_ms, s.armed_lease_ms, s.running_lease_ms)
        slices = MemorySlices(redis, process.clock, leases)
        self.slices: Any = SteppedStore(process, "slices", slices, "redis")
        self.keeper_slices: Any = SteppedStore(process, "slices", slices, "redis", KEEPER_TIMEOUT_MS)
        self.lane_budget = LaneBudget(fleet.scenario.lane_firings * BYTES_A_FIRING, least=1)
        self.lanes: Any = SteppedStore(process, "lanes", MemoryLanes(slices, self.lane_budget), "redis")
        permits = MemoryPermits(slices, s.callback_timeout_ms)
        self.permits: Any = SteppedStore(process, "permits", permits, "redis")
        self.call_limits: Any = SteppedStore(process, "call_limits", MemoryCallLimits(redis), "redis")
        self.call_rules: Any = SteppedStore(process, "call_rules", MemoryCallRules(redis), "redis")
        self.agenda: Any = SteppedStore(process, "agenda", MemoryAgenda(redis), "redis")
        definitions = MemoryDefinitions(redis, fleet.sim.clock, 3 * s.step_s)
        self.definitions: Any = SteppedStore(process, "definitions", definitions, "redis")
        self.outbox: Any = SteppedStore(process, "outbox", MemoryOutbox(redis), "redis")
        self.load: Any = SteppedStore(process, "load", MemoryLoad(redis), "redis")
        self.timers: Any = SteppedStore(process, "timers", MemoryTimers(sql), "sql")
        self.firings: Any = SteppedStore(process, "firings", MemoryFirings(sql), "sql")
        self.demands: Any = SteppedStore(process, "demands", MemoryDemands(sql), "sql")
        self.firing_lists: Any = SteppedStore(process, "firing_lists", MemoryFiringLists(sql), "sql")
        rule = WindowRule(s.window_ms, s.horizon_ms, s.window_memory_mb * 1_000_000)
        window = SteppedStore(process, "window", MemoryWindow(redis, rule), "redis")
        self.window: Any = WatchedWindow(window, process, fleet.feeders)
        self.hot = HotStore(self.slices, self.agenda, self.window, process.clock, self.lanes, ALWAYS_HELD_MS)


class Fleet:
    """Two beats with schedulers, two migrators or more, two triggers, two executors, an API, and its users."""

    def __init__(self, sim: Simulation, scenario: Scenario) -> None:
        self.sim = sim
        self.scenario = scenario
        nowhere: Any = SimpleNamespace(read=lambda: ToldForCalls(None, None))
        self._no_rules = KnownRules(nowhere, dict, CallRules)
        self._no_rules.read()
        self.evidence = Evidence(sim)
        self.feeders = Feeders(sim)
        self.retry = scenario.policy
        self.buckets = BucketRule(scenario.firings_per_bucket, SETTINGS.most_buckets)
        self.timer_ids: dict[int, int] = {}
        self.registrar: Registrar | None = None
        self.on_demand: OnDemand | None = None
        self.rule_teller: Teller[CallRules] | None = None
        self._targets = Random(sim.random.random())
        # Redis has been loaded for long.
        present = int(sim.now_ms) // MINUTE_MS
        limit = scenario.host_limit
        self.rules_in_sql = CallRules(hosts={} if limit is None else {HOST: limit})
        if scenario.has_rules:
            limits = {} if scenario.limit is None else {APP: scenario.limit}
            sim.redis.server.table("call_limits").update(all=limits)
            sim.redis.server.table("call_rules").update(all=self.rules_in_sql)
        sim.redis.server.table("window").update(fed=present, announced=present)
        if any(fault.kind is Kind.REDIS_ROLLBACK for fault in sim.faults):
            self._take_snapshots()
        for number in range(2):
            sim.start(f"beat{number}", self._boot_beat)
            sim.start(f"migrator{number}", self._boot_migrator)
            sim.start(f"trigger{number}", self._boot_trigger)
            sim.start(f"executor{number}", self._boot_executor)
        for number in range(2, scenario.migrators):
            sim.start(f"migrator{number}", self._boot_migrator)
        self.api = sim.start("api", self._boot_api)
        for at_ms, rules in scenario.pauses:
            sim.at(START_MS + at_ms, self._set_rules, rules)
        for number in range(len(scenario.timers)):
            wishes = [wish for wish in scenario.wishes if wish.timer == number]
            self._wish_next(wishes)

    def _take_snapshots(self) -> None:
        self.sim.redis.take_snapshot()
        self.sim.after(SNAPSHOT_EVERY_MS, self._take_snapshots)

    # the users

    def _set_rules(self, rules: CallRules) -> None:
        """Let an operator set what is paused; a timer's pause is that of the first one there is."""
        first = min(self.sim.sql.server.table("timers"), default=0)
        names = frozenset(f"timer:{first}" if name == "timer" else name for name in rules.pauses.names)
        self.rules_in_sql = CallRules(Pauses(names))
        self.evidence.note_rules(self.rules_in_sql)
        if self.api.takes_work():
            self.sim.spawn(self.api, self._tell_rules)

    def _tell_rules(self) -> None:
        assert self.rule_teller is not None
        with suppress(StoreAway):
            self.rule_teller.tell()

    def _wish_next(self, wishes: list[Wish]) -> None:
        """Ask for one thing after the other, each when its moment has come and the one before has ended."""
        if wishes:
            at_ms = max(START_MS + wishes[0].at_ms, self.sim.now_ms)
            self.sim.at(at_ms, self._try_wish, wishes[0], wishes[1:], WISH_TRIES)

    def _try_wish(self, wish: Wish, rest: list[Wish], tries: int) -> None:
        state = {"over": False}

        def over(is_granted: bool) -> None:
            if state["over"]:
                return
            state["over"] = True
            if is_granted or tries == 1:
                self._wish_next(rest)
            else:
                pause_ms = self.sim.random.choice((200, 1_500, 3_000))
                self.sim.after(pause_ms, self._try_wish, wish, rest, tries - 1)

        if self.api.takes_work():
            self.sim.spawn(self.api, lambda: over(self._grant(wish)))
        self.sim.after(30_000, over, False)  # a request that nobody answers

    def _grant(self, wish: Wish) -> bool:
        registrar = self.registrar
        assert registrar is not None
        timer = self.scenario.timers[wish.timer]
        try:
            if wish.verb == "create":
                self._create(registrar, timer)
            elif (timer_id := self._id_of(timer)) is not None and not self._demand(wish, timer_id):
                getattr(registrar, wish.verb)(APP, timer_id)
        except StoreAway:
            return False
        except (Conflict, InvalidInput, UnknownFiring, UnknownTimer) as refusal:
            self.sim.log("api", f"{wish.verb} refused", refusal)
        return True

    def _demand(self, wish: Wish, timer_id: int) -> bool:
        """Ask for a single firing; False where it is no such wish."""
        on_demand = self.on_demand
        assert on_demand is not None
        if wish.verb == "fire_now":
            on_demand.fire_now(APP, timer_id)
        elif wish.verb == "cancel":
            schedule = self.evidence.timers[timer_id].definition.schedule
            moment = schedule.first_after(int(self.api.clock.now_ms()) + wish.ahead_ms)
            on_demand.cancel(APP, timer_id, moment or 0)
        return wish.verb in ("fire_now", "cancel")

    def _create(self, registrar: Registrar, timer: PlannedTimer) -> None:
        notify = Notify(f"http://shop.test/{timer.name}")
        registrar.create(NewTimer(APP, timer.name, timer.schedule, notify, timer.misfire))

    def _id_of(self, timer: PlannedTimer) -> int | None:
        for one in self.sim.sql.server.table("timers").values():
            if one.name == timer.name:
                return int(one.id)
        return None

    def _target(self, request: Request, process: Process) -> Answer:
        random = self._targets
        name = request.url.rpartition("/")[2]
        timer = next(one for one in self.scenario.timers if one.name == name)
        is_told = random.random() >= self.scenario.never_told
        answer = self._answer(timer, random) if is_told else Answer(200, math.inf)
        self.evidence.note_send(dict(request.headers), process, answer)
        if is_told:
            self.evidence.note_under_way(process, min(answer.after_ms, SETTINGS.callback_timeout_ms))
        return answer

    def _answer(self, timer: PlannedTimer, random: Random) -> Answer:
        slow = LIMITED_MS if self.scenario.limits else (3_000, 7_000, 9_500, 12_000)
        after_ms = random.choice((5, 20, 50, 300) if random.random() < timer.is_fast else slow)
        if random.random() >= timer.fails:
            return Answer(200, after_ms)
        failures = self.scenario.failures
        status, asked_s = failures[0] if len(failures) == 1 else random.choice(failures)
        return Answer(status, after_ms, asked_s)

    # the processes

    def _boot_api(self, process: Process) -> None:
        stores, s = Stores(self, process), SETTINGS
        self.rule_teller = self._rule_teller(stores)
        self.registrar = Registrar(
            stores.timers,
            stores.hot,
            stores.definitions,
            stores.load,
            process.clock,
            NearRule(s.near_s * 1_000, s.plan_most_moments, s.lead_ms + s.turn_ms),
            self.buckets,
            self._send_chunk,
        )
        self.on_demand = OnDemand(
            stores.demands,
            stores.timers,
            stores.firings,
            stores.firing_lists,
            stores.hot,
            stores.definitions,
            stores.load,
            process.clock,
            s.lead_ms + s.turn_ms,
            self.buckets,
            self._send_chunk,
        )

    def _boot_beat(self, process: Process) -> None:
        stores = Stores(self, process)
        scheduler = Scheduler(
            stores.agenda,
            stores.slices,
            process.clock,
            self.scenario.credit,
            self._send_trigger,
        )
        self._repeat(process, "schedule", 1.0, SAME_TICK_S, scheduler.tick, most=4)

    def _boot_migrator(self, process: Process) -> None:
        stores, s = Stores(self, process), SETTINGS
        migrator = Migrator(
            stores.timers,
            stores.hot,
            stores.definitions,
            stores.load,
            process.clock,
            PlanRule(
                Ahead(s.step_s * 1_000, s.plan_most_moments, s.plan_dense_moments, 2 * s.window_ms),
                s.plan_page_timers,
                s.near_s * 1_000,
                s.window_ms,
                self.scenario.plan_threads,
            ),
            self.buckets,
        )
        sweeper = Sweeper(
            stores.timers,
            stores.firings,
            stores.hot,
            stores.definitions,
            stores.outbox,
            process.clock,
        )
        feeder = Feeder(
            stores.timers,
            stores.firings,
            stores.hot,
            stores.definitions,
            stores.window,
            process.clock,
            3 * s.step_s,
        )
        self._repeat(process, "migrate", s.plan_every_s, s.plan_every_s / 2, migrator.plan_due)
        self._repeat(process, "sweep", s.sweep_every_s, s.sweep_every_s / 2, sweeper.sweep)
        lane_feeder = LaneFeeder(stores.firings, stores.lanes, stores.lane_budget, process.clock)
        self._repeat(process, "feed lanes", s.sweep_every_s, s.sweep_every_s / 2, lane_feeder.feed)
        self.sim.consume("feed lanes", process, 1, lambda _asked: lane_feeder.feed())
        if (limit := self.scenario.limit) is not None:
            teller = Teller(lambda: {APP: limit}, stores.call_limits)
            self._repeat(process, "tell limits", s.sweep_every_s, s.sweep_every_s / 2, teller.tell)
        if self.scenario.has_rules:
            tell_again = self._rule_teller(stores).tell_again
            self._repeat(process, "tell rules", s.sweep_every_s, s.sweep_every_s / 2, tell_again)
        self._repeat(process, "feed", FEED_EVERY_S, FEED_EVERY_S / 2, feeder.feed)
        self._repeat(process, "reconcile", RECONCILE_EVERY_S, RECONCILE_EVERY_S / 2, feeder.compare)

    def _rule_teller(self, stores: Stores) -> Teller[CallRules]:
        return Teller(lambda: self.rules_in_sql, stores.call_rules)

    def _boot_trigger(self, process: Process) -> None:
        stores, s = Stores(self, process), SETTINGS
        trigger = Trigger(
            stores.slices,
            stores.agenda,
            stores.hot,
            stores.firings,
            process.clock,
            ArmRule(s.lead_ms, s.turn_ms, s.lock_ms, self.scenario.chunk_size, QUEUE_MOST, s.catch_up_per_s),
            Credits(self.scenario.credit),
            self._send_chunk,
            lambda _queue: self.sim.waiting("chunk"),
            lambda: 1.0,
            lambda: stores.slices.seconds_since_reconnect,
            lambda: process.is_stopping,
        )

        def watch(order: TriggerOrder) -> None:
            trigger.watch(order.slice, order.token, order.credit)

        def drain() -> None:
            while len(process.tasks) > 1:
                self.sim.sleep(0.1)

        process.drain = drain
        self.sim.consume("trigger", process, TRIGGER_THREADS, watch)

    def _boot_executor(self, process: Process) -> None:
        stores, s = Stores(self, process), SETTINGS
        claims = Claims()
        keeper = Keeper(stores.keeper_slices, claims, process.clock, s.renew_every_ms / 1_000)
        every_s = s.settle_every_ms / 1_000
        settler = Settler(stores.firings, stores.outbox, stores.hot, stores.slices, process.clock, every_s)
        verifier = Verifier(stores.outbox, stores.firings, process.clock, s.lead_ms)
        limit, has_rules = self.scenario.limit, self.scenario.has_rules
        told: Any = MemoryToldForCalls(stores.call_limits, stores.call_rules)
        rules = KnownRules(
            told,
            lambda: {APP: limit} if limit else {},
            lambda: self.rules_in_sql,
        )
        if not has_rules:
            rules = self._no_rules
        throttle = Throttle(stores.permits, rules, process.clock)
        permits: Permits = throttle if has_rules else NoLimits()
        engine: Any = SimulatedEngine(
            self.sim, process, self._target, s.callback_timeout_ms, permits, self.scenario.sends_away
        )
        lease_s = s.running_lease_ms / 1_000
        mover = Mover(stores.firings, stores.hot, stores.slices, process.clock, lease_s)
        puller = Puller(
            stores.lanes,
            claims,
            engine.room_in,
            process.clock,
            s.callback_timeout_ms,
            lambda: stores.slices.seconds_since_reconnect,
            lambda: self.sim.send("feed lanes", ""),
            throttle,
        )
        executor = Executor(
            stores.slices,
            stores.hot,
            Wanted(stores.definitions, stores.timers, verifier, Asker(stores.timers, process.clock)),
            NeverSigned(),
            verifier,
            engine,
            keeper,
            settler,
            mover,
            puller,
            claims,
            process.clock,
            FireRule(s.callback_timeout_ms, s.running_lease_ms, self.retry),
            Random(self.sim.random.random()),
        )
        keeper.start()
        settler.start()
        if has_rules:
            throttle.start()
        if self.scenario.sends_away or has_rules:
            mover.start()
            puller.start(executor.fire_pulled)
        process.drain = lambda: executor.drain(12.0)
        self.sim.consume(
            "chunk", process, EXECUTOR_THREADS, lambda wire: executor.fire(Chunk.from_wire(*wire))
        )

    def _repeat(
        self,
        process: Process,
        name: str,
        every_s: float,
        least_s: float,
        work: Callable[[], Any],
        most: int = 1,
    ) -> None:
        """Start a task of a process again and again, as a beat does whose node has a wall clock of its own.

        At most so many of them are under way at once.
        """
        pace = Pace(process.clock, least_s)
        incarnation = process.incarnation
        busy = {"tasks": 0}
        off_ms = process.wall_clock_off_ms - self.sim.draw_wall_clock()
        is_expired = off_ms > EXPIRES_S * 1_000

        def ended() -> None:
            busy["tasks"] -= 1

        def tick() -> None:
            if process.incarnation != incarnation:
                return
            self.sim.after(every_s * 1_000, tick)
            if process.takes_work() and not is_expired and busy["tasks"] < most and pace.is_due():
                busy["tasks"] += 1
                self.sim.spawn(process, work, ended)

        self.sim.after(self.sim.random.uniform(0, every_s * 1_000), tick)

    # the messages

    def _send_chunk(self, chunk: Chunk) -> None:
        self.sim.send("chunk", chunk.to_wire())

    def _send_trigger(self, order: TriggerOrder) -> None:
        self.sim.send("trigger", order)
