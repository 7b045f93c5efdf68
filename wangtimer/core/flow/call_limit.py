"""How many calls an app may make: a second, and at once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

# A quiet second stores up no more calls than those of this time.
BURST_S = 0.1
# How many figures of an app the text in Redis has; a later version may write more behind them.
KNOWN_FIGURES = 2


@dataclass(frozen=True, slots=True)
class CallLimit:
    """The limit of one app's calls, over all callback processes; None: no such limit. 0 holds all calls."""

    per_second: float | None = None
    at_once: int | None = None

    @classmethod
    def of_limits(cls, limits: Mapping[str, object]) -> "CallLimit | None":
        """Read `callsPerSecond` and `callsAtOnce` of an app's limits; None if it has neither."""
        per_second, at_once = limits.get("callsPerSecond"), limits.get("callsAtOnce")
        limit = cls(
            float(per_second) if isinstance(per_second, int | float) else None,
            int(at_once) if isinstance(at_once, int | float) else None,
        )
        return None if limit == cls() else limit

    @property
    def burst(self) -> float:
        """How many calls may begin together; the rest of a call beside the one, so that no moment's part is lost."""
        return 1 + BURST_S * self.per_second if self.per_second else 0.0

    def most_together(self, number: int) -> int:
        """Return how many of so many calls the limit can let begin together at most."""
        by_rate = number if self.per_second is None else int(self.burst)
        return min(number, by_rate, number if self.at_once is None else self.at_once)


def limits_to_text(limits: Mapping[str, CallLimit]) -> str:
    """Return the limits of all apps that have one, as Redis holds them."""
    return json.dumps(
        {app: [limit.per_second, limit.at_once] for app, limit in limits.items()}, separators=(",", ":")
    )


def limits_from_text(text: str) -> dict[str, CallLimit]:
    """Read back what `limits_to_text` wrote; of a later format the figures that are known here. Raises `ValueError`."""
    try:
        return {app: CallLimit(*figures[:KNOWN_FIGURES]) for app, figures in json.loads(text).items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no limits of apps: {error}") from error
