"""Celery tasks due at one moment by `eta`, by beat and by WangTimer: how late they begin, with and without a kill."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.celery_clock import KILLED_AHEAD_S, OURS, WAYS, Shop, of_way
from benchmarks.workload import Bench, Figure, Measurement

KILLED = {"": False, "_killed": True}
SITUATIONS = [(way, ending) for way in WAYS for ending in KILLED]


@dataclass(frozen=True, slots=True)
class CeleryBeside:
    """A measurement has each way's figures as `figure.way`, and `figure.way_killed`."""

    tasks: int = 1_000
    name: str = "celery"

    @property
    def measures(self) -> str:
        """What is done."""
        return (
            f"{self.tasks:,} Celery tasks due at one full minute, put on the queue then (`ready`), by `eta`, by beat, "
            "by WangTimer; a Redis, and a worker of 8 threads; undisturbed, and with all that knows the moment killed "
            f"{KILLED_AHEAD_S} s before"
        )

    @property
    def figures(self) -> Sequence[Figure]:
        """Of each way how late tasks began, and how many did not or did twice; ours has bounds."""
        return [
            figure
            for way, ending in SITUATIONS
            for figure in _figures(f"{way}{ending}", 0 if way == OURS else None)
        ]

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run all ways, one after the other, `runs` times."""
        tasks = bench.scaled(self.tasks, 20)
        for _ in range(runs):
            figures: dict[str, float] = {}
            with Shop(bench.new_directory()) as shop:
                for way, ending in SITUATIONS:
                    found = of_way(way, shop, bench.new_directory(), tasks, is_killed=KILLED[ending])
                    figures |= {f"{name}.{way}{ending}": value for name, value in found.items()}
            yield figures


def _figures(situation: str, at_most: float | None) -> Sequence[Figure]:
    return (
        Figure(f"late_p50_ms.{situation}", "ms"),
        Figure(f"late_p99_ms.{situation}", "ms"),
        Figure(f"early.{situation}", "tasks", at_most=at_most, is_strict=True),
        Figure(f"not_within_a_minute.{situation}", "tasks", at_most=at_most, is_strict=True),
        Figure(f"twice.{situation}", "tasks"),
    )


CELERY = CeleryBeside()
