"""How the backlog of an outage was worked off, and what that cost the firings that came due meanwhile."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tests.chaos.checker import Lateness
from tests.chaos.load import Window
from tests.servers.nginx import ArrivedCall

# The processes come back one by one; what comes due before this is neither backlog nor current.
RETURN_MS = 10_000


@dataclass(frozen=True, slots=True)
class CatchUp:
    """`backlog` firings came due before the return, were called within `worked_off_s` of it, `most_a_second` at most.

    `current` is of what came due from `RETURN_MS` after the return until the backlog was worked off.
    """

    backlog: int
    worked_off_s: float
    most_a_second: int
    current: Lateness

    @classmethod
    def of(cls, calls: Iterable[ArrivedCall], window: Window, back_at: int) -> "CatchUp":
        mine = [call for call in calls if window.start <= call.fire_at and call.arrived_at >= back_at]
        backlog = [call for call in mine if call.fire_at < back_at]
        over_at = max((call.arrived_at for call in backlog), default=float(back_at))
        each_second = Counter(int(call.arrived_at) // 1_000 for call in backlog)
        current = (c.lateness_ms for c in mine if back_at + RETURN_MS <= c.fire_at < over_at)
        return cls(
            len(backlog),
            (over_at - back_at) / 1_000,
            max(each_second.values(), default=0),
            Lateness.of(current),
        )

    def told(self) -> str:
        """Return it in words."""
        return (
            f"{self.backlog} of the outage called within {self.worked_off_s:.0f} s of the return, at most "
            f"{self.most_a_second} a second; p99 of the {self.current.count} that came due meanwhile "
            f"{self.current.p99_ms:.0f} ms"
        )
