"""Runs processes whose wall clock is off, by a library of ours that is loaded ahead of libc.

libfaketime will not do: it moves the stop-watch too, and Python's waits with it.
"""

import struct
import subprocess
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.servers.nginx import ArrivedCall

_SOURCE = Path(__file__).with_name("shifted_clock.c")


def build(directory: Path) -> Path:
    """Compile the library into a directory and return its path."""
    library = directory / f"{_SOURCE.stem}.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library, _SOURCE, "-ldl"], check=True
    )
    return library


def words(library: Path, shift_s: int) -> list[str]:
    """Return the environment's words for a process whose wall clock is off by so many seconds."""
    return [f"LD_PRELOAD={library}", f"WALL_CLOCK_SHIFT_S={shift_s}"]


def is_shifted(pid: int) -> bool:
    """Tell whether a process runs with the library."""
    return f"{_SOURCE.stem}.so" in Path(f"/proc/{pid}/maps").read_text()


# What was claimed before a step back goes by the clock before: a lead, a look at the clock, and the call's own way.
UNKNOWN_STEP_MS = 1_000 + 250 + 50


@dataclass(slots=True)
class MovableClock:
    """The wall clock of a server that runs with the library: `put` it while it runs."""

    library: Path
    file: Path
    # (when by the true clock, how far off since then), ms
    _shifts: list[tuple[float, int]] = field(default_factory=list)

    @classmethod
    def made(cls, directory: Path) -> "MovableClock":
        """Compile the library into a directory; the clock is right at first."""
        clock = cls(build(directory), directory / "clock-shift")
        clock.file.write_bytes(struct.pack("=q", 0))
        return clock

    def words(self) -> list[str]:
        """Return what comes before the program in the server's command."""
        return ["env", f"LD_PRELOAD={self.library}", f"WALL_CLOCK_SHIFT_FILE={self.file}"]

    def put(self, shift_ms: int) -> None:
        """Let the clock be off by so much from now on, ahead if positive."""
        with self.file.open("r+b") as file:
            file.write(struct.pack("=q", shift_ms))
        self._shifts.append((time.time() * 1_000, shift_ms))

    def stamped(self, call: ArrivedCall) -> ArrivedCall:
        """Return a call with its arrival by this clock; right after a step back by the one before, if it was that."""
        before_ms = now_ms = 0
        put_at = float("-inf")
        for at, shift_ms in self._shifts:
            if at <= call.arrived_at:
                put_at, before_ms, now_ms = at, now_ms, shift_ms
        by_now = replace(call, arrived_at=call.arrived_at + now_ms)
        if by_now.lateness_ms < 0 and call.arrived_at < put_at + UNKNOWN_STEP_MS:
            return replace(call, arrived_at=call.arrived_at + before_ms)
        return by_now

    def now_ms(self) -> float:
        """Return what this clock says now, ms UTC."""
        return time.time() * 1_000 + (self._shifts[-1][1] if self._shifts else 0)
