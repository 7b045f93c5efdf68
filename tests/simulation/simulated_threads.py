"""`threading`, as the executor's pieces use it, on the simulated clock: their own loops and waits run as they are."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

from tests.simulation.simulator import Simulation

# Where the name stands in for the one of `threading`; `Lock` only where it is held over a step.
STAND_INS = (
    ("wangtimer.executor.asker.Event", "event"),
    ("wangtimer.executor.claim.Event", "event"),
    ("wangtimer.executor.throttle.uuid4", "token"),
    ("wangtimer.executor.settler.Lock", "lock"),
    ("wangtimer.executor.claim.uuid4", "token"),
    ("wangtimer.base.loop.Event", "event"),
    ("wangtimer.base.loop.Thread", "thread"),
    ("wangtimer.window.scheduler.uuid4", "token"),
    ("wangtimer.planning.migrator.ThreadPoolExecutor", "pool"),
)
LONG_S = 3_600.0


class SimulatedEvent:
    """`threading.Event`."""

    def __init__(self) -> None:
        self._sim = Simulation.current
        self._is_set = False
        self._listeners: list[Callable[[], None]] = []

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._is_set:
            self._listeners.clear()  # one waiter each: who waited before has timed out
            self._sim.wait(float("inf") if timeout is None else timeout, self._listeners)
        return self._is_set


class SimulatedLock:
    """`threading.Lock`, for `with`."""

    def __init__(self) -> None:
        self._sim = Simulation.current
        self._is_held = False

    def __enter__(self) -> None:
        while self._is_held:
            self._sim.sleep(0.01)
        self._is_held = True

    def __exit__(self, *_: object) -> None:
        self._is_held = False


class SimulatedToken:
    """`uuid4`: numbered, so that a run reads the same every time."""

    def __init__(self) -> None:
        self.hex = f"token-{next(Simulation.current.tokens)}"


class SimulatedThread:
    """`threading.Thread`: a task of the process that starts it."""

    def __init__(self, target: Callable[[], Any], name: str, daemon: bool) -> None:
        self._sim = Simulation.current
        self._target = target

    def start(self) -> None:
        self._sim.spawn(self._sim.here, self._target)


class SimulatedFuture:
    """`concurrent.futures.Future`, for whoever waits in the process that works."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._value: Any = None
        self._error: Exception | None = None
        self._is_done = SimulatedEvent()

    def run(self) -> None:
        """Work, and keep what comes of it."""
        try:
            self._value = self._work()
        except Exception as error:
            self._error = error
        self._is_done.set()

    def result(self) -> Any:
        """Return what the work returned, once it is done; raises what it raised."""
        while not self._is_done.is_set():
            self._is_done.wait(LONG_S)
        if self._error is not None:
            raise self._error
        return self._value


class SimulatedPool:
    """`ThreadPoolExecutor`, for `with`: never asked for more than it has threads."""

    def __init__(self, _threads: int, _name: str) -> None:
        self._sim = Simulation.current
        self._futures: list[SimulatedFuture] = []

    def __enter__(self) -> "SimulatedPool":
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._futures:
            with suppress(Exception):
                future.result()

    def submit(self, work: Callable[[], Any]) -> SimulatedFuture:
        """Begin to work, as a task of the process."""
        future = SimulatedFuture(work)
        self._futures.append(future)
        self._sim.spawn(self._sim.here, future.run)
        return future


@contextmanager
def simulated_threads() -> Iterator[None]:
    """Let the executor's pieces wait, lock and start threads in the simulation; `time.time` is the node's."""
    kinds = {
        "event": SimulatedEvent,
        "lock": SimulatedLock,
        "pool": SimulatedPool,
        "thread": SimulatedThread,
        "token": SimulatedToken,
    }
    patches = [patch(name, kinds[kind]) for name, kind in STAND_INS]
    patches.append(patch("time.time", lambda: Simulation.current.wall_clock_s()))
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()
