"""A whole deployment on fakes: every real stage, in processes that may die or freeze, on one timeline."""

import json
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from operator import attrgetter
from random import Random
from threading import Event
from typing import Any

from tests.fakes import (
    MemoryDemands,
    MemoryFiringLists,
    MemoryFirings,
    MemorySigningStore,
    MemoryTargetStore,
    MemoryTimers,
)
from tests.stages.scripted_target import Arrival, ScriptedTarget
from tests.stages.tap import Tap, Taps
from tests.stages.timeline import Process, Timeline
from wangtimer.callback.permits import Permit
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.call_rules import CallRules
from wangtimer.core.flow.credit import Credits
from wangtimer.core.flow.disabled_hosts import HostKey
from wangtimer.core.flow.firing import Chunk, FiringStatus
from wangtimer.core.flow.planning import Ahead
from wangtimer.core.flow.queues import CALLBACK, message_queue
from wangtimer.core.flow.slicing import BucketRule, TriggerOrder
from wangtimer.core.flow.strain import COUNTS_MS, Strain
from wangtimer.core.retry import RetryPolicy
from wangtimer.core.schedules.schedule import Once, Schedule
from wangtimer.core.signing.ack_token import AckTokens
from wangtimer.core.timers.named_target import through
from wangtimer.core.timers.timer import Definition, NewTimer, Notify, Timer
from wangtimer.executor import Executor, FireRule
from wangtimer.executor.asker import Asker
from wangtimer.executor.claim import Claims
from wangtimer.executor.keeper import Keeper
from wangtimer.executor.known_rules import KnownRules
from wangtimer.executor.mover import Mover
from wangtimer.executor.presence import Presence
from wangtimer.executor.puller import Puller
from wangtimer.executor.room import Room
from wangtimer.executor.settler import Settler
from wangtimer.executor.signings import SharedSignings, Signings
from wangtimer.executor.sql_rest import SqlRest
from wangtimer.executor.targets import KnownTargets, SharedTargets
from wangtimer.executor.throttle import GATHER_S, OnPermit, Throttle
from wangtimer.executor.verifier import Verifier
from wangtimer.executor.wanted import Wanted
from wangtimer.feeder import Feeder
from wangtimer.in_turn import do_in_turn
from wangtimer.lane_feeder import LaneFeeder
from wangtimer.migrator import Migrator, PlanRule
from wangtimer.on_demand import OnDemand
from wangtimer.registrar import NearRule, Registrar
from wangtimer.scheduler import Scheduler
from wangtimer.settings import FEED_EVERY_S, RECONCILE_EVERY_S, Settings
from wangtimer.stops import Stops
from wangtimer.store.app_queues import NOTE_EVERY_S, AppQueues
from wangtimer.store.hot import HotStore
from wangtimer.store.outbox_room import OutboxRoom
from wangtimer.store.redis.lane_budget import LaneBudget
from wangtimer.store.redis.slices import Leases
from wangtimer.store.redis.window import WindowRule
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.sweeper import Sweeper
from wangtimer.teller import Teller
from wangtimer.testing.doubles import (
    UNLIMITED,
    MemoryAgenda,
    MemoryAlertedApps,
    MemoryAppQueues,
    MemoryCallLimits,
    MemoryCallRules,
    MemoryDefinitions,
    MemoryEngine,
    MemoryLanes,
    MemoryLoad,
    MemoryOutbox,
    MemoryPermits,
    MemoryQueueWorkers,
    MemoryServer,
    MemorySigningCopies,
    MemorySlices,
    MemoryTargetCopies,
    MemoryToldForCalls,
    MemoryWindow,
    NeverSigned,
)
from wangtimer.trigger import ArmRule, Trigger

CATCH_UP_A_TURN = 250
APP = "shop"
MESSAGE_MS = 1.0
BOTH_AWAY_PAUSE_S = 0.5
# While all callback processes are frozen, the queue is looked at this often.
THAW_LOOK_MS = 50.0
# While some app has a limit, lanes are looked at this often.
RATE_LOOK_MS = 20
# Of a host, and of a process.
UNLIMITED_PLACES = (UNLIMITED, UNLIMITED)


