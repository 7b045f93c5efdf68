"""A world on a fake clock: processes whose every step on the outside waits for its turn, and may go wrong.

A task is a greenlet: stage code as it is, suspended wherever it calls a store, publishes, sends or sleeps. The hub
(`run`) applies one step at a time, in the order of moments that the seed draws.
"""

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from typing import Any, NamedTuple

from greenlet import getcurrent, greenlet

from tests.simulation.fault import SEEN, Fault, Kind
from tests.simulation.servers import RedisWorld, SqlWorld
from wangtimer.core.errors import StoreAway, WangTimerError
from wangtimer.store.redis.clock import SAMPLE_EVERY_S, WITH_SCRIPTS_S, TimeBelief
from wangtimer.testing.doubles import HandClock
from wangtimer.testing.doubles.hand_clock import START_MS

Work = Callable[[], Any]

# A node's wall clock may be so far off; in one run all that are off are so to the same side.
WALL_CLOCK_OFF_MS = 3_600_000.0
# The process is started again this long after it died.
REBOOT_MS = (500, 3_000)
REDIS_TIMEOUT_MS, SQL_TIMEOUT_MS = 3_000, 5_000
STOPPED = {Kind.BEATS_STOP: ("beat", "migrator"), Kind.EXECUTORS_STOP: ("executor",)}
MOST_STEPS = 60_000


class Killed(BaseException):
    """The process is dead: not an `Exception`, so that no stage catches it."""


@dataclass(slots=True)
class Hit:
    """What befell a process, for the judge: `what` is "crash", "freeze" or "error"; `at` is the step's label."""

    moment: float
    what: str
    label: str = ""
    lasts_ms: float = 0.0


class Process:
    """What dies, freezes and starts again as one, with a clock and a connection to Redis of its own."""

    def __init__(self, sim: "Simulation", name: str, boot: Callable[["Process"], None]) -> None:
        self.sim = sim
        self.name = name
        self.boot = boot
        self.incarnation = 0
        self.is_up = False
        self.frozen_until = 0.0
        self.hits: list[Hit] = []
        self.tasks: set[Task] = set()
        self.clock = ProcessClock(sim)
        self.wall_clock_off_ms = sim.draw_wall_clock()
        self.redis_generation = 0
        self.redis_connects = 0
        self.connected_at_ms = float("-inf")
        self.drain: Callable[[], None] | None = None
        self.is_stopping = False

    def takes_work(self) -> bool:
        """Whether a message would reach it."""
        return self.is_up and self.sim.now_ms >= self.frozen_until

    def note_redis(self) -> None:
        """Open a new connection if Redis closed the old one."""
        if self.redis_generation != self.sim.redis.generation:
            self.redis_generation = self.sim.redis.generation
            self.redis_connects += 1
            self.connected_at_ms = self.sim.now_ms

    def break_redis(self) -> None:
        """A command timed out: its connection is given up, the next is a new one."""
        self.redis_generation = -1


class Times(NamedTuple):
    """What a process believes at one moment, ms UTC."""

    now: float
    latest: float
    earliest: float


class ProcessClock:
    """Redis' time as a process believes it, a little behind; `pinned` while a step is applied that it was computed for.

    Answers of Redis bring it its time, as the real clock's do.
    """

    def __init__(self, sim: "Simulation") -> None:
        self._sim = sim
        self._behind_ms = sim.random.uniform(*sim.clock_behind_ms)
        self._belief = TimeBelief()
        self._noted_at_ms = float("-inf")
        self.pinned: Times | None = None
        self.note(sim.now_ms)

    def note(self, asked_at_ms: float) -> None:
        """Learn of Redis' time now, if it is time to."""
        if self._sim.now_ms - self._noted_at_ms >= WITH_SCRIPTS_S * 1_000:
            self._noted_at_ms = self._sim.now_ms
            redis_ms = self._sim.redis.server.now_ms()
            came_at_ms = self._sim.now_ms + self._behind_ms
            self._belief.note(redis_ms, asked_at_ms / 1_000, came_at_ms / 1_000)

    def times(self) -> Times:
        """Return what is believed now."""
        if self.pinned is not None:
            return self.pinned
        belief, now_ms = self._belief, self._sim.now_ms
        assert belief.now_ms is not None
        return Times(now_ms + belief.now_ms, now_ms + belief.latest_ms, now_ms + belief.earliest_ms)

    def now_ms(self) -> float:
        return self.times().now

    def latest_ms(self) -> float:
        return self.times().latest

    def earliest_ms(self) -> float:
        return self.times().earliest

    def monotonic(self) -> float:
        return self._sim.now_ms / 1_000

    def sleep(self, seconds: float) -> None:
        self._sim.sleep(seconds)


