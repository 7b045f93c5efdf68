"""A whole deployment on fakes: every real stage, in processes that may die or freeze, on one timeline."""

import json
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from types import SimpleNamespace
from typing import Any

from tests.fakes.faked_wiring import FakedWiring, sql_fakes
from tests.fakes.never_signed import NeverSigned
from tests.stages.scripted_target import Arrival, ScriptedTarget
from tests.stages.tap import Tap, Taps
from tests.stages.timeline import Process, Timeline
from wangtimer.base.in_turn import do_in_turn
from wangtimer.base.settings import Settings
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.disabled_hosts import HostKey
from wangtimer.core.flow.firing import Chunk, FiringStatus
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.queues import CALLBACK
from wangtimer.core.flow.slicing import TriggerOrder
from wangtimer.core.flow.strain import COUNTS_MS
from wangtimer.core.retry import RetryPolicy
from wangtimer.core.schedules.schedule import Once, Schedule
from wangtimer.core.signing.ack_token import AckTokens
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.executor.own_queue_presence import TakenQueues
from wangtimer.executor.room import Room
from wangtimer.executor.throttle import GATHER_S
from wangtimer.store.app_queues import NOTE_EVERY_S
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.tasks import FEED_EVERY_S, RECONCILE_EVERY_S
from wangtimer.testing.doubles import (
    UNLIMITED,
    MemoryBroker,
    MemoryEngine,
    MemoryServer,
)

APP = "shop"
MESSAGE_MS = 1.0
BOTH_AWAY_PAUSE_S = 0.5
# While all callback processes are frozen, the queue is looked at this often.
THAW_LOOK_MS = 50.0
# While some app has a limit, lanes are looked at this often.
RATE_LOOK_MS = 20
# Before and after each of their calls a test may do something.
TAPPED = (
    *("slices", "agenda", "lanes", "permits", "definitions", "outbox", "load", "window"),
    *("timers", "firings", "firing_lists", "demands", "signing_store"),
)
# Of a host, and of a process.
UNLIMITED_PLACES = (UNLIMITED, UNLIMITED)


class Node(FakedWiring):
    """One process with the parts of production. `taps` runs code around their calls, `process` kills and freezes it."""

    def __init__(self, world: "World", name: str) -> None:
        super().__init__(world.settings, world.time, world.redis, world.fakes)
        self.process = Process(name, world.time)
        self.taps: Taps = {}
        vars(self).update(
            broker=world.broker,
            apps=SimpleNamespace(queues=lambda: world.queues_in_sql, retries=lambda: world.retries_in_sql),
            limits_in_sql=SimpleNamespace(all=lambda: world.limits_in_sql),
            pauses=SimpleNamespace(of_calls=lambda: world.pauses_in_sql),
            disabled_hosts=SimpleNamespace(keys=lambda: world.disabled_in_sql),
            strain_mark=SimpleNamespace(
                tell=world.tell_strain, counts=lambda: world.time.now_ms() < world.strained_until
            ),
        )
        vars(self).update({part: Tap(part, getattr(self, part), self.taps) for part in TAPPED})

    def die_at(self, point: str) -> None:
        """Let the process die at the next such point, as `before firings.settle` or `after slices.claim`."""
        self.taps[point] = self.process.die


class Beat(Node):
    """Beat, and the worker of the queues `schedule` and `migrate`: ticks, planning and repairs."""

    def __init__(self, world: "World") -> None:
        super().__init__(world, "beat")
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