class Node:
    """One process: the stores as it sees them, and what the test does to it (`taps`, `kill`, `freeze`)."""

    def __init__(self, world: "World", name: str) -> None:
        self.process = Process(name, world.time)
        self.taps: Taps = {}
        self.slices = self._tap("slices", world.slices)
        self.agenda = self._tap("agenda", world.agenda)
        self.lanes = self._tap("lanes", world.lanes)
        self.permits = self._tap("permits", world.permits)
        self.definitions = self._tap("definitions", world.definitions)
        self.outbox = self._tap("outbox", world.outbox)
        self.load = self._tap("load", world.load)
        self.timers = self._tap("timers", world.timers)
        self.firings = self._tap("firings", world.firings)
        self.demands = self._tap("demands", world.demands)
        self.window = self._tap("window", MemoryWindow(world.redis, world.window_rule))
        self.hot = HotStore(self.slices, self.agenda, self.window, world.time, self.lanes)
        self.app_queues = AppQueues(
            world.settings.own_queues,
            world.app_queues,
            lambda: world.queues_in_sql,
            world.queue_workers,
            world.time,
        )

    def die_at(self, point: str) -> None:
        """Let the process die at the next such point, as `before firings.settle` or `after slices.claim`."""
        self.taps[point] = self.process.die

    def _tap(self, name: str, store: object) -> Any:
        return Tap(name, store, self.taps)


class Beat(Node):
    """Beat, and the worker of the queues `schedule` and `migrate`: ticks, planning and repairs."""

    def __init__(self, world: "World") -> None:
        super().__init__(world, "beat")
        self.is_stopping = False
        s = world.settings
        self.migrator = Migrator(
            self.timers,
            self.hot,
            self.definitions,
            self.load,
            world.time,
            PlanRule(
                Ahead(s.step_s * 1_000, s.plan_most_moments, s.plan_dense_moments, 2 * s.window_ms),
                s.plan_page_timers,
                s.near_s * 1_000,
                s.window_ms,
            ),
            world.buckets,
            is_strained=lambda: world.time.now_ms() < world.strained_until,
            is_stopping=lambda: self.is_stopping,
        )
        self.scheduler = Scheduler(self.agenda, self.slices, world.time, s.arm_credit, world.send_trigger)
        self.sweeper = Sweeper(
            self.timers,
            self.firings,
            self.hot,
            self.definitions,
            self.outbox,
            world.time,
        )
        self.feeder = Feeder(
            self.timers, self.firings, self.hot, self.definitions, self.window, world.time, 3 * s.step_s
        )

        self.lane_feeder = LaneFeeder(self.firings, self.lanes, world.lane_budget, world.time)
        self._is_feeding = self._are_lanes_being_fed = False
        self._time = world.time

    def start(self, world: "World") -> None:
        s, time = world.settings, world.time
        time.every(self.process, 1, self._tick)
        work_by_interval = {
            s.plan_every_s: self.migrator.plan_due,
            s.sweep_every_s: lambda: do_in_turn(self.sweeper.sweep, self.lane_feeder.feed),
            RECONCILE_EVERY_S: self.feeder.compare,
        }
        time.every(self.process, FEED_EVERY_S, lambda: time.spawn(self.process, self._feed))
        for seconds, work in work_by_interval.items():
            time.every(self.process, seconds, lambda work=work: time.spawn(self.process, work))

    def feed_lanes(self) -> None:
        """Feed what is asked for, unless it is under way."""
        if self.process.takes_work and not self._are_lanes_being_fed:
            self._are_lanes_being_fed = True
            self._time.spawn(self.process, self._feed_lanes)

    def _feed_lanes(self) -> None:
        try:
            with suppress(StoreAway):
                self.lane_feeder.feed()
        finally:
            self._are_lanes_being_fed = False

    def _tick(self) -> None:
        with suppress(StoreAway):
            self.scheduler.tick()

    def _feed(self) -> None:
        """Feed, unless it is under way."""
        if not self._is_feeding:
            self._is_feeding = True
            try:
                self.feeder.feed()
            finally:
                self._is_feeding = False


class TriggerNode(Node):
    """A process with the trigger stage."""

    def __init__(self, world: "World", name: str) -> None:
        super().__init__(world, name)
        s = world.settings
        self.trigger = Trigger(
            self.slices,
            self.agenda,
            self.hot,
            self.firings,
            world.time,
            ArmRule(s.lead_ms, s.turn_ms, s.lock_ms, s.chunk_size, s.callback_queue_most, CATCH_UP_A_TURN),
            Credits(s.arm_credit),
            world.send_chunk,
            lambda queue: len(world.waiting[world.message_queue_of(queue)]),
            OutboxRoom(self.outbox, s.outbox_mb * 1_000_000, world.time.monotonic).share,
            lambda: world.redis.seconds_since_reconnect,
            is_served=self.app_queues.is_served,
        )


