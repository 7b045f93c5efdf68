"""How one variant of a peer fares under one load: lateness, drain rate, losses and CPU."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.due import Due
from benchmarks.lateness import Punctuality, drain_rate
from benchmarks.load import dues_at
from benchmarks.peers.peer import Peer
from benchmarks.processes import read_cpu
from benchmarks.target import LINES_WITHIN_S, Target

# First calls: they open connections, and load and compile code (V8), before anything is measured.
WARM_CALLS, WARM_FIRST_IN_MS, WARM_SPACING_MS = 2_000, 2_500, 2
# How long to wait for second deliveries of the last calls.
LINGER_S = 1.0
LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Load:
    """A number of calls; their moments are computed from the earliest possible first one."""

    name: str
    moments: Callable[[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Fared:
    """The result of one load."""

    punctuality: Punctuality
    calls_per_s: float
    cpu_s_per_1000: dict[str, float]
    accepted_s: float
    in_time: bool

    def figures(self) -> dict[str, object]:
        """Return the row of a report. CPU counts from the first hand-over on, without the producer's."""
        return {
            "count": self.punctuality.count,
            **self.punctuality.figures(),
            "calls_per_s": round(self.calls_per_s),
            "accepted_s": round(self.accepted_s, 2),
            "accepted_in_time": self.in_time,
            "cpu_s_per_1000": {kind: round(seconds, 3) for kind, seconds in self.cpu_s_per_1000.items()},
        }


@contextmanager
def running(peer: Peer, directory: Path, target: Target) -> Iterator[None]:
    """Start the peer and let it make its first calls; always stop it at the end."""
    directory.mkdir(parents=True)
    try:
        peer.start(directory, target.url)
        first = _now_ms() + WARM_FIRST_IN_MS
        warming = dues_at(first + WARM_SPACING_MS * number for number in range(WARM_CALLS))
        target.forget()
        peer.schedule(warming)
        _wait_for(len(warming), target, WARM_FIRST_IN_MS / 1_000 + 30)
        yield
    finally:
        peer.stop()


def measure(
    peer: Peer, target: Target, moments: Callable[[int], Sequence[int]], lead_ms: int, wait_s: float
) -> Fared:
    """Hand over moments that begin `lead_ms` from now; wait at most `wait_s` after the last one."""
    target.forget()
    before = read_cpu(peer.pids())
    began_at = _now_ms()
    dues = dues_at(moments(began_at + lead_ms))
    peer.schedule(dues)
    accepted_at = _now_ms()
    last_ms = max(due.at_ms for due in dues)
    _wait_for(len(dues), target, (last_ms - accepted_at) / 1_000 + wait_s)
    spent = before.until(read_cpu(peer.pids()))
    time.sleep(LINGER_S + LINES_WITHIN_S)
    return _fared(dues, target, spent, began_at, accepted_at)


def _fared(
    dues: Sequence[Due], target: Target, spent: dict[str, float], began_at: int, accepted_at: int
) -> Fared:
    first_ms = min(due.at_ms for due in dues)
    arrivals = target.arrivals()
    punctuality = Punctuality.of([due.id for due in dues], arrivals)
    return Fared(
        punctuality=punctuality,
        calls_per_s=drain_rate(first_ms, arrivals),
        cpu_s_per_1000={kind: s / max(1, punctuality.count) * 1_000 for kind, s in spent.items()},
        accepted_s=(accepted_at - began_at) / 1_000,
        in_time=accepted_at <= first_ms,
    )


def _wait_for(number: int, target: Target, seconds: float) -> None:
    arrived, deadline = target.watch(), time.monotonic() + seconds
    while arrived() < number and time.monotonic() < deadline:
        time.sleep(LOOK_S)


def _now_ms() -> int:
    return int(time.time() * 1_000)
