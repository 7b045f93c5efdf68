"""What this process knows of things that many timers share: read from Redis where it changed, and from SQL at need."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from threading import Lock
from typing import Generic, NamedTuple, Protocol, TypeVar

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.executor.sql_rest import SqlRest
from wangtimer.store.redis.marked_copies import CopiesOf

log = structlog.get_logger()

# What this process remembers of one kind; beyond that it begins anew.
MOST_BYTES = 32_000_000
# What one thing takes at least.
BYTES_OF_ONE = 1_000


class Versioned(Protocol):
    """Something of which the higher version is the newer."""

    @property
    def version(self) -> int:
        """Grows with every change."""


Key = TypeVar("Key")
One = TypeVar("One", bound=Versioned)


class _Remembered(NamedTuple, Generic[One]):
    """What was read, and the mark that Redis' copies had then; None: it comes from SQL."""

    copy: One
    mark: str | None


def _as_it_is(copy: One) -> One:
    return copy


def _least(_one: object) -> int:
    return BYTES_OF_ONE


class SharedCopies(Generic[Key, One]):
    """Remembers what it read for as long as Redis tells the same mark: a firing costs no question of its own.

    `in_sql` reads from SQL, and raises `StoreAway`. `opened` returns what SQL has as calls need it, and `size_of` how
    many bytes that takes.
    """

    def __init__(
        self,
        copies: CopiesOf[Key, One],
        in_sql: Callable[[Collection[Key]], Readable[Key, One]],
        clock: Clock,
        sql_rest: SqlRest,
        opened: Callable[[One], One] = _as_it_is,
        size_of: Callable[[One], int] = _least,
    ) -> None:
        self._copies = copies
        self._in_sql = in_sql
        self._clock = clock
        self._sql_rest = sql_rest
        self._opened = opened
        self._size_of = size_of
        self._by_key: dict[Key, _Remembered[One]] = {}
        self._bytes = 0
        self._lock = Lock()

    def known(self, keys: Collection[Key], mark: str | None) -> dict[Key, One]:
        """Return what Redis has of these; what it does not have is left out.

        Redis is asked only if the mark is another than when it was read. If it does not answer, what is remembered
        counts.
        """
        found: dict[Key, One] = {}
        to_read = []
        for key in keys:
            held = self._by_key.get(key)
            if held is not None and mark is not None and held.mark == mark:
                found[key] = held.copy
            else:
                to_read.append(key)
        return found | self._read(to_read) if to_read else found

    def ask(self, keys: Collection[Key]) -> dict[Key, One]:
        """Return what SQL has of these, and copy it to Redis.

        If SQL does not answer, what is remembered counts. That of which nothing is known is left out.
        """
        if not keys:
            return {}
        try:
            found = self.refresh(keys)
        except StoreAway:
            return self._remembered(keys)
        with suppress(StoreAway):
            self._copies.put(found.values())
        return {key: copy for key, copy in self._remembered(keys).items() if key in found}

    def refresh(self, keys: Collection[Key]) -> Mapping[Key, One]:
        """Read these from SQL, and remember them; raises `StoreAway`, at once while SQL hangs."""
        if self._sql_rest.lasts(self._clock):
            raise StoreAway("SQL", "it does not answer")
        with self._sql_rest.asking(self._clock):
            found = self._in_sql(keys)
        for key, reason in found.bad.items():
            log.error("shared_cannot_be_read", kind=self._copies.kind, key=key, reason=reason)
        for key, copy in found.items():
            self._remember(key, self._opened(copy), None)
        return found

    def _read(self, keys: list[Key]) -> dict[Key, One]:
        try:
            mark, found = self._copies.get(keys)
        except StoreAway:
            return self._remembered(keys)
        return {key: self._remember(key, copy, mark) for key, copy in found.items()}

    def _remember(self, key: Key, copy: One, mark: str | None) -> One:
        """Remember the newer of what is known, and return it."""
        with self._lock:
            held = self._by_key.get(key)
            if held is not None and held.copy.version > copy.version:
                copy = held.copy
            if mark is None and held is not None:
                mark = held.mark
            self._bytes += self._size_of(copy) - (0 if held is None else self._size_of(held.copy))
            if self._bytes > MOST_BYTES:
                self._by_key.clear()
                self._bytes = self._size_of(copy)
            self._by_key[key] = _Remembered(copy, mark)
            return copy

    def _remembered(self, keys: Collection[Key]) -> dict[Key, One]:
        found = ((key, self._by_key.get(key)) for key in keys)
        return {key: held.copy for key, held in found if held is not None}
