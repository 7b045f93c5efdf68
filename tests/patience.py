"""How long tests wait: the longer, the more this machine has to do. A wait ends as soon as its condition holds."""

import os
import time
from collections.abc import Callable

# However much there is to do.
MOST = 12.0
POLL_SECONDS = 0.02


def patience() -> float:
    """Return how many times longer things may take now than on a quiet machine: 1 to `MOST`.

    It is the number of threads a core that run or want to, lately or at this instant.
    """
    with open("/proc/loadavg") as file:
        lately, _, _, running, _ = file.read().split()
    at_once = max(float(lately), float(running.partition("/")[0]))
    return min(MOST, max(1.0, at_once / (os.cpu_count() or 1)))


class Deadline:
    """A moment `seconds` from now on a quiet machine; it moves away while the machine is busy."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began = time.monotonic()

    @property
    def is_over(self) -> bool:
        """Tell whether the time is up."""
        passed = time.monotonic() - self._began
        return passed > self._seconds and passed > self._seconds * patience()


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until the condition holds, `seconds` at most on a quiet machine; say whether it did."""
    deadline = Deadline(seconds)
    while not condition():
        if deadline.is_over:
            return False
        time.sleep(POLL_SECONDS)
    return True
