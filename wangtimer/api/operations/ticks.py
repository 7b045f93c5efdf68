"""Whether somebody looks, each second, for what is due: where nobody does, every other figure stays as it was."""

from collections.abc import Callable

from wangtimer.scheduler import LOOK_AHEAD_MS
from wangtimer.wiring import Wiring

# s; beat ticks each second. As long as a worker that is started anew, or a standby, may take.
MOST_S = 10.0


class LastTick:
    """When the scheduler last looked, as Redis has it.

    A Redis that was just emptied has no mark: what this process saw last counts then, or when it was started.
    """

    def __init__(self, wiring: Callable[[], Wiring]) -> None:
        self._wiring = wiring
        self._seen_at: float | None = None

    def seconds_since(self) -> float:
        """Return how long ago that was. Raises `StoreAway`."""
        wiring = self._wiring()
        now, until = wiring.clock.monotonic(), wiring.agenda.looked_until()
        if until is not None:
            since = max(0.0, (wiring.clock.now_ms() - (until - LOOK_AHEAD_MS)) / 1_000)
            self._seen_at = now - since
        elif self._seen_at is None:
            self._seen_at = now
        return now - self._seen_at