class PromptThrottle(Throttle):
    """Says when there is something to ask."""

    on_asked: Callable[[], None]

    def ask(
        self,
        app: str,
        host: str,
        has_waited: bool,
        held: tuple[Permit, ...],
        longest_ms: int,
        answer: OnPermit,
    ) -> None:
        super().ask(app, host, has_waited, held, longest_ms, answer)
        self.on_asked()


class ExecutorNode(Node):
    """A callback process: the executor stage with its engine, keeper and settler, those two on the timeline."""

    def __init__(self, world: "World", name: str, queue: str = CALLBACK) -> None:
        super().__init__(world, name)
        s = world.settings
        self.queue = queue
        self.is_stopping = False
        self.call_of: Callable[[Definition], Notify] = attrgetter("notify")
        self.claims = Claims()
        rules = KnownRules(
            MemoryToldForCalls(world.call_limits, world.call_rules, world.alerted_apps),  # type: ignore[arg-type]
            lambda: world.limits_in_sql,
            lambda: world.rules_in_sql,
        )
        self.throttle = PromptThrottle(self.permits, rules, world.time)
        self.throttle.warm_up()
        self.throttle.on_asked = self._ask_for_permits
        self._is_asking = False
        self.engine = MemoryEngine(
            world.time,
            lambda moment_ms, work: world.time.at(moment_ms, self.process, work),
            lambda sent_at_ms, call: world.target.take(Arrival(sent_at_ms, call.request, self.process.name)),
            s.callback_timeout_ms,
            world.places,
            permits=self.throttle,
        )
        self.keeper = Keeper(self.slices, self.claims, world.time, s.renew_every_ms / 1_000)
        self.settler = Settler(self.firings, self.outbox, self.hot, self.slices, world.time, 0.2)
        verifier = Verifier(self.outbox, self.firings, world.time, s.lead_ms)
        self.mover = Mover(self.firings, self.hot, self.slices, world.time, s.running_lease_ms / 1_000)
        self.puller = Puller(
            self.lanes,
            self.claims,
            self.engine.room_in,
            world.time,
            s.callback_timeout_ms,
            lambda: world.redis.seconds_since_reconnect,
            world.send_feed_lanes,
            self.throttle,
            lambda lane: s.own_queues.message_queue_of(self.app_queues.of_lane(lane)) == queue,
        )
        self.executor = Executor(
            self.slices,
            self.hot,
            Wanted(self.definitions, self.timers, verifier, Asker(self.timers, world.time)),
            world.signings_of(),
            verifier,
            self.engine,
            self.keeper,
            Tap("settler", self.settler, {"after settler.take": self._note_finished}),
            self.mover,
            self.puller,
            self.claims,
            world.time,
            FireRule(s.callback_timeout_ms, s.running_lease_ms, RetryPolicy(s.most_attempts)),
            Random(name),
            world.room,
            strain=Strain(s.lead_ms),
            tell_strain=world.tell_strain,
            is_stopping=lambda: self.is_stopping,
            call_of=lambda one, target: through(target, self.call_of(one)),
            targets=world.targets_of(),
            queue_of=self.app_queues.number_of,
            note_answer=world.answered.append,
            ack_token_of=AckTokens((b"k" * 32,)).token,
        )
        self._time = world.time
        self._settle_every_ms = s.settle_every_ms
        self._is_looking = self._has_finished = self._is_settling = False
        self.puller.fire_by(self.executor.fire_pulled)
        self._world = world
        world.time.every(self.process, 1, self._look_at_lanes)
        if queue != CALLBACK:
            presence = Presence(world.queue_workers, [queue.removeprefix(message_queue(""))], Event())
            world.time.every(self.process, NOTE_EVERY_S, presence.note)

    def fire(self, chunk: Chunk) -> None:
        """Fire a chunk; from now on its keeper and settler look after what the process holds."""
        self._time.spawn(self.process, lambda: self.executor.fire(chunk))
        self._keep_looking()

    def _look(self) -> None:
        """Renew and settle, again and again, until nothing is held: the threads of the real ones, but cheap."""
        self.keeper.renew_due()
        if self.mover.has_moves:
            self._spawn_quietly(self.mover.move_all)
        if self.puller.has_freed:
            self._spawn_quietly(self.puller.pull_freed)
        if self.throttle.has_wants:
            self._ask_for_permits()
        self._settle_soon()
        is_throttled = self.throttle.limits.has_any and self._world.redis.table("lanes")
        self._is_looking = bool(is_throttled or self.claims.current() or self._time.tasks_of(self.process))
        if self._is_looking:
            every_ms = RATE_LOOK_MS if self.throttle.limits.has_any else self._settle_every_ms
            self._time.at(self._time.now_ms() + every_ms, self.process, self._look)

    def _ask_for_permits(self) -> None:
        """Ask for permits and give them back, as the throttle's own loop does."""
        if not self._is_asking:
            self._is_asking = True
            self._time.spawn(self.process, self._carry_out)

    def _carry_out(self) -> None:
        self._time.sleep(GATHER_S)
        self._is_asking = False
        self.throttle.carry_out()

    def _look_at_lanes(self) -> None:
        """Read the rules, and pull from every lane, as the puller's own loop does."""
        if (
            self.throttle.limits.has_any
            or self._world.redis.table("call_limits")
            or self._world.redis.table("call_rules")
            or self._world.redis.table("alerted_apps")
        ):
            self._spawn_quietly(self.throttle.read_rules)
        if self._world.redis.table("lanes"):
            self._spawn_quietly(self.puller.look)
            self._keep_looking()

    def _keep_looking(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            self._time.at(self._time.now_ms() + self._settle_every_ms, self.process, self._look)

    def _spawn_quietly(self, work: Callable[[], None]) -> None:
        def quiet() -> None:
            with suppress(StoreAway):
                work()

        self._time.spawn(self.process, quiet)

    def _note_finished(self) -> None:
        self._has_finished = True

    def _settle_soon(self) -> None:
        """Settle what has finished, as the settler's own loop does; it may sleep, so one at a time."""
        if self._has_finished and not self._is_settling:
            self._is_settling = True
            self._time.spawn(self.process, self._settle)

    def _settle(self) -> None:
        self._has_finished = False
        if not self.settler.settle_all():
            self._has_finished = True
            self._time.sleep(BOTH_AWAY_PAUSE_S)
        self._is_settling = False


class World:
    """`redis` and `sql` are the servers, `target` the called service, `time` the clock all share.

    A message takes a millisecond. `chunk_road` and `trigger_road` say what becomes of one: the list of what is
    delivered, so `[]` loses it and `[it, it]` doubles it.
    """

    def __init__(
        self,
        triggers: int = 2,
        executors: int = 2,
        places: tuple[int, int] = UNLIMITED_PLACES,
        room: Room | None = None,
        is_signed: bool = False,
        **settings: object,
    ) -> None:
        self.places = places
        self.room = room
        self.is_signed = is_signed
        self.settings = Settings.model_construct(**settings)
        self.time = Timeline()
        self.redis = MemoryServer("Redis", self.time)
        self.sql = MemoryServer("SQL", self.time)
        self.target = ScriptedTarget()
        s = self.settings
        leases = Leases(s.lead_ms, s.lock_ms, s.armed_lease_ms, s.running_lease_ms)
        self.slices = MemorySlices(self.redis, self.time, leases)
        self.agenda = MemoryAgenda(self.redis)
        self.window_rule = WindowRule(s.window_ms, s.horizon_ms, s.window_memory_mb * 1_000_000)
        self.lane_budget = LaneBudget(s.lanes_memory_mb * 1_000_000)
        self.lanes = MemoryLanes(self.slices, self.lane_budget)
        self.permits = MemoryPermits(self.slices, s.callback_timeout_ms)
        self.call_limits = MemoryCallLimits(self.redis)
        self.app_queues = MemoryAppQueues(self.redis)
        self.queue_workers = MemoryQueueWorkers(self.redis)
        self.queues_in_sql: Mapping[str, str] = {}
        self.limits_in_sql: Mapping[str, CallLimit] = {}
        self.call_rules = MemoryCallRules(self.redis)
        self.rules_in_sql = CallRules()
        self.alerted_apps = MemoryAlertedApps(self.redis)
        self.answered: list[HostKey] = []
        self.definitions = MemoryDefinitions(self.redis, self.time, 3 * s.step_s)
        self.outbox = MemoryOutbox(self.redis)
        self.load = MemoryLoad(self.redis)
        self.signing_copies = MemorySigningCopies(self.redis)
        self.signing_store = MemorySigningStore(self.sql)
        self.target_copies = MemoryTargetCopies(self.redis)
        self.target_store = MemoryTargetStore(self.sql)
        self.timers = MemoryTimers(self.sql)
        self.firings = MemoryFirings(self.sql)
        self.demands = MemoryDemands(self.sql)
        self.firing_lists = MemoryFiringLists(self.sql)
        self.waiting: defaultdict[str, deque[Chunk]] = defaultdict(deque)
        self.chunk_road: Callable[[Chunk], list[Chunk]] = lambda chunk: [chunk]
        self.trigger_road: Callable[[TriggerOrder], list[TriggerOrder]] = lambda order: [order]
        self.chunks: list[Chunk] = []
        self.orders: list[TriggerOrder] = []
        self.strained_until = float("-inf")
        self.api = Node(self, "api")
        self.buckets = BucketRule(s.firings_per_bucket, s.most_buckets, self.api.app_queues.number_of)
        self.beat = Beat(self)
        self.registrar = self._registrar()
        self.stops = Stops(
            self.api._tap("firing_lists", self.firing_lists),
            self.api.definitions,
            self.time,
            s.lead_ms + s.turn_ms,
        )
        self.on_demand = self._on_demand()
        self.trigger_nodes = [TriggerNode(self, f"trigger-{number}") for number in range(triggers)]
        self.executor_nodes = [ExecutorNode(self, f"executor-{number}") for number in range(executors)]

    # what a test does

    def start(self) -> "World":
        """Start beat, and let Redis count as long known: for its first 10 s everything is verified."""
        self.beat.start(self)
        self.time.sleep(15)
        return self

    def give_queue(self, app: str, queue: str | None) -> None:
        """Give an app a queue of its own, or take it away, as an operator does."""
        others = {one: name for one, name in self.queues_in_sql.items() if one != app}
        self.queues_in_sql = others if queue is None else {**others, app: queue}
        Teller(lambda: self.queues_in_sql, self.app_queues).tell()

    def message_queue_of(self, queue: int) -> str:
        """Return the queue of messages by which firings of a queue go now."""
        return self.api.app_queues.message_queue_of(queue)

    def start_executor(self, name: str, queue: str = CALLBACK) -> ExecutorNode:
        """Start another callback process; it takes what waits in the queue."""
        node = ExecutorNode(self, name, queue)
        self.executor_nodes.append(node)
        self.time.at(self.now, node.process, self._deliver_chunks)
        return node

    def signings_of(self) -> Signings:
        """Return what another callback process knows of how apps sign."""
        if not self.is_signed:
            return NeverSigned()
        return SharedSignings(self.signing_copies, self.signing_store, self.time, SqlRest())

    def targets_of(self) -> KnownTargets:
        """Return what another callback process knows of named targets."""
        return SharedTargets(self.target_copies, self.target_store, NO_KEYS, self.time, SqlRest())

    def tell_strain(self) -> None:
        """Let the word of strain count for a while."""
        self.strained_until = self.time.now_ms() + COUNTS_MS

    def run_for(self, seconds: float) -> None:
        self.time.sleep(seconds)

    def run_to(self, moment_ms: float) -> None:
        self.time.move_to(moment_ms)

    def timer(self, schedule: Schedule | str, **notify: Any) -> Timer:
        """Create and enable a timer; a schedule in text is a cron expression in UTC."""
        timer = self.created(schedule, **notify)
        return self.registrar.enable(APP, timer.id)

    def created(self, schedule: Schedule | str, **notify: Any) -> Timer:
        """Create a timer, not enabled."""
        parsed = Cron.parse(schedule) if isinstance(schedule, str) else schedule
        name = f"timer-{len(self.sql.table('timers'))}"
        return self.registrar.create(NewTimer(APP, name, parsed, Notify("http://shop.test/due", **notify)))

    def once_in(self, seconds: float) -> Timer:
        """Create and enable a timer of a single moment."""
        return self.timer(Once(self.now + int(seconds * 1_000)))

    # what a test looks at

    @property
    def now(self) -> int:
        return int(self.time.now_ms())

    def records(self, timer: Timer) -> list[FiringRecord]:
        """Return a timer's firings, earliest first."""
        return sorted(self.firings.records(timer.id, 1_000_000), key=lambda record: record.firing.fire_at)

    def record(self, timer: Timer) -> FiringRecord:
        """Return a timer's only firing."""
        (record,) = self.records(timer)
        return record

    def statuses(self, timer: Timer) -> set[FiringStatus]:
        return {record.firing.status for record in self.records(timer)}

    def settled(self, timer: Timer) -> list[FiringRecord]:
        """Return the firings of a timer that have an outcome."""
        return [one for one in self.records(timer) if one.firing.status is not FiringStatus.PENDING]

    @property
    def held_threads(self) -> int:
        """How many slices hold a thread of a trigger."""
        return sum(self.time.tasks_of(node.process) for node in self.trigger_nodes if node.process.is_alive)

    @property
    def window_marks(self) -> dict[str, Any]:
        """What Redis says of the window: fed, announced, feeding, feeder, compared."""
        return self.redis.table("window")

    @property
    def members_in_slices(self) -> int:
        """How many members stand in any slice."""
        slices = self.redis.table("slices").values()
        return sum(len(sets.due) + len(sets.armed) + len(sets.running) for sets in slices)

    # the broker

    def send_chunk(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)
        queue = self.message_queue_of(chunk.slice.queue)
        for delivered in self.chunk_road(chunk):
            self.time.at(
                self.now + MESSAGE_MS,
                self._broker,
                lambda one=delivered: self._take_chunk(queue, _sent(one)),
            )

    def send_trigger(self, order: TriggerOrder) -> None:
        self.orders.append(order)
        for one in self.trigger_road(order):
            self.time.at(self.now + MESSAGE_MS, self._broker, lambda one=one: self._deliver_order(one))

    def send_feed_lanes(self) -> None:
        self.time.at(self.now + MESSAGE_MS, self._broker, self.beat.feed_lanes)

    @property
    def waiting_chunks(self) -> deque[Chunk]:
        """What waits in the common queue."""
        return self.waiting[CALLBACK]

    def _take_chunk(self, queue: str, chunk: Chunk) -> None:
        self.waiting[queue].append(chunk)
        self._deliver_chunks()

    def _deliver_chunks(self) -> None:
        for queue, chunks in list(self.waiting.items()):
            while chunks and (
                node := _next(self.executor_nodes, lambda one, queue=queue: one.queue == queue)
            ):
                node.fire(chunks.popleft())
            if chunks and any(one.process.is_alive and one.queue == queue for one in self.executor_nodes):
                self.time.at(self.now + THAW_LOOK_MS, self._broker, self._deliver_chunks)

    def _deliver_order(self, order: TriggerOrder) -> None:
        if node := _next(self.trigger_nodes):
            self.time.spawn(node.process, lambda: node.trigger.watch(order.slice, order.token, order.credit))

    @property
    def _broker(self) -> Process:
        return Process("broker", self.time)

    def _registrar(self) -> Registrar:
        s, api = self.settings, self.api
        near = NearRule(s.near_s * 1_000, s.plan_most_moments, s.lead_ms + s.turn_ms)
        return Registrar(
            api.timers, api.hot, api.definitions, api.load, self.time, near, self.buckets, self.send_chunk
        )

    def _on_demand(self) -> OnDemand:
        s, api = self.settings, self.api
        return OnDemand(
            api.demands,
            api.timers,
            api.firings,
            self.firing_lists,
            api.hot,
            api.definitions,
            api.load,
            self.time,
            s.lead_ms + s.turn_ms,
            self.buckets,
            self.send_chunk,
        )


def _next(nodes: list[Any], is_able: Callable[[Any], bool] = lambda _node: True) -> Any:
    """Return a node that takes this work, each in its turn; None where there is none."""
    for node in nodes:
        if node.process.takes_work and is_able(node):
            nodes.remove(node)
            nodes.append(node)
            return node
    return None


def _sent(chunk: Chunk) -> Chunk:
    """Return a chunk as it comes out of a message."""
    return Chunk.from_wire(*json.loads(json.dumps(chunk.to_wire())))