class ServerClock(HandClock):
    """The true time, by which faults last; of Redis its own, by which its keys expire: somebody may put it."""

    def __init__(self, sim: "Simulation") -> None:
        super().__init__()
        self._sim = sim
        self.shift_ms = 0.0

    def now_ms(self) -> float:
        return self._sim.now_ms + self.shift_ms

    def monotonic(self) -> float:
        return self._sim.now_ms / 1_000

    def sleep(self, seconds: float) -> None:
        raise AssertionError("servers do not sleep")


class Task:
    """Stage code under way in a process."""

    __slots__ = ("greenlet", "incarnation", "on_end", "process", "waits", "work")

    def __init__(self, process: Process, work: Work, on_end: Work | None) -> None:
        self.process = process
        self.incarnation = process.incarnation
        self.work = work
        self.on_end = on_end
        self.greenlet: greenlet | None = None
        self.waits = 0


@dataclass(slots=True)
class Step:
    """One call on the outside: `half` are the arguments that do a part of it, `server` is "redis", "sql" or ""."""

    label: str
    server: str
    work: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)
    half: tuple[Any, ...] | None = None
    timeout_ms: float = 0.0
    issued_at: float = 0.0
    times: Times | None = None


@dataclass
class Queue:
    """Messages of one kind, and who takes them: at most `slots` at once."""

    name: str
    messages: deque[Any] = field(default_factory=deque)
    consumers: list["Consumer"] = field(default_factory=list)


@dataclass
class Consumer:
    """A worker process on a queue."""

    process: Process
    slots: int
    work: Callable[[Any], None]
    busy: int = 0


