"""Who has rules of alerts, for processes that make no calls: read again every few seconds."""

from collections.abc import Callable
from contextlib import suppress

from wangtimer.core.alerts.alerted_apps import NOBODY, AlertedApps
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.pace import Pace
from wangtimer.core.time.clock import Clock

READ_EVERY_S = 3.0


class AlertedLately:
    """What `read` returned lately. While its store is away it is what was read before; nobody at first."""

    def __init__(self, read: Callable[[], AlertedApps], clock: Clock) -> None:
        self._read = read
        self._pace = Pace(clock, READ_EVERY_S)
        self._last: AlertedApps | None = None

    def __call__(self) -> AlertedApps:
        """Return them."""
        if self._pace.is_due():
            with suppress(StoreAway):
                self._last = self._read()
        return NOBODY if self._last is None else self._last

    def known(self) -> AlertedApps:
        """Return them; raises `StoreAway` while they were never read."""
        self()
        if self._last is None:
            self._last = self._read()
        return self._last
