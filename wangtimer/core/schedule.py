"""A schedule is a cron expression or a single moment; both answer the same three questions."""

from dataclasses import dataclass

from wangtimer.core.cron import Cron


@dataclass(frozen=True, slots=True)
class Once:
    """One moment, `at_ms` (ms since epoch, UTC)."""

    at_ms: int

    def moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Return the moments in (after_ms, until_ms], the first `limit` of them at most."""
        return [self.at_ms][:limit] if after_ms < self.at_ms <= until_ms else []

    def first_after(self, after_ms: int) -> int | None:
        """Return the moment if it is after `after_ms`, else None."""
        return self.at_ms if self.at_ms > after_ms else None

    def matches(self, moment_ms: int) -> bool:
        """Tell whether `moment_ms` is the moment."""
        return moment_ms == self.at_ms


Schedule = Cron | Once
