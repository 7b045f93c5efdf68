"""The window: how far ahead Redis holds firings, and how it is filled, one minute after the other."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import uuid4

from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.store.redis.connection import Argument, RedisConnection
from wangtimer.store.redis.keys import Keys

# A feeder that died is followed by another after this; a living one keeps its lease page by page.
FEEDER_LEASE_MS = 15_000
# Of the last minute that is always held, where it does not fit, so much more than need be is held, ms: three looks.
AHEAD_MS = 6_000
# After many firings were planned at once, the window grows beyond the least again once this has passed without more.
NARROW_MS = 10_000
# What a firing that waits takes of Redis, its share of the slice's other keys included.
BYTES_A_FIRING = 150


@dataclass(frozen=True, slots=True)
class WindowRule:
    """Redis holds as much as fits `budget_bytes`, up to `most_ms` ahead; what is due within `least_ms` in any case."""

    least_ms: int
    most_ms: int
    budget_bytes: int

    @property
    def firings(self) -> int:
        """How many firings fit into the budget."""
        return self.budget_bytes // BYTES_A_FIRING


class Found(StrEnum):
    """What a feeder finds: a minute to feed, nothing to do, or another feeder at work."""

    FEED = "feed"
    FULL = "full"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Next:
    """What is to be fed next; `last` is the last minute that fits. `was_lost`: Redis knew of no minute.

    Of the minute what comes due from `since_ms` on and before `until_ms`, ms UTC: all of it, or a part, where it is the
    last that is always held and does not fit.
    """

    found: Found
    minute: int
    last: int
    was_lost: bool = False
    since_ms: int = 0
    until_ms: int = 0


class Window:
    """The marks of what Redis holds. They stand in Redis, so that a loss takes them with the firings.

    A minute is announced before it is read from SQL, and who adds a firing looks at the mark after its commit: so one
    of the two adds it.
    """

    def __init__(self, connection: RedisConnection, keys: Keys, rule: WindowRule) -> None:
        self._connection = connection
        self._keys = keys
        self._rule = rule
        self._token = uuid4().hex

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

        Where nothing is left to feed, another process may be the feeder next. `from_present`: begin at the present
        minute again, since Redis may have lost some of what it held.
        """
        keys, rule = self._keys, self._rule
        arguments: list[Argument] = [self._token, FEEDER_LEASE_MS]
        arguments += [at // MINUTE_MS for at in (now, now + rule.least_ms, now + rule.most_ms)]
        arguments += [rule.firings, now + rule.least_ms + AHEAD_MS, int(from_present)]
        marks = [keys.fed, keys.announced, keys.feeding, keys.feeder, keys.load, keys.part, keys.narrow]
        what, *numbers = self._connection.run("feed_next", marks, arguments, is_polled=True)
        minute, last, lost, since, until = map(int, numbers)
        return Next(Found(what), minute, last, bool(lost), since, until)

    def keep(self, minute: int) -> bool:
        """Keep a minute that is being fed; False once another feeder has begun, or Redis was lost."""
        arguments: list[Argument] = [self._token, f"{minute}:{self._token}", FEEDER_LEASE_MS]
        return bool(self._connection.run("feed_keep", [self._keys.feeding, self._keys.feeder], arguments))

    def done(self, minute: int, firings: int, until_ms: int | None = None) -> bool:
        """Call a minute fed, or what comes due in it before `until_ms`, ms UTC; False as for `keep`.

        `firings`: how many the whole minute has, as far as the caller knows.
        """
        if until_ms is None:
            until_ms = (minute + 1) * MINUTE_MS
        keys = [self._keys.fed, self._keys.feeding, self._keys.load, self._keys.part]
        arguments: list[Argument] = [f"{minute}:{self._token}", minute, firings, until_ms]
        return bool(self._connection.run("feed_done", keys, arguments))

    def narrow(self, now: int) -> None:
        """Hold, for a while, only what comes due within the least window after `now`, ms UTC.

        While many firings are being planned nobody knows yet how many minutes will fit.
        """
        keys = self._keys
        marks = [keys.fed, keys.announced, keys.feeding, keys.part, keys.narrow]
        self._connection.run("feed_narrow", marks, [(now + self._rule.least_ms) // MINUTE_MS, NARROW_MS])

    def compared(self) -> int:
        """Return the last minute whose firings in SQL and Redis were compared shortly before it; 0 if unknown."""
        return int(self._connection.command(lambda client: client.get(self._keys.compared)) or 0)

    def note_compared(self, minute: int) -> None:
        """Note that SQL and Redis were compared for this minute."""
        self._connection.command(lambda client: client.set(self._keys.compared, minute))


def fed_until_of(fed: int, part: int) -> int:
    """Return the moment, ms UTC, up to which a minute that is fed and the part of the one behind it reach."""
    whole = (fed + 1) * MINUTE_MS
    return part if whole < part < whole + MINUTE_MS else whole
