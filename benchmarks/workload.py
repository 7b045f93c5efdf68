"""A workload: its name, what it measures, its figures with their bounds, and how it runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from typing import Protocol

from benchmarks.stand import Stand
from benchmarks.target import Target


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a workload: its unit, which direction is worse, and its bound, if any.

    A bound holds for the median of the runs; a strict bound holds for every run.
    """

    name: str
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    is_strict: bool = False
    more_is_better: bool = False

    def worst(self, values: Sequence[float]) -> float:
        """Return the worst of the runs."""
        if any(isnan(value) for value in values):
            return float("nan")
        return min(values) if self._rises else max(values)

    def judged(self, values: Sequence[float]) -> float:
        """Return the value that is compared with the bound."""
        return self.worst(values) if self.is_strict else middle(values)

    def is_kept(self, values: Sequence[float]) -> bool:
        """Say whether the bound is kept; a figure that could not be measured misses it."""
        value = self.judged(values)
        over = self.at_most is not None and not value <= self.at_most
        under = self.at_least is not None and not value >= self.at_least
        return not (over or under)

    @property
    def has_bound(self) -> bool:
        """Whether it has a bound."""
        return self.at_most is not None or self.at_least is not None

    @property
    def bound(self) -> str:
        """The bound in words; empty without one."""
        limits = (("≤", self.at_most), ("≥", self.at_least))
        every = " in every run" if self.is_strict else ""
        return "".join(f"{sign} {limit:,g}{every}" for sign, limit in limits if limit is not None)

    @property
    def _rises(self) -> bool:
        return self.more_is_better or self.at_least is not None


@dataclass(frozen=True, slots=True)
class Bench:
    """What a workload gets: the shared target, a directory, and the share of the full size to run."""

    directory: Path
    target: Target
    scale: float

    def scaled(self, number: float, least: int) -> int:
        """Return a number of timers or seconds at this scale, at least `least`."""
        return max(least, round(number * self.scale))

    def stand(self, copies: Mapping[str, int] | None = None, **settings: str | int) -> Stand:
        """Return a whole new deployment, not started yet."""
        return Stand(self.new_directory(), self.target, copies, **settings)

    def new_directory(self) -> Path:
        """Return an empty directory."""
        return Path(mkdtemp(dir=self.directory))


def middle(values: Sequence[float]) -> float:
    """Return the median; NaN where one of the values is NaN."""
    return float("nan") if any(isnan(value) for value in values) else median(values)


Measurement = Mapping[str, float]


class Workload(Protocol):
    """Each is a small class in `benchmarks/workloads/`."""

    @property
    def name(self) -> str:
        """Its word on the command line."""

    @property
    def measures(self) -> str:
        """What it does, in one line."""

    @property
    def figures(self) -> Sequence[Figure]:
        """The figures of the table. A measurement may have more; only the JSON shows those."""

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run it `runs` times."""


# A workload with firings that misses one of these has failed, whatever its speed.
PROMISES = (
    Figure("lost", "firings", at_most=0, is_strict=True),
    Figure("early", "firings", at_most=0, is_strict=True),
    Figure("not_succeeded", "outcome rows", at_most=0, is_strict=True),
    Figure("duplicates", "calls"),
)


def on_one_stand(stand: Stand, runs: int, run: Callable[[Stand], Measurement]) -> Iterator[Measurement]:
    """Run `runs` times on one deployment that stays up."""
    with stand:
        for _ in range(runs):
            yield run(stand)
