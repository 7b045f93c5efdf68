"""How callbacks are made."""

from dataclasses import dataclass

from wangtimer.core.retry import RetryPolicy


@dataclass(frozen=True, slots=True)
class FireRule:
    """`timeout_ms` is the total time of a callback; `running_lease_ms` is how long a claim lasts without renewal."""

    timeout_ms: int
    running_lease_ms: int
    retry: RetryPolicy
