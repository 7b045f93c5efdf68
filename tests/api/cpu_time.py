"""How much CPU a request takes, in seconds of this machine when it has nothing else to do."""

import time
from collections.abc import Callable

# s of thread time of `_calibrate` on the machine the bound of 1 s was set on.
USUAL_S = 0.05


def machine_factor() -> float:
    """Return how many times slower than usual this machine is just now: at least 1."""
    return max(1.0, min(_taken(_calibrate) for _ in range(3)) / USUAL_S)


def cpu_s(work: Callable[[], object]) -> float:
    """Return the CPU time that this thread takes for the work."""
    return _taken(work)


def _taken(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _calibrate() -> int:
    found = {}
    for number in range(200_000):
        found[str(number)] = number
    return len(found)
