"""Runs processes whose wall clock is off, by a library of ours that is loaded ahead of libc.

libfaketime will not do: it moves the stop-watch too, and Python's waits with it.
"""

import subprocess
from pathlib import Path

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
