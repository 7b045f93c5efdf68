"""How much room the outbox has: while SQL is away, firing goes on only as far as Redis can hold the outcomes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.store.redis.outbox import Outbox

log = structlog.get_logger()

LOOK_S = 1.0
# From this share of the bound on, arming slows down more and more, and an alarm is logged.
ALARM_SHARE = 0.5


@dataclass(slots=True)
class OutboxRoom:
    """Arming slows down well before the bound, because outcomes of armed and running firings still come."""

    outbox: Outbox
    most_bytes: int
    monotonic: Callable[[], float]
    _used: float = field(default=0.0, init=False)
    _looked_at: float = field(default=float("-inf"), init=False)

    def share(self) -> float:
        """Return the share of the usual credit that may be armed: 1 up to half of the bound, then less, 0 at the bound.

        Redis is asked at most once a second; while it does not answer, its last answer counts.
        """
        now = self.monotonic()
        if now - self._looked_at >= LOOK_S:
            self._looked_at = now
            self._look()
        return max(0.0, min(1.0, (1 - self._used) / (1 - ALARM_SHARE)))

    def _look(self) -> None:
        try:
            used = self.outbox.bytes() / self.most_bytes
        except StoreAway:
            return
        was, self._used = self._used, used
        if used >= 1 > was:
            log.error(
                "outbox_full", percent=round(used * 100), effect="nothing is armed until SQL takes outcomes"
            )
        elif used >= ALARM_SHARE > was:
            log.warning("outbox_half_full", percent=round(used * 100), effect="arming slows down")
