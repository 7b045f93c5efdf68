"""A whole deployment of real stages in simulated processes; who uses it, and what it calls."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any

from tests.fakes.faked_wiring import FakedWiring, sql_fakes
from tests.fakes.never_signed import NeverSigned
from tests.simulation.evidence import Evidence
from tests.simulation.fault import Kind
from tests.simulation.feeders import Feeders, WatchedWindow
from tests.simulation.scenario import APP, HOST, PlannedTimer, Scenario, Wish
from tests.simulation.simulated_engine import Answer, SimulatedEngine
from tests.simulation.simulator import Process, Simulation
from tests.simulation.stepped_store import KEEPER_TIMEOUT_MS, SteppedStore
from wangtimer.base.settings import Settings
from wangtimer.callback import Request
from wangtimer.core.errors import Conflict, InvalidInput, StoreAway, UnknownFiring, UnknownTimer
from wangtimer.core.flow.firing import Chunk
from wangtimer.core.flow.limits import CALL_LIMITS, CallLimits
from wangtimer.core.flow.pace import Pace
from wangtimer.core.flow.pauses import PAUSES, Pauses
from wangtimer.core.flow.slicing import MINUTE_MS, TriggerOrder
from wangtimer.core.timers.timer import NewTimer, Notify
from wangtimer.executor.claim import Claims
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.lanes import BYTES_A_FIRING, LaneBudget
from wangtimer.store.replica import Replica
from wangtimer.tasks import EXPIRES_S, FEED_EVERY_S, RECONCILE_EVERY_S, SAME_TICK_S
from wangtimer.testing.doubles import MemoryBroker, MemoryReplicaTexts
from wangtimer.testing.doubles.hand_clock import START_MS
from wangtimer.timers.registrar import Registrar
from wangtimer.wiring import once

# Each plan covers a minute, so that a run of two minutes plans many times. Plans are 10 s apart, so that timers wait.
# Redis holds half a minute ahead, so that most firings come there by the feeder; adders add what is nearer than this.
SETTINGS = Settings.model_construct(step_s=60, plan_every_s=10, window_s=30, window_memory_mb=0)
ALWAYS_HELD_MS = 10_000
TRIGGER_THREADS, EXECUTOR_THREADS = 4, 3
WISH_TRIES = 6
SNAPSHOT_EVERY_MS = 150
# How long a slow call of a limited app takes: it ends within its time-out although its process was frozen for a lease.
LIMITED_MS = (1_000, 2_000, 4_000)
# Chunks in the callback queue above which nothing is armed: few, for the runs are small.
QUEUE_MOST = 5


class Parts(FakedWiring):
    """The parts of one process; each call of a store is a step of the simulated world."""

    def __init__(self, fleet: "Fleet", process: Process) -> None:
        scenario, self._fleet, self._process = fleet.scenario, fleet, process
        # The doubled lanes are built with it.
        vars(self).update(lane_budget=LaneBudget(scenario.lane_firings * BYTES_A_FIRING, least=1))
        redis, fakes = fleet.sim.redis.server, sql_fakes(fleet.sim.sql.server)
        super().__init__(fleet.settings, process.clock, redis, fakes)
        self.stopping: Any = SimpleNamespace(is_set=lambda: process.is_stopping)
        self._own_slices = self.slices
        self._step("sql", "timers", "firings", "demands", "firing_lists")
        self._step("redis", "slices", "lanes", "permits", "agenda")
        self._step("redis", "definitions", "outbox", "load", "window")
        if scenario.has_rules:
            self._step("redis", "replica_texts")
        vars(self).update(
            broker=fleet.broker,
            window=WatchedWindow(self.window, process, fleet.feeders),
            limits_in_sql=SimpleNamespace(all=lambda: fleet.limits_in_sql),
            pauses=SimpleNamespace(of_calls=lambda: fleet.pauses_in_sql),
            outbox_room=SimpleNamespace(share=lambda: 1.0),
            strain_mark=SimpleNamespace(tell=lambda: None, counts=lambda: False),
            fire_rule=replace(self.fire_rule, retry=scenario.policy),
            signings=NeverSigned(),
            claims=Claims(process.name, fleet.settings.callback_most_held),
        )

    @once
    def hot(self) -> HotStore:
        """As in production, but that it holds what is due sooner."""
        return HotStore(self.slices, self.agenda, self.window, self.clock, self.lanes, ALWAYS_HELD_MS)

    @once
    def chance(self) -> Random:
        """The same in each run of a seed."""
        return Random(self._fleet.sim.random.random())

    @once
    def engine(self) -> Any:
        """Calls targets that answer by chance."""
        fleet = self._fleet
        return SimulatedEngine(
            fleet.sim,
            self._process,
            fleet.answer_of,
            fleet.settings.callback_timeout_ms,
            self.throttle,
            fleet.scenario.sends_away,
        )

    @once
    def keeper_slices(self) -> Any:
        """Its calls hang no longer than a lease can wait."""
        return SteppedStore(self._process, "slices", self._own_slices, "redis", KEEPER_TIMEOUT_MS)

    def _step(self, server: str, *names: str) -> None:
        for name in names:
            vars(self)[name] = SteppedStore(self._process, name, getattr(self, name), server)


class Fleet:
    """Two beats with schedulers, two migrators or more, two triggers, two executors, an API, and its users."""

    def __init__(self, sim: Simulation, scenario: Scenario) -> None:
        self.sim = sim
        self.scenario = scenario
        self.settings = SETTINGS.model_copy(
            update={
                "firings_per_bucket": scenario.firings_per_bucket,
                "arm_credit": scenario.credit,
                "chunk_size": scenario.chunk_size,
                "plan_threads": scenario.plan_threads,
                "callback_queue_most": QUEUE_MOST,
            }
        )
        self.broker = MemoryBroker(
            take_chunk=lambda chunk: sim.send("chunk", chunk.to_wire()),
            take_trigger=lambda order: sim.send("trigger", order),
            take_feed_lanes=lambda: sim.send("feed lanes", ""),
            count_waiting=lambda _queue: sim.waiting("chunk"),
        )
        self.evidence = Evidence(sim)
        self.feeders = Feeders(sim)
        self.timer_ids: dict[int, int] = {}
        self.api_parts: Parts | None = None
        self._targets = Random(sim.random.random())
        # Redis has been loaded for long.
        present = int(sim.now_ms) // MINUTE_MS
        self.limits_in_sql = CallLimits(
            {} if scenario.limit is None else {APP: scenario.limit},
            {} if scenario.host_limit is None else {HOST: scenario.host_limit},
        )
        self.pauses_in_sql = Pauses()
        if scenario.has_rules:
            texts: Any = MemoryReplicaTexts(sim.redis.server)
            Replica(CALL_LIMITS, CallLimits, texts, sim.clock).write(self.limits_in_sql)
            Replica(PAUSES, Pauses, texts, sim.clock).write(self.pauses_in_sql)
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
        for at_ms, pauses in scenario.pauses:
            sim.at(START_MS + at_ms, self._pause, pauses)
        for number in range(len(scenario.timers)):
            wishes = [wish for wish in scenario.wishes if wish.timer == number]
            self._wish_next(wishes)

    def _take_snapshots(self) -> None:
        self.sim.redis.take_snapshot()
        self.sim.after(SNAPSHOT_EVERY_MS, self._take_snapshots)

    # the users

    def _pause(self, pauses: Pauses) -> None:
        """Let an operator set what is paused; a timer's pause is that of the first one there is."""
        first = min(self.sim.sql.server.table("timers"), default=0)
        names = frozenset(f"timer:{first}" if name == "timer" else name for name in pauses.names)
        self.pauses_in_sql = Pauses(names)
        self.evidence.note_pauses(self.pauses_in_sql)
        if self.api.takes_work():
            self.sim.spawn(self.api, self._tell_pauses)

    def _tell_pauses(self) -> None:
        assert self.api_parts is not None
        with suppress(StoreAway):
            self.api_parts.pauses_replica.tell()

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
        assert self.api_parts is not None
        registrar = self.api_parts.registrar
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
        assert self.api_parts is not None
        on_demand = self.api_parts.on_demand
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

    def answer_of(self, request: Request, process: Process) -> Answer:
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
        self.api_parts = Parts(self, process)

    def _boot_beat(self, process: Process) -> None:
        self._repeat(process, 1.0, SAME_TICK_S, Parts(self, process).scheduler.tick, most=4)

    def _boot_migrator(self, process: Process) -> None:
        parts, s = Parts(self, process), self.settings
        swept = s.sweep_every_s, s.sweep_every_s / 2
        self._repeat(process, s.plan_every_s, s.plan_every_s / 2, parts.migrator.plan_due)
        self._repeat(process, *swept, parts.sweeper.sweep)
        self._repeat(process, *swept, parts.lane_feeder.feed)
        self.sim.consume("feed lanes", process, 1, lambda _asked: parts.lane_feeder.feed())
        if self.scenario.limit is not None:
            self._repeat(process, *swept, parts.limits_replica.tell)
        if self.scenario.has_rules:
            self._repeat(process, *swept, parts.replicas.tell_again)
        self._repeat(process, FEED_EVERY_S, FEED_EVERY_S / 2, parts.feeder.feed)
        self._repeat(process, RECONCILE_EVERY_S, RECONCILE_EVERY_S / 2, parts.feeder.compare)

    def _boot_trigger(self, process: Process) -> None:
        trigger = Parts(self, process).trigger

        def watch(order: TriggerOrder) -> None:
            trigger.watch(order.slice, order.token, order.credit)

        def drain() -> None:
            while len(process.tasks) > 1:
                self.sim.sleep(0.1)

        process.drain = drain
        self.sim.consume("trigger", process, TRIGGER_THREADS, watch)

    def _boot_executor(self, process: Process) -> None:
        parts, has_rules = Parts(self, process), self.scenario.has_rules
        executor = parts.executor
        parts.keeper.loop.start()
        parts.settler.loop.start()
        if has_rules:
            parts.throttle.loop.start()
        else:
            parts.throttle.read_rules()
        if self.scenario.sends_away or has_rules:
            parts.mover.loop.start()
            parts.mover.relief_loop.start()
            parts.puller.fire_by(executor.fire_pulled)
            parts.puller.loop.start()
        process.drain = lambda: executor.drain(12.0)
        self.sim.consume(
            "chunk", process, EXECUTOR_THREADS, lambda wire: executor.fire(Chunk.from_wire(*wire))
        )

    def _repeat(
        self,
        process: Process,
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
