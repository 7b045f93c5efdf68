"""Schedulers, triggers and callbacks freeze for a while: how fast the backlog drains, how late new firings are."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.lateness import Punctuality
from benchmarks.load import Shot, dues_at, spread
from benchmarks.stand import A_PROCESS_A_CORE, Stand
from benchmarks.workload import PROMISES, Bench, Figure, Measurement, on_one_stand

BACKLOG_A_SECOND, NEW_A_SECOND, NEW_SECONDS = 5_000, 300, 8
# New firings come due from this long after the return: threads need a moment to resume.
RETURN_MS = 300
FROZEN = ("scheduler", "trigger", "callback")


@dataclass(frozen=True, slots=True)
class Outage:
    """`BACKLOG_A_SECOND` firings a second come due while the processes are frozen."""

    seconds: int = 15
    name: str = "outage"
    measures: str = (
        f"schedulers, triggers and two callback processes frozen for 15 s of {BACKLOG_A_SECOND:,}/s; {NEW_A_SECOND}/s "
        "come due from their return on"
    )

    @property
    def figures(self) -> Sequence[Figure]:
        """The lateness of new firings, the time until the backlog is gone, and the promises over all."""
        return (
            Figure("new_p50_ms", "ms"),
            Figure("new_p99_ms", "ms", at_most=1_000),
            Figure("new_max_ms", "ms"),
            Figure("drained_s", "s"),
            *PROMISES,
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run on one deployment."""
        seconds = bench.scaled(self.seconds, 3)
        return on_one_stand(bench.stand(A_PROCESS_A_CORE), runs, lambda stand: self._run(stand, seconds))

    def _run(self, stand: Stand, seconds: int) -> Measurement:
        start = stand.start_for(seconds * BACKLOG_A_SECOND + NEW_SECONDS * NEW_A_SECOND)
        back_ms = start + seconds * 1_000
        backlog = dues_at(spread(start, seconds, BACKLOG_A_SECOND))
        new = dues_at(spread(back_ms + RETURN_MS, NEW_SECONDS, NEW_A_SECOND))
        shots = [Shot(due, stand.target.url) for due in backlog + new]
        fired = stand.fire(shots, lambda: _freeze(stand, start / 1_000, back_ms / 1_000))
        late = Punctuality.of([due.id for due in new], fired.arrivals)
        waited = {due.id for due in backlog}
        last_ms = max((one.arrived_ms for one in fired.arrivals if one.id in waited), default=back_ms)
        return fired.figures() | {
            "new_p50_ms": late.p50_ms,
            "new_p99_ms": late.p99_ms,
            "new_max_ms": late.max_ms,
            "drained_s": (last_ms - back_ms) / 1_000,
        }


def _freeze(stand: Stand, start: float, back: float) -> None:
    """Freeze the processes from one moment (s UTC) to another."""
    pids = [pid for kind, ids in stand.pids().items() if kind in FROZEN for pid in ids]
    stand.tend_for(start - time.time())
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        stand.tend_for(back - time.time())
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


OUTAGE = Outage()
