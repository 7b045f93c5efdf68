"""How many calls an app, or a target host, may have: a second, and at once."""

from collections.abc import Mapping
from dataclasses import dataclass

# A quiet second stores up no more calls than those of this time.
BURST_S = 0.1
# How many figures of a limit the text in Redis has; a later version may write more behind them.
KNOWN_FIGURES = 2


@dataclass(frozen=True, slots=True)
class CallLimit:
    """A limit of calls, over all callback processes; None: no such limit. 0 holds all calls."""

    per_second: float | None = None
    at_once: int | None = None

    @classmethod
    def of_limits(cls, limits: Mapping[str, object], of: str = "") -> "CallLimit | None":
        """Read `callsPerSecond` and `callsAtOnce`, with `of` behind them, of an app's limits; None without either."""
        per_second, at_once = limits.get(f"callsPerSecond{of}"), limits.get(f"callsAtOnce{of}")
        limit = cls(
            float(per_second) if isinstance(per_second, int | float) else None,
            int(at_once) if isinstance(at_once, int | float) else None,
        )
        return None if limit == cls() else limit

    @property
    def burst(self) -> float:
        """How many calls may begin together: what `BURST_S` stores up, and one, or a low rate never had a whole one."""
        return 1 + BURST_S * self.per_second if self.per_second else 0.0

    def most_together(self, number: int) -> int:
        """Return how many of so many calls the limit can let begin together at most."""
        by_rate = number if self.per_second is None else int(self.burst)
        return min(number, by_rate, number if self.at_once is None else self.at_once)


def limits_to_figures(limits: Mapping[str, CallLimit]) -> dict[str, list[float | None]]:
    """Return limits as texts have them."""
    return {name: [limit.per_second, limit.at_once] for name, limit in limits.items()}


def limits_of(figures: Mapping[str, list[float | None]]) -> dict[str, CallLimit]:
    """Read back what `limits_to_figures` returned; of a later format the figures that are known here."""
    return {name: CallLimit(*limit[:KNOWN_FIGURES]) for name, limit in figures.items()}  # type: ignore[arg-type]
