"""How soon answers may give timers their next moments: an app with `firingsPerSecond` gets as many a second."""

from dataclasses import dataclass

import structlog

from wangtimer.core.apps.described_limits import AppLimit
from wangtimer.core.errors import StoreAway
from wangtimer.core.time.clock import Clock
from wangtimer.store.app_directory import AppDirectory
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ControlPace:
    """One moment for each app: the last that was taken."""

    redis: RedisConnection
    keys: Keys
    clock: Clock
    directory: AppDirectory

    def is_kept(self, app: str) -> bool:
        """Tell whether an app has such a limit."""
        return self._most(app) is not None

    def next_free(self, app: str) -> int:
        """Take an app's next free moment, ms UTC; 0 where it has no limit, or while Redis is away."""
        most = self._most(app)
        if most is None:
            return 0
        arguments = [int(self.clock.now_ms()) * 1_000, 1_000_000 // most]
        try:
            return int(self.redis.run("control_pace", [self.keys.control_pace(app)], arguments)) // 1_000
        except StoreAway as error:
            log.warning("controls_not_paced", app=app, error=str(error))
            return 0

    def _most(self, app: str) -> int | None:
        return self.directory.limits_of(app).of(AppLimit.FIRINGS_PER_SECOND)
