"""One turn of `make pair`: fires the named rows on one deployment of a commit, and prints their figures as JSON.

It runs in the commit's worktree, by the commit's Python. The commit's own `benchmarks` start the deployment, draw the
moments and read the CPU. This file says which loads are made and which figures are taken of them.
"""

import json
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from benchmarks.load import Shot, dues_at, each_second, spread
from benchmarks.processes import CpuReading
from benchmarks.redis_figures import commands_processed
from benchmarks.stand import A_PROCESS_A_CORE, SERVERS, Fired, MadeTooLate, Stand
from benchmarks.target import Target

# Of a row at full scale, from a start (ms UTC) and a share of it: the moments. Ten to fifteen seconds suffice for a p99
# of ten thousand calls.
ROWS: Mapping[str, Callable[[int, float], list[int]]] = {
    "steady": lambda start, share: spread(start, 15 * share, 1_000),
    "brisk": lambda start, share: spread(start, 10 * share, 5_000),
    "ticking": lambda start, share: each_second(start, 10 * share, 1_000),
    "heavy": lambda start, share: each_second(start, 10 * share, 5_000),
    "burst": lambda start, share: [start] * int(40_000 * share),
}
DRAINED = ("burst",)


@dataclass(frozen=True, slots=True)
class Counted:
    """What the two Redis servers and SQL have run so far; commands inside scripts count."""

    store_commands: int
    broker_commands: int
    statements: int


class CountingStand(Stand):
    """A stand that counts what was run during a load: `fire` reads the CPU last before it and first after it."""

    readings: tuple[Counted, ...] = ()

    def read_cpu(self) -> CpuReading:
        """Return the CPU seconds used so far, and keep the counts of this and the previous reading."""
        self.readings = (*self.readings[-1:], self._count())
        return super().read_cpu()

    def outlast(self, shots: Sequence[Shot]) -> None:
        """Return when no firing of these is pending any more, or a minute has passed."""
        moments = [shot.due.at_ms for shot in shots]
        self._await_outcomes(min(moments), max(moments))

    def _count(self) -> Counted:
        with self.engine.connect() as sql:
            statements = int(sql.execute(text("SHOW GLOBAL STATUS LIKE 'Questions'")).one()[1])
        servers = (self.deployment.store, self.deployment.broker)
        return Counted(*(commands_processed(server.url()) for server in servers), statements)


def fire(stand: CountingStand, row: str, share: float) -> dict[str, float]:
    """Fire a row; return its figures.

    A load that was made too late is made once more: by then the stand knows how long making one takes here.
    """
    shots = draw(stand, row, share)
    try:
        fired = stand.fire(shots)
    except MadeTooLate:
        stand.outlast(shots)
        shots = draw(stand, row, share)
        fired = stand.fire(shots)
    before, after = stand.readings
    return figures(fired, is_drain=row in DRAINED) | {
        "store_commands_per_firing": (after.store_commands - before.store_commands) / len(shots),
        "broker_commands_per_firing": (after.broker_commands - before.broker_commands) / len(shots),
        "statements_per_firing": (after.statements - before.statements) / len(shots),
    }


def draw(stand: CountingStand, row: str, share: float) -> list[Shot]:
    """Draw the shots of a row, so far ahead that they can be made by then."""
    moments = ROWS[row](stand.start_for(len(ROWS[row](0, share))), share)
    return [Shot(due, stand.target.url) for due in dues_at(moments)]


def figures(fired: Fired, *, is_drain: bool) -> dict[str, float]:
    """Return a load's lateness, losses and CPU without the servers'; of a drain also its rate."""
    first: dict[int, int] = {}
    for arrival in fired.arrivals:
        first[arrival.id] = min(arrival.late_ms, first.get(arrival.id, arrival.late_ms))
    due = [shot.due.id for shot in fired.shots]
    calls = Counter(arrival.id for arrival in fired.arrivals)
    late_ms = sorted(first[one] for one in due if one in first)
    cpu_s = sum(seconds for kind, seconds in fired.cpu_s.items() if kind not in SERVERS)
    found = {
        "cpu_us_per_firing": cpu_s / len(due) * 1e6,
        "late_p99_ms": late_ms[int(len(late_ms) * 0.99)] if late_ms else float("nan"),
        "lost": len(due) - len(late_ms),
        "early": sum(late < 0 for late in late_ms),
        "not_succeeded": fired.not_succeeded,
        "called_again": sum(calls[one] > 1 for one in due),
    }
    if is_drain:
        found["calls_per_s"] = len(late_ms) / max(late_ms[-1], 1) * 1_000 if late_ms else 0.0
    return found


def main() -> None:
    """`turn.py SHARE ROW ...`: print `{row: {figure: value}}`."""
    share, rows = float(sys.argv[1]), sys.argv[2:]
    # So that servers and processes are ended in order by it too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="wangtimer-pair-") as made:
        directory = Path(made)
        with Target(directory / "target") as target:
            stand = CountingStand(directory / "stand", target, A_PROCESS_A_CORE)
            with stand:
                found = {row: fire(stand, row, share) for row in rows}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
