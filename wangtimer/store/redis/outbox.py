"""The outbox: outcomes that wait in Redis until SQL is back, and how much room it has for more."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.timers.bad_timers import Readable, reason_of
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

log = structlog.get_logger()


# Redis estimates the outbox's size from so many outcomes.
SAMPLES = 50


class Outbox:
    """Parked outcomes by member; the verifier looks here first, then in SQL."""

    def __init__(self, redis: RedisConnection, keys: Keys) -> None:
        self._connection = redis
        self._key = keys.outbox
        self._cursor = 0

    def park(self, outcomes: Sequence[Outcome]) -> None:
        """Keep outcomes until `forget`."""
        flat: list[Any] = []
        for outcome in outcomes:
            flat += (str(outcome.member), orjson.dumps(outcome.to_wire()).decode())
        if flat:
            self._connection.command(lambda client: client.hset(self._key, items=flat))

    def holds(self, members: Sequence[Member]) -> set[Member]:
        """Return which of these members have a parked outcome."""
        if not members:
            return set()
        fields = [str(member) for member in members]
        found = self._connection.command(lambda client: client.hmget(self._key, fields))
        return {member for member, text in zip(members, found, strict=True) if text is not None}

    def count(self) -> int:
        """Return how many outcomes wait."""
        return int(self._connection.command(lambda client: client.hlen(self._key)))

    def bytes(self) -> int:
        """Return about how much memory the outcomes take."""
        usage = self._connection.command(lambda client: client.memory_usage(self._key, samples=SAMPLES))
        return int(usage or 0)

    def page(self, limit: int) -> dict[str, str]:
        """Return about `limit` parked outcomes, all if there are fewer, as their raw texts by member.

        It goes on where the last page ended: a scan from the beginning would pass over everything that earlier pages
        emptied. A scan step may find nothing in a hash that was long; an empty page must mean an empty outbox, so the
        scan goes on until one whole pass is made.
        """
        found: dict[str, str] = {}
        is_whole = self._cursor == 0
        while True:
            cursor, part = self._scan(self._cursor, limit)
            self._cursor = int(cursor)
            found |= part
            if len(found) >= limit or (not self._cursor and is_whole):
                return found
            is_whole = is_whole or not self._cursor

    def read(self, texts: Mapping[str, str]) -> Readable[str, Outcome]:
        """Return the outcomes of a page by member; those that cannot be read, say of another version, are `bad`."""
        found: Readable[str, Outcome] = Readable()
        for member, text in texts.items():
            try:
                found[member] = Outcome.from_wire(orjson.loads(text))
            except Exception as error:
                found.bad[member] = reason_of("its parked outcome cannot be read", error)
        return found

    def forget(self, texts: dict[str, str]) -> None:
        """Drop a page that is written to SQL, except outcomes that were parked again meanwhile."""
        flat = [part for pair in texts.items() for part in pair]
        self._connection.run("forget_parked", [self._key], flat)

    def _scan(self, cursor: int, limit: int) -> Any:
        return self._connection.command(lambda client: client.hscan(self._key, cursor, count=limit))


LOOK_S = 1.0
# From this share of the bound on, arming slows down more and more, and an alarm is logged.
ALARM_SHARE = 0.5


@dataclass(slots=True)
class OutboxRoom:
    """How much room the outbox has: while SQL is away, firing goes on only as far as Redis can hold the outcomes.

    Arming slows down well before the bound, because outcomes of armed and running firings still come.
    """

    outbox: Outbox
    most_bytes: int
    monotonic: Callable[[], float]
    _used: float = field(default=0.0, init=False)
    _looked_at: float = field(default=float("-inf"), init=False)

    def share(self) -> float:
        """Return the share of the usual credit that may be armed: 1 up to half of the bound, then less, 0 at the bound.

        Redis is asked at most once a second; while it does not answer, its last answer counts.
        """
        now = self.monotonic()
        if now - self._looked_at >= LOOK_S:
            self._looked_at = now
            self._look()
        return max(0.0, min(1.0, (1 - self._used) / (1 - ALARM_SHARE)))

    def _look(self) -> None:
        try:
            used = self.outbox.bytes() / self.most_bytes
        except StoreAway:
            return
        was, self._used = self._used, used
        if used >= 1 > was:
            log.error(
                "outbox_full", percent=round(used * 100), effect="nothing is armed until SQL takes outcomes"
            )
        elif used >= ALARM_SHARE > was:
            log.warning("outbox_half_full", percent=round(used * 100), effect="arming slows down")
