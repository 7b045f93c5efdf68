"""Compares the callbacks that came with the moments of the timers that were made."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wangtimer.stack.arrivals import Arrival


@dataclass(frozen=True, slots=True)
class Verdict:
    """Counts, and lateness of each timer's first callback in ms, ascending."""

    expected: int
    duplicates: int
    lateness_ms: tuple[float, ...]

    @property
    def lost(self) -> int:
        """Timers without a callback."""
        return self.expected - len(self.lateness_ms)

    @property
    def early(self) -> int:
        """Callbacks before their moment."""
        return sum(late < 0 for late in self.lateness_ms)

    @property
    def is_clean(self) -> bool:
        """Say whether every timer called exactly once and not early."""
        return not (self.lost or self.duplicates or self.early)

    def percentile_ms(self, share: float) -> float:
        """Return the lateness that this share of the callbacks does not exceed; NaN without callbacks."""
        if not self.lateness_ms:
            return float("nan")
        return self.lateness_ms[min(len(self.lateness_ms) - 1, int(len(self.lateness_ms) * share))]

    def __str__(self) -> str:
        shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
        lateness = ", ".join(f"{name} {self.percentile_ms(share):.1f}" for name, share in shares.items())
        return (
            f"{self.expected} timers: lost {self.lost}, duplicates {self.duplicates}, early {self.early}; "
            f"lateness in ms: {lateness}"
        )


def judge(moments: Mapping[int, int], arrivals: Sequence[Arrival]) -> Verdict:
    """Compare the arrivals of these timers with their moments (ms UTC) by id. Other arrivals are ignored."""
    wanted = {str(timer_id): moment for timer_id, moment in moments.items()}
    came = [arrival for arrival in arrivals if arrival.timer in wanted]
    first: dict[str, float] = {}
    for arrival in came:
        late = arrival.arrived_at - wanted[arrival.timer]
        first[arrival.timer] = min(late, first.get(arrival.timer, late))
    surplus = sum(number - 1 for number in Counter(arrival.timer for arrival in came).values())
    return Verdict(len(wanted), surplus, tuple(sorted(first.values())))
