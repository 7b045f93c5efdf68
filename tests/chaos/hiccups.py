"""How late this machine itself is: a process of its own that only sleeps, so that lateness has a measure beside it."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.chaos.checker import Lateness
from wangtimer.stack.child import dying_with

SLEEP_S = 0.01


class Hiccups:
    """`with Hiccups(directory) as machine: ...; machine.lateness()`: what a sleep of 10 ms overran by, in ms."""

    def __init__(self, directory: Path) -> None:
        self._log = directory / "hiccups.log"

    def __enter__(self) -> "Hiccups":
        argv = [sys.executable, "-m", "tests.chaos.hiccups", str(self._log)]
        self._process = subprocess.Popen(argv, preexec_fn=dying_with(os.getpid()))
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def lateness(self) -> Lateness:
        """Return the overruns so far."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return Lateness.of(float(line) for line in lines[:-1])


def main(log_path: str) -> None:
    """Sleep, note by how much too long, for ever."""
    with Path(log_path).open("w", buffering=1) as log:
        while True:
            began_at = time.monotonic()
            time.sleep(SLEEP_S)
            log.write(f"{(time.monotonic() - began_at - SLEEP_S) * 1_000:.2f}\n")


if __name__ == "__main__":
    main(sys.argv[1])
