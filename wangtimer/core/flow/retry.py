"""When a failed attempt is made again."""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`most` attempts in a row, with pauses of 1, 2, 4, 8 s ... (`base_ms` doubled) between, each spread by ±`jitter`.

    A replay is the attempt after the last: it begins a new row.
    """

    most: int = 5
    base_ms: int = 1_000
    jitter: float = 0.2

    def pause_ms(self, attempt: int, random: Random) -> int | None:
        """Return how long to wait after failed `attempt` (from 1), or None when it was the last of its row."""
        number = (attempt - 1) % self.most + 1
        if number == self.most:
            return None
        spread = 1 + self.jitter * (2 * random.random() - 1)
        return int(self.base_ms * 2 ** (number - 1) * spread)
