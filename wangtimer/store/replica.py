"""Replicas of what operators and apps set: SQL is the truth, Redis has a copy, which each process knows."""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar

import orjson
import structlog

from wangtimer.base.in_turn import do_in_turn
from wangtimer.core.errors import StoreAway
from wangtimer.core.replica_kind import ReplicaKind
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

log = structlog.get_logger()

Value = TypeVar("Value")

# Tellings at most: another change may come while one is told.
MOST_TELLINGS = 5


class ReplicaTexts:
    """The texts of replicas in Redis, a key each: writes one, reads many at once. Both raise `StoreAway`."""

    def __init__(self, redis: RedisConnection, keys: Keys) -> None:
        self._connection = redis
        self._keys = keys

    def write(self, name: str, text: str) -> None:
        """Replace the text of a replica."""
        self._connection.command(lambda client: client.set(self._keys.replica(name), text))

    def read(self, names: Sequence[str]) -> list[str | None]:
        """Return the text of each; None where Redis has none."""
        keys = [self._keys.replica(name) for name in names]

        def get(client: Any) -> Any:
            return client.mget(keys)

        found: list[str | None] = self._connection.command(get)
        return found


class Replica(Generic[Value]):
    """Any thread may use it. `in_sql` returns what SQL has; it raises `StoreAway`.

    `known` is what this process knows. While Redis has lost it, or has what cannot be read, what was known before
    counts. A process that knows nothing asks SQL, for sweeps tell Redis later than calls come due.
    """

    def __init__(
        self, kind: ReplicaKind[Value], in_sql: Callable[[], Value], texts: ReplicaTexts, clock: Clock
    ) -> None:
        self.kind = kind
        self.in_sql = in_sql
        self.known = kind.unset
        self.is_known = False
        self._texts = texts
        self._clock = clock
        self._asked_at = float("-inf")
        self._last: tuple[str, Value | None] = "", None
        self._lock = Lock()

    def tell(self) -> None:
        """Write what SQL has; repeatable. Raises `StoreAway`.

        What was read before another change may be written after it. So SQL is asked again until nothing has changed.
        """
        found = self.in_sql()
        for _ in range(MOST_TELLINGS):
            self.write(found)
            told, found = found, self.in_sql()
            if found == told:
                return

    def tell_instead_of(self, text: str | None) -> None:
        """Write what SQL has if a text of Redis says something else, or is lost (None). Raises `StoreAway`."""
        if self._value_in(text) != self.in_sql():
            self.tell()

    def write(self, value: Value) -> None:
        """Replace what Redis has; raises `StoreAway`."""
        self._texts.write(self.kind.name, orjson.dumps(self.kind.to_json(value)).decode())

    def read(self) -> Value | None:
        """Return what Redis has; None if it has lost it, or has what cannot be read. Raises `StoreAway`."""
        (text,) = self._texts.read([self.kind.name])
        return None if text is None else self._from_text(text)

    def lately(self) -> Value:
        """Return what is known, read anew when old, for which nobody waits. Raises `StoreAway` if nothing is known."""
        if self._is_due() and self._lock.acquire(blocking=not self.is_known):
            try:
                if self._is_due():
                    self._read_anew()
            finally:
                self._lock.release()
        return self.known

    def learn(self, text: str | None, asked_at: float) -> None:
        """Know what a text of Redis says that was asked for at a moment, s of the stop-watch. Raises `StoreAway`."""
        if asked_at < self._asked_at:
            return
        self._asked_at = asked_at
        found = self._value_in(text)
        if found is None and not self.is_known:
            found = self.in_sql()
        if found is not None:
            self.known, self.is_known = found, True

    def _is_due(self) -> bool:
        return not self.is_known or self._clock.monotonic() >= self._asked_at + self.kind.read_every_s

    def _read_anew(self) -> None:
        text, asked_at = None, self._clock.monotonic()
        try:
            (text,) = self._texts.read([self.kind.name])
        except StoreAway as error:
            log.info("replica_not_read", kind=self.kind.name, error=str(error))
        self.learn(text, asked_at)

    def _value_in(self, text: str | None) -> Value | None:
        if text is None:
            return None
        if text != self._last[0]:
            self._last = text, self._from_text(text)
        return self._last[1]

    def _from_text(self, text: str) -> Value | None:
        try:
            return self.kind.from_json(orjson.loads(text))
        except Exception as error:
            log.warning("replica_unread", kind=self.kind.name, error=repr(error))
            return None


class Replicas:
    """A process's, read by one command; a failing one holds up no other. No call begins without `before_calls`."""

    def __init__(
        self,
        replica_texts: ReplicaTexts,
        clock: Clock,
        before_calls: Sequence[Replica[Any]],
        others: Sequence[Replica[Any]],
    ) -> None:
        self._texts = replica_texts
        self._clock = clock
        self._before_calls = before_calls
        self._all = (*before_calls, *others)
        self.are_known = False

    def read(self) -> None:
        """Learn what Redis has, and what SQL has of that of which nothing is known yet. Raises `StoreAway`."""
        asked_at = self._clock.monotonic()
        try:
            texts = self._read()
        except StoreAway:
            self._learn([None] * len(self._all), asked_at)
            raise
        self._learn(texts, asked_at)

    def tell_again(self) -> None:
        """Tell what Redis has otherwise than SQL: it may have been away, or have lost it. Raises `StoreAway`."""
        pairs = zip(self._all, self._read(), strict=True)
        do_in_turn(*(partial(replica.tell_instead_of, text) for replica, text in pairs))

    def _read(self) -> list[str | None]:
        return self._texts.read([replica.kind.name for replica in self._all])

    def _learn(self, texts: Sequence[str | None], asked_at: float) -> None:
        pairs = zip(self._all, texts, strict=True)
        try:
            do_in_turn(*(partial(replica.learn, text, asked_at) for replica, text in pairs))
        finally:
            self.are_known = all(replica.is_known for replica in self._before_calls)
