"""Compares the calls that came with those that were due: late, lost, doubled and early ones."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from benchmarks.target import Arrival


@dataclass(frozen=True, slots=True)
class Punctuality:
    """How due calls compare with arrived ones. Lateness, in ms, is that of each call's first arrival."""

    count: int
    lost: int
    duplicates: int
    early: int
    p50_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float

    @classmethod
    def of(cls, due: Collection[int], arrivals: Sequence[Arrival]) -> "Punctuality":
        """Judge the arrivals of these ids; ignore others."""
        first: dict[int, int] = {}
        times: Counter[int] = Counter()
        for arrival in arrivals:
            times[arrival.id] += 1
            first[arrival.id] = min(arrival.late_ms, first.get(arrival.id, arrival.late_ms))
        wanted = set(due)
        late = sorted(ms for id_, ms in first.items() if id_ in wanted)
        return cls(
            count=len(late),
            lost=len(wanted) - len(late),
            duplicates=sum(number - 1 for id_, number in times.items() if id_ in wanted),
            early=sum(ms < 0 for ms in late),
            p50_ms=percentile(late, 0.5),
            p99_ms=percentile(late, 0.99),
            p999_ms=percentile(late, 0.999),
            max_ms=percentile(late, 1.0),
        )

    def figures(self) -> dict[str, float]:
        """Return what every workload with firings reports."""
        return {
            "late_p50_ms": self.p50_ms,
            "late_p99_ms": self.p99_ms,
            "late_p999_ms": self.p999_ms,
            "late_max_ms": self.max_ms,
            "lost": self.lost,
            "duplicates": self.duplicates,
            "early": self.early,
        }


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the value that this share of the ordered values does not exceed; NaN without values."""
    if not ordered:
        return float("nan")
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def drain_rate(due_ms: float, arrivals: Sequence[Arrival]) -> float:
    """Return the calls a second from their due moment to the last arrival; NaN without arrivals."""
    if not arrivals:
        return float("nan")
    took_ms = max(arrival.arrived_ms for arrival in arrivals) - due_ms
    return len(arrivals) / max(took_ms, 1) * 1_000
