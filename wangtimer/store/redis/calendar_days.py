"""The days of calendars that definitions name: Redis has each upload once, a process remembers those in use.

A definition with all days in it took 36 KB, for each timer that names the calendar.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

import orjson

from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.time.clock import Clock
from wangtimer.store.bounds import CALENDARS_KEPT, calendar_fields, calendar_from
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys


class DaysUnread(Exception):
    """This process has not read the days of this digest."""

    def __init__(self, digest: str) -> None:
        super().__init__(digest)
        self.digest = digest


class CalendarDays:
    """Days by the digest of their calendar: no upload changes them, so nothing here goes stale."""

    def __init__(self, connection: RedisConnection, keys: Keys, clock: Clock, longest_s: int) -> None:
        self._connection = connection
        self._keys = keys
        self._clock = clock
        self._longest_s = longest_s
        self._read: dict[str, Calendar] = {}
        self._told: dict[str, float] = {}
        self._reconnects = 0

    def tell(self, calendars: Iterable[Calendar]) -> None:
        """Write days that definitions name, unless this process did so lately; they outlive each such definition."""
        if self._reconnects != self._connection.reconnects.number:
            self._reconnects = self._connection.reconnects.number
            self._told.clear()
        now = self._clock.monotonic()
        fresh_since = now - self._longest_s
        for calendar in calendars:
            digest = digest_of(calendar)
            if self._told.get(digest, float("-inf")) > fresh_since:
                continue
            self._write(digest, calendar)
            if len(self._told) >= CALENDARS_KEPT:
                self._told.clear()
            self._told[digest] = now

    def _write(self, digest: str, calendar: Calendar) -> None:
        key, text, lives_s = self._keys.days(digest), _text(calendar), 2 * self._longest_s
        self._connection.command(lambda client: client.set(key, text, ex=lives_s))

    def get(self, digest: str) -> Calendar:
        """Return a calendar that this process has read; raises `DaysUnread`."""
        try:
            return self._read[digest]
        except KeyError:
            raise DaysUnread(digest) from None

    def read(self, digests: Iterable[str]) -> None:
        """Read days from Redis, as many of them as it has."""
        asked = sorted(set(digests))
        keys = [self._keys.days(digest) for digest in asked]
        texts = self._connection.command(lambda client: client.mget(keys))
        found = {
            digest: calendar_from(orjson.loads(text))
            for digest, text in zip(asked, texts, strict=True)
            if text is not None
        }
        if len(self._read) + len(found) > CALENDARS_KEPT:
            self._read = {}
        self._read |= found


def names_days(calendar: Calendar) -> bool:
    """Tell whether definitions only name this calendar's days; of a built-in calendar each process has them."""
    return calendar.name not in built_in()


@lru_cache(maxsize=CALENDARS_KEPT)
def digest_of(calendar: Calendar) -> str:
    """Return what a definition names days by."""
    return blake2b(_text(calendar), digest_size=16).hexdigest()


def _text(calendar: Calendar) -> bytes:
    return orjson.dumps(calendar_fields(calendar))
