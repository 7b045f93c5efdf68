"""The apps that this process has seen lately, so that an operator's request costs no look-up in SQL."""

import time
from collections.abc import Callable, Mapping

import structlog

from wangtimer.core.apps.described_limits import AppLimit, LimitsInForce, limits_in_force
from wangtimer.core.apps.registered_app import RegisteredApp
from wangtimer.core.errors import StoreAway
from wangtimer.core.near_misses import near_miss
from wangtimer.store.key_ring import BELIEVED_FOR_S, MOST_KEPT
from wangtimer.store.sql.apps import AppStore

log = structlog.get_logger()


class AppDirectory:
    """Finds apps by name, and their limits. For several threads. `defaults` are the limits of apps without own ones."""

    def __init__(
        self,
        apps: AppStore,
        defaults: Mapping[AppLimit, int],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._apps = apps
        self._defaults = defaults
        self._monotonic = monotonic
        self._kept: dict[str, tuple[float, RegisteredApp]] = {}

    def find(self, name: str) -> RegisteredApp | None:
        """Return the app of this name; None where there is none. Raises `StoreAway`."""
        asked_at = self._monotonic()
        read_at, kept = self._kept.get(name, (0.0, None))
        if kept is not None and asked_at - read_at < BELIEVED_FOR_S:
            return kept
        found = self._apps.find(name)
        if found is None:
            self._kept.pop(name, None)
            return None
        if len(self._kept) >= MOST_KEPT:
            self._kept = {}
        self._kept[name] = (asked_at, found)
        return found

    def limits_of(self, name: str) -> LimitsInForce:
        """Return the limits of an app: while SQL is away those it had last, else the defaults."""
        try:
            found = self.find(name)
        except StoreAway as error:
            _, found = self._kept.get(name, (0.0, None))
            log.warning("limits_not_read", app=name, error=str(error))
        return limits_in_force(found, self._defaults)

    def meant_by(self, name: str) -> str | None:
        """Return the app that somebody meant who wrote an unknown name; None if none is near enough."""
        return near_miss(name, self._apps.names())
