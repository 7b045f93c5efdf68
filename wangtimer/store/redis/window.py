"""The window: how far ahead Redis holds firings, how it is filled minute after minute, and each minute's load."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import uuid4

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.store.redis.connection import Argument, RedisConnection
from wangtimer.store.redis.keys import Keys


class MinuteLoad:
    """How many firings are planned into each minute: it decides their buckets, and how many minutes Redis holds.

    A counter a minute, in one hash; the feeder drops those of minutes that have passed.

    A lost counter moves no firing: each row holds its bucket.
    """

    def __init__(self, redis: RedisConnection, keys: Keys) -> None:
        self._connection = redis
        self._keys = keys

    def reserve(self, counts: dict[int, int]) -> dict[int, int]:
        """Count firings into minutes; return for each minute how many it had before."""

        def count(pipe: Any) -> None:
            for minute, number in counts.items():
                pipe.hincrby(self._keys.load, str(minute), number)

        answers = self._connection.run_all([], count)
        return {
            minute: total - number for (minute, number), total in zip(counts.items(), answers, strict=True)
        }


def planned_before(load: MinuteLoad, counts: dict[int, int]) -> dict[int, int]:
    """Count firings into minutes; return how many each minute had before; empty while Redis is away."""
    try:
        return load.reserve(counts) if counts else {}
    except StoreAway:
        return {}


# So long after a feeder's death another may follow it; a living feeder renews its lease with each page.
FEEDER_LEASE_MS = 15_000
# ms; if the last minute that is always held does not fit, so much more of it than needed is held: three looks.
AHEAD_MS = 6_000
# After many firings were planned at once, the window stays at its least until this has passed without more.
NARROW_MS = 10_000
# Bytes of Redis that a waiting firing takes, its share of the slice's other keys included.
BYTES_A_FIRING = 150


@dataclass(frozen=True, slots=True)
class WindowRule:
    """Redis holds firings up to `most_ms` ahead that fit `budget_bytes`; those due within `least_ms` in any case."""

    least_ms: int
    most_ms: int
    budget_bytes: int

    @property
    def firings(self) -> int:
        """How many firings fit into the budget."""
        return self.budget_bytes // BYTES_A_FIRING


class Found(StrEnum):
    """What a feeder finds: a minute to feed, nothing to do, or that another feeder or a later look is at work."""

    FEED = "feed"
    FULL = "full"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Next:
    """What is to be fed next; `last` is the last minute that fits. `was_lost`: Redis knew of no minute.

    Firings of the minute due from `since_ms` on and before `until_ms`, ms UTC, are to be fed: the whole minute, or a
    part of it if it is the last minute that is always held and does not fit.
    """

    found: Found
    minute: int
    last: int
    was_lost: bool = False
    since_ms: int = 0
    until_ms: int = 0


class Window:
    """The marks of what Redis holds. They are stored in Redis, so that a loss takes them with the firings.

    A minute is announced before it is read from SQL, and an adder looks at the mark after its commit. So either the
    feeder or the adder adds each firing.
    """

    def __init__(self, redis: RedisConnection, keys: Keys, window_rule: WindowRule) -> None:
        self._connection = redis
        self._keys = keys
        self._rule = window_rule
        self._token = uuid4().hex
        self._looks = 0

    @property
    def reconnects(self) -> int:
        """How often this process has (re)connected to a Redis that had been away."""
        return self._connection.reconnects.number

    def announced(self) -> int | None:
        """Return the last minute whose firings are to be added; None where Redis has lost the mark."""
        mark = self._connection.command(lambda client: client.get(self._keys.announced))
        return None if mark is None else int(mark)

    def fed_until(self) -> int | None:
        """Return the moment, ms UTC, before which Redis holds all that SQL holds; None where it has lost the mark."""
        fed, part = self._connection.command(lambda client: client.mget([self._keys.fed, self._keys.part]))
        return None if fed is None else fed_until_of(int(fed), int(part or 0))

    def next(self, now: int, from_present: bool) -> Next:
        """Become the one feeder, if there is none, and announce the next minute; `now` in ms UTC.

        If nothing is left to feed, another process may be the next feeder. `from_present`: begin at the present minute
        again, since Redis may have lost firings.
        """
        keys, rule = self._keys, self._rule
        self._looks += 1
        arguments: list[Argument] = [self._token, FEEDER_LEASE_MS]
        arguments += [at // MINUTE_MS for at in (now, now + rule.least_ms, now + rule.most_ms)]
        arguments += [rule.firings, now + rule.least_ms + AHEAD_MS, int(from_present), self._looks]
        marks = [keys.fed, keys.announced, keys.feeding, keys.feeder, keys.load, keys.part, keys.narrow]
        what, *numbers = self._connection.run("feed_next", marks, arguments, is_polled=True)
        minute, last, lost, since, until = map(int, numbers)
        return Next(Found(what), minute, last, bool(lost), since, until)

    def keep(self, minute: int) -> bool:
        """Renew the lease of a minute that is being fed; False once another has begun, or Redis was lost."""
        arguments: list[Argument] = [self._look, self._feeding(minute), FEEDER_LEASE_MS]
        return bool(self._connection.run("feed_keep", [self._keys.feeding, self._keys.feeder], arguments))

    def done(self, minute: int, firings: int, until_ms: int | None = None) -> bool:
        """Mark a minute, or what is due before `until_ms` (ms UTC), as fed; False as `keep`.

        `firings`: how many the whole minute has, as far as the caller knows.
        """
        if until_ms is None:
            until_ms = (minute + 1) * MINUTE_MS
        keys = [self._keys.fed, self._keys.feeding, self._keys.load, self._keys.part]
        arguments: list[Argument] = [self._feeding(minute), minute, firings, until_ms]
        return bool(self._connection.run("feed_done", keys, arguments))

    def narrow(self, now: int) -> None:
        """Hold only the least window after `now` (ms UTC) for a while: how much will fit is not known."""
        keys = self._keys
        marks = [keys.fed, keys.announced, keys.feeding, keys.part, keys.narrow]
        self._connection.run("feed_narrow", marks, [(now + self._rule.least_ms) // MINUTE_MS, NARROW_MS])

    def _feeding(self, minute: int) -> str:
        """Return the mark of a minute that the latest look found."""
        return f"{minute}:{self._look}"

    @property
    def _look(self) -> str:
        """Tell the latest look from earlier ones.

        A Redis that was frozen may carry out a look or an end that its caller gave up. Once the caller has looked
        again, that one has an earlier number.
        """
        return f"{self._token}:{self._looks}"

    def compared(self) -> int:
        """Return the last minute whose firings in SQL and Redis were compared shortly before it; 0 if unknown."""
        return int(self._connection.command(lambda client: client.get(self._keys.compared)) or 0)

    def note_compared(self, minute: int) -> None:
        """Note that SQL and Redis were compared for this minute."""
        self._connection.command(lambda client: client.set(self._keys.compared, minute))


def fed_until_of(fed: int, part: int) -> int:
    """Return the moment, ms UTC, up to which the fed minutes and the fed part of the next minute reach."""
    whole = (fed + 1) * MINUTE_MS
    return part if whole < part < whole + MINUTE_MS else whole