class ExecutorNode(Node):
    """A callback process: its threads are tasks of the timeline."""

    def __init__(self, world: "World", name: str, queue: str = CALLBACK) -> None:
        super().__init__(world, name)
        s = world.settings
        self.queue = queue
        vars(self).update(
            taken_queues=TakenQueues(s.own_queues, self.app_queues, lambda: [queue]),
            chance=Random(name),
            ack_tokens=AckTokens((b"k" * 32,)),
            answer_teller=SimpleNamespace(note=lambda key, _: world.answered.append(key)),
        )
        if world.room is not None:
            vars(self).update(room=world.room)
        if not world.is_signed:
            vars(self).update(signings=NeverSigned())
        self.throttle.try_to_read_rules()
        asked = {"after throttle.ask": self._ask_for_permits}
        finished = {"after settler.take": self._note_finished}
        vars(self).update(
            throttle=Tap("throttle", self.throttle, asked), settler=Tap("settler", self.settler, finished)
        )
        engine = MemoryEngine(
            world.time,
            lambda moment_ms, work: world.time.at(moment_ms, self.process, work),
            lambda sent_at_ms, call: world.target.take(Arrival(sent_at_ms, call.request, self.process.name)),
            s.callback_timeout_ms,
            learns_from_failures=True,
            places=world.places,
            permits=self.throttle,
        )
        vars(self).update(engine=engine)
        self._is_asking = False
        self._time = world.time
        self._settle_every_ms = s.settle_every_ms
        self._is_looking = self._has_finished = self._is_settling = False
        self.puller.fire_by(self.executor.fire_pulled)
        self._world = world
        world.time.every(self.process, 1, self._look_at_lanes)
        if queue != CALLBACK:
            world.time.every(self.process, NOTE_EVERY_S, lambda: self._spawn_quietly(self.presence.note))

    def fire(self, chunk: Chunk) -> None:
        """Fire a chunk; from now on its keeper and settler look after what the process holds."""
        self._time.spawn(self.process, lambda: self.executor.fire(chunk))
        self._keep_looking()

    def _look(self) -> None:
        """Renew and settle, again and again, until nothing is held: the threads of the real ones, but cheap."""
        self.keeper.renew_due()
        if self.mover.has_moves:
            self._spawn_quietly(self.mover.move_all)
        if self.puller.has_lanes_to_pull:
            self._spawn_quietly(self._pull)
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
        if self.throttle.limits.has_any or self._world.redis.table("replicas"):
            self._spawn_quietly(self.throttle.read_rules)
        if self._world.redis.table("lanes"):
            self._spawn_quietly(self._look_and_pull)
            self._keep_looking()

    def _look_and_pull(self) -> None:
        self.puller.look()
        self._pull()

    def _pull(self) -> None:
        while self.puller.has_lanes_to_pull:
            self.puller.pull_next()

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
        # Threads of its own would not be on the timeline.
        self.settings = Settings.model_construct(**{"plan_threads": 1, **settings})
        self.time = Timeline()
        self.redis = MemoryServer("Redis", self.time)
        self.sql = MemoryServer("SQL", self.time)
        self.target = ScriptedTarget()
        self.queues_in_sql: Mapping[str, str] = {}
        self.limits_in_sql, self.pauses_in_sql = CallLimits(), Pauses()
        self.retries_in_sql: Mapping[str, RetryPolicy] = {}
        self.disabled_in_sql: frozenset[HostKey] = frozenset()
        self.answered: list[HostKey] = []
        self.fakes = sql_fakes(self.sql)
        vars(self).update(self.fakes)
        self.waiting: defaultdict[str, deque[Chunk]] = defaultdict(deque)
        self.chunk_road: Callable[[Chunk], list[Chunk]] = lambda chunk: [chunk]
        self.trigger_road: Callable[[TriggerOrder], list[TriggerOrder]] = lambda order: [order]
        self.chunks: list[Chunk] = []
        self.orders: list[TriggerOrder] = []
        self.strained_until = float("-inf")
        self.broker = MemoryBroker(
            take_chunk=self.send_chunk,
            take_trigger=self.send_trigger,
            take_feed_lanes=self.send_feed_lanes,
            count_waiting=lambda queue: len(self.waiting[self.message_queue_of(queue)]),
        )
        self.api = Node(self, "api")
        self.slices, self.agenda, self.lanes = self.api.slices, self.api.agenda, self.api.lanes
        self.load = self.api.load
        self.outbox, self.definitions = self.api.outbox, self.api.definitions
        self.target_copies = self.api.target_copies
        self.limits, self.pauses = self.api.limits_replica, self.api.pauses_replica
        self.beat = Beat(self)
        self.registrar, self.stops, self.on_demand = self.api.registrar, self.api.stops, self.api.on_demand
        self.trigger_nodes = [Node(self, f"trigger-{number}") for number in range(triggers)]
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
        self.api.queues_replica.tell()

    def message_queue_of(self, queue: int) -> str:
        """Return the queue of messages by which firings of a queue go now."""
        return self.api.app_queues.message_queue_of(queue)

    def start_executor(self, name: str, queue: str = CALLBACK) -> ExecutorNode:
        """Start another callback process; it takes what waits in the queue."""
        node = ExecutorNode(self, name, queue)
        self.executor_nodes.append(node)
        self.time.at(self.now, node.process, self._deliver_chunks)
        return node

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
