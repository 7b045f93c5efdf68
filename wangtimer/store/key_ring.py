"""The keys that this process has seen lately, so that a request costs no look-up in SQL."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from wangtimer.loop import Loop
from wangtimer.store.sql.api_keys import NOTED_EVERY_MS, ApiKeyStore, FoundKey

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

    def __init__(self, keys: ApiKeyStore, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
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
