"""Firings at separate moments: how late they arrive (steady, brisk, ticking, heavy)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.load import Shot, dues_at, each_second, spread
from benchmarks.stand import A_PROCESS_A_CORE, Stand
from benchmarks.workload import PROMISES, Bench, Figure, Measurement, on_one_stand

# Takes a start (ms UTC), seconds, and firings a second; returns the moments.
Moments = Callable[[int, float, int], list[int]]
SHORTEST_S = 3


@dataclass(frozen=True, slots=True)
class Timely:
    """`rate` firings a second for `seconds`, at the moments of `moments`."""

    name: str
    measures: str
    moments: Moments
    rate: int
    seconds: int
    bounds: tuple[Figure, ...]

    @property
    def figures(self) -> Sequence[Figure]:
        """Lateness with this workload's bounds, CPU, and the promises."""
        own = {figure.name: figure for figure in self.bounds}
        names = ("late_p50_ms", "late_p99_ms", "late_p999_ms", "late_max_ms")
        lateness = [own.get(name, Figure(name, "ms")) for name in names]
        cpu = own.get("our_cpu_us_per_firing", Figure("our_cpu_us_per_firing", "µs"))
        return (*lateness, cpu, *PROMISES)

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run on one deployment with two callback processes."""
        seconds = bench.scaled(self.seconds, SHORTEST_S)
        return on_one_stand(bench.stand(A_PROCESS_A_CORE), runs, lambda stand: self._run(stand, seconds))

    def _run(self, stand: Stand, seconds: int) -> Measurement:
        start = stand.start_for(seconds * self.rate)
        dues = dues_at(self.moments(start, seconds, self.rate))
        return stand.fire([Shot(due, stand.target.url) for due in dues]).figures()


STEADY = Timely(
    "steady",
    "1,000/s at random ms for 60 s",
    spread,
    rate=1_000,
    seconds=60,
    bounds=(
        Figure("late_p99_ms", "ms", at_most=5),
        Figure("late_max_ms", "ms", at_most=50),
        Figure("our_cpu_us_per_firing", "µs", at_most=250),
    ),
)
BRISK = Timely(
    "brisk",
    "5,000/s at random ms for 30 s",
    spread,
    rate=5_000,
    seconds=30,
    bounds=(Figure("late_p99_ms", "ms", at_most=25),),
)
TICKING = Timely(
    "ticking",
    "1,000 due at each full second for 10 s",
    each_second,
    rate=1_000,
    seconds=10,
    bounds=(Figure("late_p99_ms", "ms", at_most=90),),
)
HEAVY = Timely(
    "heavy",
    "5,000 due at each full second for 30 s",
    each_second,
    rate=5_000,
    seconds=30,
    bounds=(Figure("late_p99_ms", "ms", at_most=350),),
)
