"""The keys and apps that this process has seen lately, so that a request costs no look-up in SQL."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

import structlog

from wangtimer.base.loop import Loop
from wangtimer.core.apps.described_limits import AppLimit, LimitsInForce, limits_in_force
from wangtimer.core.apps.registered_app import RegisteredApp
from wangtimer.core.errors import StoreAway
from wangtimer.core.near_misses import near_miss
from wangtimer.store.sql.apps import NOTED_EVERY_MS, ApiKeyStore, AppStore, FoundKey

log = structlog.get_logger()


# s that a key is believed without asking: what an operator revokes, disables or makes counts everywhere within 5 s, the
# time that SQL takes to answer included.
BELIEVED_FOR_S = 3.0
# Keys kept at once, and as many ids that have no key. The oldest of a kind give way, so made-up ids push out no key.
MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class _Kept:
    read_at: float
    found: FoundKey | None


class KeyRing:
    """Finds keys by id, and notes when they were used. For several threads."""

    def __init__(self, api_keys: ApiKeyStore, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._keys = api_keys
        self._monotonic = monotonic
        self._keeping = Lock()
        self._kept: dict[str, _Kept] = {}
        # Ids that have no key, apart.
        self._missing: dict[str, _Kept] = {}
        self._has_any = False
        self._noting = Lock()
        self._noted: dict[str, int] = {}
        self._to_note: dict[str, int] = {}
        self._loop = Loop("key-uses", self._note_all)

    def find(self, key_id: str) -> FoundKey | None:
        """Return the key of this id; None where there is none. Raises `StoreAway`."""
        kept, asked_at = self._kept.get(key_id) or self._missing.get(key_id), self._monotonic()
        if kept is not None and asked_at - kept.read_at < BELIEVED_FOR_S:
            return kept.found
        found = self._keys.find(key_id)
        self._keep(key_id, _Kept(asked_at, found))
        return found

    def _keep(self, key_id: str, kept: _Kept) -> None:
        """Keep it as the latest of its kind, and drop the oldest one where there are too many."""
        kind, other = (self._missing, self._kept) if kept.found is None else (self._kept, self._missing)
        with self._keeping:
            other.pop(key_id, None)
            kind.pop(key_id, None)
            if len(kind) >= MOST_KEPT:
                del kind[next(iter(kind))]
            kind[key_id] = kept

    def last_known(self, key_id: str) -> FoundKey | None:
        """Return the key as this process saw it last, however long ago; None where it never did."""
        kept = self._kept.get(key_id)
        return None if kept is None else kept.found

    def has_any(self) -> bool:
        """Tell whether there is a key at all; asks SQL until there is one. Raises `StoreAway`."""
        self._has_any = self._has_any or self._keys.has_any()
        return self._has_any

    def note_use(self, key_id: str, now: int) -> None:
        """Note that a key was used (ms UTC): written by a thread of its own, once a minute at most."""
        if now - self._noted.get(key_id, 0) < NOTED_EVERY_MS:
            return
        with self._noting:
            if len(self._noted) >= MOST_KEPT:
                self._noted = {}
            self._noted[key_id] = now
            self._to_note[key_id] = now
        self._loop.start()
        self._loop.wake()

    def _note_all(self) -> None:
        """Note the uses gathered by now. One that SQL does not take is noted with the key's next use in a minute."""
        with self._noting:
            used_at, self._to_note = self._to_note, {}
        if used_at:
            self._keys.note_uses(used_at)


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