class Simulation:
    """`random` draws latencies and choices; the same seed and faults give the same run."""

    current: "Simulation"

    def __init__(
        self,
        seed: int,
        faults: Iterable[Fault] = (),
        is_traced: bool = False,
        clock_behind_ms: tuple[float, float] = (0.0, 30.0),
        is_slow: bool = False,
    ) -> None:
        Simulation.current = self
        self.is_slow = is_slow
        self.random = Random(seed)
        self.clock_behind_ms = clock_behind_ms
        self._wall_clocks = Random(f"wall clocks {seed}")
        self._wall_clocks_off_ms = self._wall_clocks.choice((-1, 1)) * WALL_CLOCK_OFF_MS
        self.now_ms = float(START_MS)
        self.faults = tuple(faults)
        self.struck: list[Fault] = []
        self.steps = 0
        self.counts: Counter[str] = Counter()
        self.trace: list[str] | None = [] if is_traced else None
        self.failures: list[tuple[str, str]] = []
        self.world_events: list[tuple[float, Kind]] = []
        self.processes: list[Process] = []
        self.queues: dict[str, Queue] = {}
        self.is_over = False
        self.tokens = count(1)
        self.clock = ServerClock(self)
        self.redis = RedisWorld(self.clock, ServerClock(self))
        self.sql = SqlWorld(self.clock)
        self.observe: Callable[[str, Process, tuple[Any, ...], Work], Any] = lambda *told: told[-1]()
        self.observed: frozenset[str] = frozenset()
        self._by_label: dict[str, list[Fault]] = {}
        for fault in self.faults:
            self._by_label.setdefault(fault.label, []).append(fault)
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = count()
        self._hub = getcurrent()
        self._task: Task | None = None
        self._booting: Process | None = None

    # time

    def draw_wall_clock(self) -> float:
        """Return how far a node's wall clock is ahead, ms."""
        return self._wall_clocks.choice((0.0, self._wall_clocks_off_ms))

    def wall_clock_s(self) -> float:
        """Return what `time.time` says in the process that runs now."""
        process = self._task.process if self._task else self._booting
        return (self.now_ms + (process.wall_clock_off_ms if process else 0.0)) / 1_000

    def at(self, moment_ms: float, work: Callable[..., None], *arguments: Any) -> None:
        """Do `work` at a moment."""
        heapq.heappush(self._events, (moment_ms, next(self._order), work, arguments))

    def after(self, ms: float, work: Callable[..., None], *arguments: Any) -> None:
        """Do `work` after a while."""
        heapq.heappush(self._events, (self.now_ms + ms, next(self._order), work, arguments))

    def run(self, seconds: float) -> None:
        """Let time pass until the world is over, `seconds` at most."""
        until = self.now_ms + seconds * 1_000
        events = self._events
        while events and not self.is_over:
            moment, _, work, arguments = heapq.heappop(events)
            if moment > until:
                break
            if moment > self.now_ms:
                self.now_ms = moment
            work(*arguments)
            if self.steps > MOST_STEPS:
                self.failures.append(("RUNAWAY", f"over {MOST_STEPS} steps"))
                break

    def close(self) -> None:
        """End every task."""
        for process in self.processes:
            process.is_up = False
            process.incarnation += 1
            self._kill_tasks(process)

    def latency(self) -> float:
        """Draw how long a way takes, ms: mostly a millisecond, now and then far more; in a slow world often."""
        draw = self.random.random()
        if draw < (0.5 if self.is_slow else 0.93):
            return self.random.uniform(0.2, 2)
        return (
            self.random.uniform(2, 60)
            if draw < (0.8 if self.is_slow else 0.985)
            else self.random.uniform(60, 700)
        )

    def log(self, who: str, what: str, answer: object = "") -> None:
        """Note a line of the run, if it is traced."""
        if self.trace is not None:
            text = repr(answer) if answer != "" else ""
            self.trace.append(f"{(self.now_ms - START_MS) / 1_000:9.3f}  {who:11} {what:26} {text[:400]}")

    # processes and tasks

    def start(self, name: str, boot: Callable[[Process], None]) -> Process:
        """Start a process that has been connected to Redis for long."""
        process = Process(self, name, boot)
        self.processes.append(process)
        self._boot(process)
        return process

    @property
    def here(self) -> Process:
        """The process that runs now."""
        process = self._task.process if self._task else self._booting
        assert process is not None
        return process

    def spawn(self, process: Process, work: Work, on_end: Work | None = None) -> Task:
        """Run `work` as a task of a process."""
        task = Task(process, work, on_end)
        process.tasks.add(task)
        self.after(self.latency(), self._resume, task, None, None)
        return task

    def sleep(self, seconds: float) -> None:
        """Suspend the running task for a while."""
        task = self._task
        assert task is not None, "only tasks sleep"
        task.waits += 1
        self.after(max(seconds * 1_000, 0.05), self._resume, task, None, None)
        self._hub.switch()

    def wait(self, seconds: float, listeners: list[Work]) -> None:
        """Suspend the running task until one calls what is put into `listeners`, `seconds` at most."""
        task = self._task
        assert task is not None, "only tasks wait"
        task.waits += 1
        wait = task.waits
        listeners.append(lambda: self.after(self.random.uniform(0.02, 1), self._wake, task, wait))
        self.after(max(seconds * 1_000, 0.05), self._wake, task, wait)
        self._hub.switch()

    def crash(self, process: Process) -> None:
        """Kill a process; it starts again with fresh memory."""
        self.log(process.name, "*** CRASH")
        process.hits.append(Hit(self.now_ms, "crash"))
        self._end(process)
        self.after(self.random.uniform(*REBOOT_MS), self._boot, process)

    def freeze(self, process: Process, ms: float, label: str) -> None:
        """Let nothing of a process run for a while, as between SIGSTOP and SIGCONT."""
        self.log(process.name, f"*** FREEZE {ms:.0f} ms")
        process.frozen_until = max(process.frozen_until, self.now_ms + ms)
        process.hits.append(Hit(self.now_ms, "freeze", label, ms))
        self.at(process.frozen_until + 0.01, self._deliver_all)

    def stop(self, process: Process, off_ms: float) -> None:
        """Kill a process and leave it off for a while."""
        if process.is_up:
            self.log(process.name, f"*** OFF for {off_ms:.0f} ms")
            process.hits.append(Hit(self.now_ms, "crash"))
            self._end(process)
            self.after(off_ms, self._boot, process)

    def do_in(self, process: Process, incarnation: int, work: Work) -> None:
        """Do what does not suspend, as an engine's thread, unless the process is dead; later if it is frozen."""
        if process.incarnation != incarnation:
            return
        if self.now_ms < process.frozen_until:
            self.at(process.frozen_until + self.random.uniform(0, 3), self.do_in, process, incarnation, work)
            return
        booting, self._booting = self._booting, process
        try:
            work()
        finally:
            self._booting = booting

    def _boot(self, process: Process) -> None:
        self.log(process.name, "starts")
        process.is_up = True
        process.drain, process.is_stopping = None, False
        self._booting = process
        process.boot(process)
        self._booting = None
        self._sample(process, process.incarnation)
        self._deliver_all()

    def _sample(self, process: Process, incarnation: int) -> None:
        """Let a process ask for Redis' time now and then, whatever else it asks for."""
        if process.incarnation == incarnation:
            if process.takes_work() and not self.redis.is_away(self.now_ms):
                process.clock.note(self.now_ms)
            self.after(SAMPLE_EVERY_S * 1_000, self._sample, process, incarnation)

    def _end(self, process: Process) -> None:
        process.is_up = False
        process.incarnation += 1
        process.frozen_until = 0.0
        process.clock = ProcessClock(self)
        process.redis_generation = -1
        for queue in self.queues.values():
            queue.consumers = [one for one in queue.consumers if one.process is not process]
        self._kill_tasks(process)

    def _kill_tasks(self, process: Process) -> None:
        tasks, process.tasks = process.tasks, set()
        for task in tasks:
            if task.greenlet:
                task.greenlet.throw(Killed(process.name))

    def _wake(self, task: Task, wait: int) -> None:
        if task.waits == wait:
            task.waits += 1
            self._resume(task, None, None)

    def _resume(self, task: Task, value: Any, error: BaseException | None) -> None:
        process = task.process
        if task.incarnation != process.incarnation:
            return
        if self.now_ms < process.frozen_until:
            thaw = process.frozen_until + self.random.uniform(0, 3)
            self.at(thaw, self._resume, task, value, error)
            return
        if task.greenlet is None:
            task.greenlet = greenlet(self._body, self._hub)
            value = task
        before, self._task = self._task, task
        if error is None:
            task.greenlet.switch(value)
        else:
            task.greenlet.throw(error)
        self._task = before
        if task.greenlet.dead:
            process.tasks.discard(task)
            if task.on_end is not None and task.incarnation == process.incarnation:
                task.on_end()

    def _body(self, task: Task) -> None:
        try:
            task.work()
        except Killed:
            pass
        except StoreAway as error:  # Celery's tasks may end so; what they left undone is the next one's
            self.log(task.process.name, "task given up", error)
        except Exception as error:
            self.fail(task.process.name, error)

    def fail(self, who: str, error: object) -> None:
        """Note what no stage may do."""
        self.log(who, "!!! STUMBLED", error)
        self.failures.append(("STUMBLED", f"{who}: {error!r}"))

    # steps

    def step(self, step: Step) -> Any:
        """Make a step of the running task; within another step (a callback of a transaction) at once."""
        task = self._task
        if task is None:
            if step.server and self._server(step).is_away(self.now_ms):
                raise StoreAway(step.server, "away")
            return step.work(*step.arguments, **step.named)
        self.steps += 1
        self.counts[step.label] += 1
        step.issued_at = self.now_ms
        step.times = task.process.clock.times()
        delay = self.latency()
        mode: Fault | None = None
        for fault in self._by_label.get(step.label, ()):
            if fault.nth != self.counts[step.label]:
                continue
            self.struck.append(fault)
            if fault.kind is Kind.CRASH_BEFORE:
                self.after(0, self._crash_at, task, step.label)
                return self._hub.switch()
            if fault.kind is Kind.FREEZE_BEFORE:
                self.freeze(task.process, fault.lasts_ms, step.label)
                delay += fault.lasts_ms
            elif not self._befalls_world(fault):
                mode = fault
                if fault.kind in SEEN:
                    task.process.hits.append(Hit(self.now_ms, "error", step.label))
        if mode is not None and mode.kind is Kind.LATE:
            patience = step.timeout_ms or 3_000
            self.after(mode.lasts_ms, self._apply_unheard, task.process, step)
            self.after(min(patience, mode.lasts_ms), self._resume, task, None, StoreAway(step.server, "late"))
        else:
            self.after(delay, self._apply, task, step, mode)
        return self._hub.switch()

    def act(self, process: Process, label: str, work: Work) -> None:
        """Make a step that no task waits for: an engine's thread writing a request to a target."""
        self.steps += 1
        self.counts[label] += 1
        kinds = set()
        for fault in self._by_label.get(label, ()):
            if fault.nth == self.counts[label]:
                self.struck.append(fault)
                if not self._befalls_world(fault):
                    kinds.add(fault.kind)
                if fault.kind in (Kind.FREEZE_BEFORE, Kind.FREEZE_AFTER):
                    self.freeze(process, fault.lasts_ms, label)
        if Kind.CRASH_BEFORE in kinds:
            self.crash(process)
        elif Kind.FREEZE_BEFORE in kinds:
            self.do_in(process, process.incarnation, work)
        else:
            work()
            if Kind.CRASH_AFTER in kinds:
                self.crash(process)

    def _crash_at(self, task: Task, label: str) -> None:
        self.log(task.process.name, label, "crashed before it")
        if task.incarnation == task.process.incarnation:
            self.crash(task.process)

    def _apply(self, task: Task, step: Step, mode: Fault | None) -> None:
        kind = mode.kind if mode else None
        if task.incarnation != task.process.incarnation and kind is not None:
            return
        if kind is Kind.ERROR:
            self.log(task.process.name, step.label, "ERROR, not applied")
            self._fail(task, step, StoreAway(step.server, "error, not applied"), (5, step.timeout_ms))
            return
        if self._is_held(task, step, mode):
            return
        value, error = self._effect(task.process, step, kind)
        if kind is Kind.TWICE and error is None:
            value, error = self._effect(task.process, step, None)
        if kind is Kind.CRASH_AFTER:
            self.crash(task.process)
            return
        if kind is Kind.FREEZE_AFTER and mode is not None:
            self.freeze(task.process, mode.lasts_ms, step.label)
        if kind in (Kind.ERROR_APPLIED, Kind.ERROR_HALF):
            error = StoreAway(step.server, str(kind))
            self._fail(task, step, error, (5, step.timeout_ms))
        else:
            if step.server == "redis":
                task.process.clock.note(step.issued_at)
            self.after(self.latency() * 0.5, self._resume, task, value, error)

    def _is_held(self, task: Task, step: Step, mode: Fault | None) -> bool:
        """Tell whether the server refuses the step, or takes it only when it goes on."""
        if not step.server:
            return False
        server = self._server(step)
        if self.now_ms < server.refuses_until:
            self._befell(task.process, step)
            self._fail(task, step, StoreAway(step.server, "refused"), (5, 1_500))
            return True
        if self.now_ms >= server.hangs_until:
            return False
        gives_up_at = step.issued_at + step.timeout_ms
        goes_on_at = server.hangs_until + self.latency()
        if goes_on_at < gives_up_at:
            self.at(goes_on_at, self._apply, task, step, mode)
        else:
            self._befell(task.process, step)
            self.at(goes_on_at, self._apply_unheard, task.process, step)
            error = StoreAway(step.server, "timed out")
            self.at(max(gives_up_at, self.now_ms), self._resume, task, None, error)
        return True

    def _befell(self, process: Process, step: Step) -> None:
        process.hits.append(Hit(self.now_ms, "error", step.label))
        if step.server == "redis":
            process.break_redis()

    def _apply_unheard(self, process: Process, step: Step) -> None:
        self.log(process.name, step.label, "applied LATE")
        server = self._server(step) if step.server else None
        if server is None or not server.is_away(self.now_ms):
            self._effect(process, step, None)

    def _effect(self, process: Process, step: Step, kind: Kind | None) -> tuple[Any, BaseException | None]:
        if step.server == "redis":
            process.note_redis()
        arguments = step.half if kind is Kind.ERROR_HALF and step.half is not None else step.arguments
        call = partial(step.work, *arguments, **step.named)
        task, self._task = self._task, None
        process.clock.pinned = step.times
        try:
            if step.label in self.observed:
                value, error = self.observe(step.label, process, arguments, call), None
            else:
                value, error = call(), None
        except WangTimerError as refusal:
            value, error = None, refusal
        finally:
            process.clock.pinned = None
            self._task = task
        self.log(process.name, step.label, error or (value if value is not None else ""))
        return value, error

    def _fail(self, task: Task, step: Step, error: StoreAway, after_ms: tuple[float, float]) -> None:
        if step.server == "redis":
            task.process.break_redis()
        self.after(self.random.choice(after_ms), self._resume, task, None, error)

    def _server(self, step: Step) -> RedisWorld | SqlWorld:
        return self.redis if step.server == "redis" else self.sql

    # the world's faults

    def _befalls_world(self, fault: Fault) -> bool:
        if fault.kind is Kind.DRAIN:
            process = self.here
            self.after(0, self._drain, process, process.incarnation)
        elif fault.kind in STOPPED:
            for process in self.processes:
                if process.name.startswith(STOPPED[fault.kind]):
                    self.after(0, self.stop, process, fault.lasts_ms)
        elif fault.kind.value.startswith("Redis"):
            self.redis.befall(fault)
        elif fault.kind.value.startswith("SQL"):
            self.sql.befall(fault)
        else:
            return False
        self.log("world", "***", str(fault))
        self.world_events.append((self.now_ms, fault.kind))
        return True

    def _drain(self, process: Process, incarnation: int) -> None:
        if process.incarnation != incarnation or process.drain is None or process.is_stopping:
            return
        process.is_stopping = True
        self.log(process.name, "*** asked to stop")
        for queue in self.queues.values():
            queue.consumers = [one for one in queue.consumers if one.process is not process]
        self.spawn(process, process.drain, on_end=lambda: self.stop(process, self.random.uniform(*REBOOT_MS)))

    # messages

    def send(self, queue: str, message: object) -> None:
        """Publish; a lost, doubled or late message is the fault's."""
        mode: list[Fault] = [
            fault
            for fault in self._by_label.get(f"send.{queue}", ())
            if fault.nth == self.counts[f"send.{queue}"] + 1
        ]
        kind = mode[0].kind if mode else None
        late_ms = mode[0].lasts_ms if kind is Kind.DELAY else self._way_ms()

        def publish() -> None:
            if kind is not Kind.DROP:
                self.after(late_ms, self._enqueue, queue, message)
            if kind is Kind.DOUBLE:
                again_ms = late_ms + self.random.choice((1, 500, 3_000, 9_000, 20_000))
                self.after(again_ms, self._enqueue, queue, message)

        self.step(Step(f"send.{queue}", "", publish))

    def consume(self, queue: str, process: Process, slots: int, work: Callable[[Any], None]) -> None:
        """Let a process take messages, so many at once."""
        self._queue(queue).consumers.append(Consumer(process, slots, work))

    def waiting(self, queue: str) -> int:
        """How many messages wait."""
        return len(self._queue(queue).messages)

    def _queue(self, name: str) -> Queue:
        return self.queues.setdefault(name, Queue(name))

    def _way_ms(self) -> float:
        draw = self.random.random()
        return self.random.uniform(0.5, 5) if draw < 0.97 else self.random.uniform(5, 1_500)

    def _enqueue(self, name: str, message: object) -> None:
        self._queue(name).messages.append(message)
        self._deliver(self._queue(name))

    def _deliver_all(self) -> None:
        for queue in self.queues.values():
            self._deliver(queue)

    def _deliver(self, queue: Queue) -> None:
        while queue.messages:
            free = [one for one in queue.consumers if one.busy < one.slots and one.process.takes_work()]
            if not free:
                return
            consumer = self.random.choice(free)
            message = queue.messages.popleft()
            consumer.busy += 1
            self.spawn(
                consumer.process, lambda c=consumer, m=message: c.work(m), self._freed(queue, consumer)
            )

    def _freed(self, queue: Queue, consumer: Consumer) -> Work:
        def freed() -> None:
            consumer.busy -= 1
            self._deliver(queue)

        return freed
