"""Thousands of connected consumers: the memory of their stream process, and how soon each gets a firing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.connected_consumers import crowded
from benchmarks.workload import Bench, Figure, Measurement


@dataclass(frozen=True, slots=True)
class ConsumerCrowd:
    """One stream process with its Redis and MariaDB, without the rest of a deployment."""

    consumers: int = 5_000
    groups: int = 100
    seconds: int = 20
    name: str = "consumers"

    @property
    def measures(self) -> str:
        """What is done."""
        return (
            f"{self.consumers:,} connected consumers in {self.groups} groups, one stream process; idle for "
            f"{self.seconds} s, then a firing for each, put at once"
        )

    @property
    def figures(self) -> Sequence[Figure]:
        """Memory, CPU, and how long after the put firings came."""
        return (
            Figure("peak_mb", "MB", at_most=500),
            Figure("connected_mb", "MB"),
            Figure("alone_mb", "MB"),
            Figure("idle_cpu_percent", "percent"),
            Figure("half_ms", "ms"),
            Figure("p99_ms", "ms"),
            Figure("all_ms", "ms"),
            Figure("lost", "firings", at_most=0, is_strict=True),
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run each time with a process of its own, as memory stays with one that has grown."""
        consumers = bench.scaled(self.consumers, 100)
        groups, seconds = bench.scaled(self.groups, 5), bench.scaled(self.seconds, 2)
        for _ in range(runs):
            yield crowded(bench.new_directory(), consumers, groups, seconds)


CONSUMERS = ConsumerCrowd()
