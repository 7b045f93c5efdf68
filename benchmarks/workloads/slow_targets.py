"""A fifth of the targets take five seconds to answer: how late the calls to the others become."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from benchmarks.lateness import Punctuality
from benchmarks.load import Shot, dues_at, spread
from benchmarks.stand import Stand
from benchmarks.workload import PROMISES, Bench, Figure, Measurement, on_one_stand

RATE, SLOW_SHARE = 1_000, 0.2


@dataclass(frozen=True, slots=True)
class SlowTargets:
    """Fifty targets on addresses of their own; the slow ones are logged when their answer ends."""

    seconds: int = 20
    name: str = "slow"
    measures: str = "1,000/s at random ms for 20 s, a fifth of 50 targets takes 5 s to answer"

    @property
    def figures(self) -> Sequence[Figure]:
        """The lateness of calls to the other targets, and the promises over all."""
        others = Figure("other_p99_ms", "ms", at_most=50)
        return (Figure("other_p50_ms", "ms"), others, Figure("other_max_ms", "ms"), *PROMISES)

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run on one deployment."""
        seconds = bench.scaled(self.seconds, 6)
        return on_one_stand(bench.stand(), runs, lambda stand: self._run(stand, seconds))

    def _run(self, stand: Stand, seconds: int) -> Measurement:
        dues = dues_at(spread(stand.start_for(seconds * RATE), seconds, RATE))
        shots = [
            Shot(due, url) for due, url in zip(dues, cycle(stand.target.hosts(SLOW_SHARE)), strict=False)
        ]
        fired = stand.fire(shots)
        prompt = [shot.due.id for shot in shots if not shot.url.endswith("/slow")]
        late = Punctuality.of(prompt, fired.arrivals)
        return fired.figures() | {
            "other_p50_ms": late.p50_ms,
            "other_p99_ms": late.p99_ms,
            "other_max_ms": late.max_ms,
        }


SLOW_TARGETS = SlowTargets()
