"""The same burst with one and two callback processes, one and two trigger processes: what scales, what limits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.workload import PROMISES, Bench, Figure, Measurement
from benchmarks.workloads.burst import drain

COPIES = ((1, 1), (1, 2), (2, 1), (2, 2))


def figure_name(triggers: int, callbacks: int) -> str:
    """Return the name of the figure of a deployment with these numbers of processes."""
    return f"calls_per_s.{triggers}_trigger_{callbacks}_callback"


@dataclass(frozen=True, slots=True)
class Scale:
    """Each of the four deployments is started once and drained `runs` times."""

    number: int = 50_000
    name: str = "scale"
    measures: str = "50,000 due at one moment; 1 and 2 trigger processes, 1 and 2 callback processes"

    @property
    def figures(self) -> Sequence[Figure]:
        """A rate for each deployment, and the promises over all."""
        rates = (Figure(figure_name(*copies), "/s", more_is_better=True) for copies in COPIES)
        return (*rates, *PROMISES)

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Drain each deployment `runs` times; a measurement has one drain of each."""
        number = bench.scaled(self.number, 1_000)
        columns = [self._drains(bench, number, runs, *copies) for copies in COPIES]
        for row in zip(*columns, strict=True):
            together = {name: sum(one[name] for one in row) for name in (f.name for f in PROMISES)}
            rates = {figure_name(*c): one["calls_per_s"] for c, one in zip(COPIES, row, strict=True)}
            yield rates | together

    def _drains(
        self, bench: Bench, number: int, runs: int, triggers: int, callbacks: int
    ) -> list[Measurement]:
        with bench.stand({"trigger": triggers, "callback": callbacks}) as stand:
            return [drain(stand, number) for _ in range(runs)]


SCALE = Scale()
