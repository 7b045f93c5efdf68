"""The named targets of apps, as this process knows them."""

from collections.abc import Collection, Iterable, Mapping

from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.core.timers.named_target import NamedTarget, TargetKey
from wangtimer.executor.shared_copies import BYTES_OF_ONE, SharedCopies
from wangtimer.executor.sql_rest import SqlRest
from wangtimer.store.redis.marked_copies import TargetCopies
from wangtimer.store.seals import Seals
from wangtimer.store.sql.target_store import TargetStore


class SharedTargets(SharedCopies[TargetKey, NamedTarget]):
    """Remembers them by app and name, their secrets in their places. Through one that it leaves out nothing is sent."""

    kind = "target"

    def __init__(
        self, copies: TargetCopies, store: TargetStore, seals: Seals, clock: Clock, sql_rest: SqlRest
    ) -> None:
        super().__init__(clock, sql_rest)
        self._copies = copies
        self._store = store
        self._seals = seals

    def _copies_of(self, keys: list[TargetKey]) -> tuple[str | None, Mapping[TargetKey, NamedTarget]]:
        return self._copies.get(keys)

    def _copy(self, found: Iterable[NamedTarget]) -> None:
        self._copies.put(found)

    def _read_sql(self, keys: Collection[TargetKey]) -> Readable[TargetKey, NamedTarget]:
        found = self._store.stored(keys)
        for key in set(keys) - found.keys() - found.bad.keys():
            found.bad[key] = "there is none"
        for key, one in list(found.items()):
            try:
                self._seals.opened(one)
            except Exception as error:
                found.bad[key] = str(error)
                del found[key]
        return found

    def _opened(self, one: NamedTarget) -> NamedTarget:
        return self._seals.opened(one)

    def _size_of(self, one: NamedTarget) -> int:
        headers = sum(len(name) + len(value) for name, value in one.call.headers)
        return BYTES_OF_ONE + len(one.call.url) + len(one.call.body) + headers
