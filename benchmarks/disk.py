"""How long the disk takes to make a small write durable, while something else is measured."""

import os
import time
from pathlib import Path
from threading import Event, Thread

from benchmarks.lateness import percentile

EVERY_S = 0.02
PAGE_BYTES = 4_096


class DiskWatch:
    """`with DiskWatch(directory) as disk: ...; disk.figures()`: its writes wait for the disk as a commit does.

    It writes fifty pages a second, each made durable (fdatasync), to a file beside the database's.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / "disk-watch"
        self._took_ms: list[float] = []
        self._ends = Event()
        self._thread = Thread(target=self._watch, name="disk-watch", daemon=True)

    def __enter__(self) -> "DiskWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()
        self._path.unlink()

    def figures(self) -> dict[str, float]:
        """Return the duration, ms, that the slowest hundredth of the writes reached, and that of the slowest write."""
        took_ms = sorted(self._took_ms)
        return {"disk_sync_p99_ms": percentile(took_ms, 0.99), "disk_sync_max_ms": percentile(took_ms, 1.0)}

    def _watch(self) -> None:
        file = os.open(self._path, os.O_CREAT | os.O_WRONLY)
        try:
            while not self._ends.wait(EVERY_S):
                began_at = time.monotonic()
                os.pwrite(file, bytes(PAGE_BYTES), 0)
                os.fdatasync(file)
                self._took_ms.append((time.monotonic() - began_at) * 1_000)
        finally:
            os.close(file)
