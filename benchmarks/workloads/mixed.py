"""One app's burst while another app fires steadily: how late the other's firings become."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.lateness import Punctuality
from benchmarks.load import Shot, dues_at, spread
from benchmarks.stand import Stand
from benchmarks.workload import PROMISES, Bench, Figure, Measurement, on_one_stand

OTHERS_A_SECOND = 100
# The other app's seconds, and how many of them are before the burst.
SECONDS, BEFORE = 10, 3


@dataclass(frozen=True, slots=True)
class Mixed:
    """The burst of `bench` falls into the seconds of `other`."""

    burst: int = 50_000
    name: str = "mixed"
    measures: str = "50,000 of one app due at one moment while another app has 100/s"

    @property
    def figures(self) -> Sequence[Figure]:
        """The other app's lateness, and the promises over both."""
        others = Figure("other_p99_ms", "ms", at_most=1_000)
        return (Figure("other_p50_ms", "ms"), others, Figure("other_max_ms", "ms"), *PROMISES)

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run on one deployment."""
        number = bench.scaled(self.burst, 500)
        return on_one_stand(bench.stand(), runs, lambda stand: self._run(stand, number))

    def _run(self, stand: Stand, number: int) -> Measurement:
        start = stand.start_for(number + SECONDS * OTHERS_A_SECOND)
        others = dues_at(spread(start, SECONDS, OTHERS_A_SECOND))
        burst = dues_at([start + BEFORE * 1_000] * number)
        shots = [Shot(due, stand.target.url, "other") for due in others]
        fired = stand.fire(shots + [Shot(due, stand.target.url) for due in burst])
        late = Punctuality.of([due.id for due in others], fired.arrivals)
        return fired.figures() | {
            "other_p50_ms": late.p50_ms,
            "other_p99_ms": late.p99_ms,
            "other_max_ms": late.max_ms,
        }


MIXED = Mixed()
