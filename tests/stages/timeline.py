"""The time of a stage test: whoever sleeps or waits lets everybody else go on, and an hour takes no time.

Each task runs in a greenlet, so that a stage's loop may sleep in its middle; only one of all runs at any time, and the
order is that of the moments. So a run is the same every time, and nothing is locked.
"""

import heapq
from collections.abc import Callable
from itertools import count

from greenlet import getcurrent, greenlet

from wangtimer.core.errors import StoreAway
from wangtimer.testing.doubles import HandClock

Work = Callable[[], object]


class Killed(BaseException):
    """The process is dead: not an `Exception`, so that no stage catches it."""


class Process:
    """What dies or freezes as one."""

    def __init__(self, name: str, clock: HandClock) -> None:
        self.name = name
        self.is_alive = True
        self._clock = clock
        self._frozen_until = 0.0

    def kill(self) -> None:
        """Run nothing of it any more, as after SIGKILL."""
        self.is_alive = False

    def die(self, *_: object) -> None:
        """Kill it from within, at this very step."""
        self.kill()
        raise Killed(self.name)

    def freeze(self, seconds: float) -> None:
        """Run nothing of it for so long, as between SIGSTOP and SIGCONT; then everything that waited."""
        self._frozen_until = self._clock.now_ms() + seconds * 1_000

    @property
    def frozen_until(self) -> float:
        """The moment until which nothing of it runs, ms UTC."""
        return self._frozen_until

    @property
    def takes_work(self) -> bool:
        """Whether a message would reach it."""
        return self.is_alive and self._frozen_until <= self._clock.now_ms()


class Baton:
    """What runs only while the timeline waits for it; it serves one task after another."""

    def __init__(self) -> None:
        self.task: Task | None = None
        self._greenlet = greenlet(self._run)

    def hand_over(self) -> None:
        """Run the task until it pauses or is done; the other side of `hand_back`."""
        self._greenlet.parent = getcurrent()
        self._greenlet.switch()

    def hand_back(self) -> None:
        """Let the timeline go on; returns when it is this one's turn again."""
        self._greenlet.parent.switch()

    def _run(self) -> None:
        while self.task is not None:
            self.task.run()
            self.hand_back()


class Task:
    """Work of a process that may sleep."""

    def __init__(self, process: Process, work: Work) -> None:
        self.process = process
        self.baton: Baton | None = None
        self.is_done = False
        self.is_ending = False
        self.failure: BaseException | None = None
        self.pauses = 0
        self._work = work

    def run(self) -> None:
        """Do the work, in the baton."""
        try:
            self._work()
        except (Killed, StoreAway):
            pass  # Celery's tasks may end so; what they left undone is the next one's
        except BaseException as error:
            self.failure = error
        self.is_done = True

    def pause(self) -> None:
        """Let the timeline go on; returns when it is this task's turn again."""
        assert self.baton is not None
        self.pauses += 1
        self.baton.hand_back()
        if self.is_ending:
            raise Killed(self.process.name)


class Timeline(HandClock):
    """A clock by hand, and what is to happen when; anything that happens at one moment happens in order."""

    def __init__(self) -> None:
        super().__init__()
        self._events: list[tuple[float, int, Process, Work]] = []
        self._order = count()
        self._tasks: set[Task] = set()
        self._batons: list[Baton] = []
        self._current: Task | None = None

    def at(self, moment_ms: float, process: Process, work: Work) -> None:
        """Run `work` at a moment, unless the process is dead by then."""
        heapq.heappush(self._events, (max(moment_ms, self._now_ms), next(self._order), process, work))

    def spawn(self, process: Process, work: Work, after_ms: float = 0.0) -> Task:
        """Run `work` as a task that may sleep."""
        task = Task(process, work)
        self._tasks.add(task)
        self._wake(task, self._now_ms + after_ms)
        return task

    def every(self, process: Process, seconds: float, work: Work) -> None:
        """Run `work`, which must not sleep, each `seconds` for as long as the process lives."""

        def tick() -> None:
            self.at(self._now_ms + seconds * 1_000, process, tick)
            work()

        self.at(self._now_ms + seconds * 1_000, process, tick)

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass, in which everything else goes on."""
        until = self._now_ms + max(0.0, seconds) * 1_000
        if self._current is None:
            self._run_events(until, lambda: False)
            self._now_ms = max(self._now_ms, until)
        else:
            self._wake(self._current, until)
            self._current.pause()

    def wait(self, event: "TimelineEvent", seconds: float) -> None:
        """Let time pass until the event is set, `seconds` at the most."""
        until = self._now_ms + max(0.0, seconds) * 1_000
        if self._current is None:
            self._run_events(until, event.is_set)
        else:
            task = self._current
            event.tell(lambda: self._wake(task, self._now_ms))
            self._wake(task, until)
            task.pause()

    def tasks_of(self, process: Process) -> int:
        """How many of the process' tasks have begun or wait to begin."""
        return sum(task.process is process for task in self._tasks)

    def close(self) -> None:
        """End every task, and the batons."""
        for task in list(self._tasks):
            task.is_ending = True
            if task.baton is not None:
                self._go_on(task, task.baton)
        for baton in self._batons:
            baton.task = None
            baton.hand_over()

    def _wake(self, task: Task, moment_ms: float) -> None:
        """Let a task go on at a moment, unless it went on before."""
        pauses = task.pauses + (task is self._current)
        self.at(
            moment_ms, task.process, lambda: task.pauses == pauses and not task.is_done and self._run(task)
        )

    def _run(self, task: Task) -> None:
        if task.baton is None:
            task.baton = self._batons.pop() if self._batons else Baton()
            task.baton.task = task
        self._current = task
        self._go_on(task, task.baton)
        self._current = None
        if task.failure is not None:
            raise task.failure

    def _go_on(self, task: Task, baton: Baton) -> None:
        baton.hand_over()
        if task.is_done:
            self._tasks.discard(task)
            self._batons.append(baton)

    def _run_events(self, until: float, is_over: Callable[[], bool]) -> None:
        while self._events and self._events[0][0] <= until and not is_over():
            moment, order, process, work = heapq.heappop(self._events)
            if not process.is_alive:
                continue
            if process.frozen_until > moment:
                heapq.heappush(self._events, (process.frozen_until, order, process, work))
                continue
            self._now_ms = max(self._now_ms, moment)
            try:
                work()
            except Killed:
                continue


class TimelineEvent:
    """`threading.Event`, on the timeline."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._is_set = False
        self._listeners: list[Work] = []

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        for listener in self._listeners:
            listener()
        self._listeners.clear()

    def tell(self, listener: Work) -> None:
        """Call it once the event is set."""
        self._listeners.append(listener)

    def wait(self, timeout: float) -> bool:
        if not self._is_set:
            self._timeline.wait(self, timeout)
        return self._is_set
