"""How many firings an app may replay and backfill within an hour."""

from dataclasses import dataclass

from wangtimer.core.apps.described_limits import AppLimit
from wangtimer.core.errors import Limited, TooFast
from wangtimer.store.app_directory import AppDirectory
from wangtimer.store.redis.quotas import Quota, Quotas, QuotaTaken

HOUR_MS = 3_600_000
NAME = "replays"


@dataclass(frozen=True, slots=True)
class Granted:
    """How many firings may be made now; `taken` of the app's quota, None: that is not counted."""

    app: str
    number: int
    taken: QuotaTaken | None = None


@dataclass(frozen=True, slots=True)
class ReplayQuota:
    """Grants firings that are asked for in numbers. While Redis is away all are granted."""

    directory: AppDirectory
    quotas: Quotas

    def take(self, app: str, wanted: int) -> Granted:
        """Return how many of the wanted firings may be made; raises `TooFast` where it would be none of them."""
        most = self.directory.limits_of(app).of(AppLimit.REPLAYS_PER_HOUR)
        if most is None or not wanted:
            return Granted(app, wanted)
        taken = self.quotas.take(app, Quota(NAME, most, HOUR_MS), wanted)
        if taken is None:
            return Granted(app, wanted)
        if not taken.granted:
            raise TooFast(
                Limited.REPLAYS,
                f"app {app!r} has replayed and backfilled {most:,} firings within this hour, and may do no more",
                taken.resets_in_s,
            )
        return Granted(app, taken.granted, taken)

    def give_back(self, granted: Granted, used: int) -> None:
        """Give back what was granted a moment ago and not used."""
        if granted.taken is not None:
            self.quotas.give_back(granted.app, granted.taken, granted.number - used)
