"""How apps sign their callbacks, as this process knows it."""

from collections.abc import Collection, Iterable, Mapping

from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.executor.shared_copies import SharedCopies
from wangtimer.executor.sql_rest import SqlRest
from wangtimer.store.redis.marked_copies import SigningCopies
from wangtimer.store.sql.signing_store import SigningStore


class SharedSignings(SharedCopies[str, AppSigning]):
    """Remembers them by app; an app without a secret gets it when SQL is asked.

    Of an app that it leaves out nothing is sent.
    """

    kind = "signing"

    def __init__(self, copies: SigningCopies, store: SigningStore, clock: Clock, sql_rest: SqlRest) -> None:
        super().__init__(clock, sql_rest)
        self._copies = copies
        self._store = store

    def _copies_of(self, keys: list[str]) -> tuple[str | None, Mapping[str, AppSigning]]:
        return self._copies.get(keys)

    def _copy(self, found: Iterable[AppSigning]) -> None:
        self._copies.put(found)

    def _read_sql(self, keys: Collection[str]) -> Readable[str, AppSigning]:
        return self._store.needed(keys, int(self._clock.now_ms()))
