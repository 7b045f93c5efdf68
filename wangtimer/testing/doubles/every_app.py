"""The apps of a test: whoever is named exists."""

from collections.abc import Mapping

from wangtimer.core.apps.described_limits import AppLimit
from wangtimer.core.apps.registered_app import RegisteredApp
from wangtimer.core.time.clock import Clock
from wangtimer.store.app_directory import AppDirectory
from wangtimer.store.sql.apps import AppStore


class EveryApp(AppDirectory):
    """Makes the app that a request names, if need be."""

    def __init__(self, apps: AppStore, clock: Clock, defaults: Mapping[AppLimit, int]) -> None:
        super().__init__(apps, defaults)
        self._made_in = apps
        self._clock = clock

    def find(self, name: str) -> RegisteredApp | None:
        """Return the app, made if there is none of this name."""
        found = super().find(name)
        if found is None:
            self._made_in.create_missing(name, {}, int(self._clock.now_ms()))
        return found or super().find(name)
