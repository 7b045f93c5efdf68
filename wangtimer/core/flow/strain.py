"""Strain: firings reach their process close to their moments, so work that can wait is to wait."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from wangtimer.core.flow.firing import DueMember

# Firings are armed `lead_ms` ahead. If less than this share of it is left when their process takes them, or they are
# late, they are close.
CLOSE_SHARE = 0.2
# If so many of what one process took within a period are close, the deployment is strained. Fewer may be close by
# themselves: retries, and firings that somebody asked for.
STRAINED_SHARE = 0.25
# Fewer close ones are no sign that CPU is short: a service may fire a timer by hand each second.
LEAST_CLOSE = 10
PERIOD_S = 1.0
# How long the word of strain counts: a process tells once a period while it lasts.
COUNTS_MS = 3_000


@dataclass(slots=True)
class Strain:
    """Counts, for one process, how many firings it takes close to their moments. Any thread may note."""

    lead_ms: float
    _taken: int = field(default=0, init=False)
    _close: int = field(default=0, init=False)
    _ends_at: float = field(default=float("-inf"), init=False)
    _noting: Lock = field(default_factory=Lock, init=False)

    def note(self, members: Sequence[DueMember], now_ms: float, now: float) -> bool:
        """Count a chunk of which some were taken now (ms UTC, s of the stop-watch); tell of the period that it ends.

        True where that period was strained: once a period at most, and never for one that is long over.
        """
        close_before = now_ms + CLOSE_SHARE * self.lead_ms
        close = len([due for due in members if due.due_at < close_before])
        with self._noting:
            is_strained = False
            if now >= self._ends_at:
                is_strained = (
                    now < self._ends_at + COUNTS_MS / 1_000
                    and self._close >= LEAST_CLOSE
                    and self._close > STRAINED_SHARE * self._taken
                )
                self._taken = self._close = 0
                self._ends_at = now + PERIOD_S
            self._taken += len(members)
            self._close += close
            return is_strained
