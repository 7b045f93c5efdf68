"""What a process knows of operators' rules, for tests of single parts."""

from collections.abc import Callable
from typing import Any

from wangtimer.core.flow.limits import CALL_LIMITS, CallLimits
from wangtimer.core.flow.pauses import PAUSES, Pauses
from wangtimer.executor.throttle import Throttle
from wangtimer.store.replica import Replica, Replicas
from wangtimer.testing.doubles import HandClock, MemoryReplicaTexts, MemoryServer


class Rules:
    """Limits and pauses on a server; none was read yet."""

    def __init__(
        self, server: MemoryServer, clock: HandClock, limits_in_sql: Callable[[], CallLimits] = CallLimits
    ) -> None:
        texts: Any = MemoryReplicaTexts(server)
        self.clock = clock
        self.limits = Replica(CALL_LIMITS, limits_in_sql, texts, clock)
        self.pauses = Replica(PAUSES, Pauses, texts, clock)
        self.all = Replicas(texts, clock, (self.limits, self.pauses), ())

    def throttle(self, permits: Any) -> Throttle:
        """Return the throttle of a process that has just read them."""
        throttle = Throttle(permits, self.all, self.limits, self.pauses, self.clock)
        throttle.try_to_read_rules()
        return throttle


def no_rules() -> Rules:
    """Return rules that were read, and found to be none."""
    clock = HandClock()
    rules = Rules(MemoryServer("Redis", clock), clock)
    rules.all.read()
    return rules
