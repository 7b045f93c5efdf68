"""How long tests wait: the longer, the more this machine has to do. A wait ends as soon as its condition holds."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# The largest factor, however busy the machine is.
MOST = 12.0
POLL_SECONDS = 0.02
# Of a container's processes: so many µs of all cores in so many µs, or `max`.
QUOTA = Path("/sys/fs/cgroup/cpu.max")


def patience() -> float:
    """Return how many times longer things may take now than on a quiet machine: 1 to `MOST`.

    It is the number of runnable threads for each core: the average of the last minute, or the number now if that is
    larger.
    """
    with open("/proc/loadavg") as file:
        lately, _, _, running, _ = file.read().split()
    at_once = max(float(lately), float(running.partition("/")[0]))
    return min(MOST, max(1.0, at_once / _cores()))


def _cores() -> float:
    """Return how many cores there are for this process: the quota of a container may be less than the machine has."""
    cores = float(os.cpu_count() or 1)
    with suppress(OSError, ValueError):
        quota, period = QUOTA.read_text().split()
        return min(cores, int(quota) / int(period))
    return cores


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
