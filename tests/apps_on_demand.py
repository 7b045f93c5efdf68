"""Apps for tests that are about something else: whoever is named exists."""

from collections.abc import Mapping

from wangtimer.core.apps.app_limits import AppLimit
from wangtimer.core.apps.registered_app import RegisteredApp
from wangtimer.core.time.clock import Clock
from wangtimer.store.app_directory import AppDirectory
from wangtimer.store.sql.apps import AppStore


class AppsOnDemand(AppDirectory):
    """Makes the app of a request that names an unknown one."""

    def __init__(self, apps: AppStore, clock: Clock, defaults: Mapping[AppLimit, int] | None = None) -> None:
        super().__init__(apps, defaults)
        self._made_by = apps
        self._clock = clock

    def find(self, name: str) -> RegisteredApp | None:
        """Return the app, made if need be."""
        found = super().find(name)
        if found is None:
            self._made_by.create_missing(name, {}, int(self._clock.now_ms()))
        return found or super().find(name)
