"""The days of calendars that definitions name: Redis has each upload once for its app, a process those in use.

A definition with all days in it took 36 KB, for each timer that names the calendar.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import orjson

from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.time.clock import Clock
from wangtimer.store.bounds import (
    MOST_DAYS_KEPT,
    calendar_fields,
    calendar_from,
    days_in,
    kept_by_days,
)
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

# Uploads of one app that Redis keeps: the hundred calendars that it may have, and some that were just replaced.
MOST_OF_APP = 128
# What was told is remembered of so many, 0.2 KB each.
MOST_TOLD = 4_096
# An app, and the digest of days that it uploaded.
UploadedDays = tuple[str, str]


class DaysUnread(Exception):
    """This process has not read these days."""

    def __init__(self, days: UploadedDays) -> None:
        super().__init__(days)
        self.days = days


class CalendarDays:
    """Days by the digest of their calendar: no upload changes them, so nothing here goes stale.

    However often an app uploads, Redis keeps `MOST_OF_APP` of its uploads: those that definitions named last.
    """

    def __init__(self, redis: RedisConnection, keys: Keys, clock: Clock, longest_s: int) -> None:
        self._connection = redis
        self._keys = keys
        self._clock = clock
        self._longest_s = longest_s
        self._read: dict[str, Calendar] = {}
        self._told: dict[UploadedDays, float] = {}
        self._reconnects = 0

    def tell(self, named: Iterable[tuple[str, Calendar]]) -> None:
        """Write days that an app's definitions name, unless this process did lately; they outlive these."""
        if self._reconnects != self._connection.reconnects.number:
            self._reconnects = self._connection.reconnects.number
            self._told.clear()
        now = self._clock.monotonic()
        fresh_since = now - self._longest_s
        for app, calendar in named:
            days = app, digest_of(calendar)
            if self._told.get(days, float("-inf")) > fresh_since:
                continue
            self._write(days, calendar)
            if len(self._told) >= MOST_TOLD:
                self._told.clear()
            self._told[days] = now

    def _write(self, days: UploadedDays, calendar: Calendar) -> None:
        (app, digest), text, told_at = days, _text(calendar), int(self._clock.now_ms())
        key, told = self._keys.days(app)

        def write(client: Any) -> None:
            with client.pipeline(transaction=False) as pipe:
                pipe.hset(key, digest, text)
                pipe.zadd(told, {digest: told_at})
                for kept in (key, told):
                    pipe.expire(kept, 2 * self._longest_s)
                pipe.zrange(told, 0, -1 - MOST_OF_APP)
                *_, oldest = pipe.execute()
                if oldest:
                    # Who needs one that another process tells just now misses it, and so tells it again.
                    pipe.hdel(key, *oldest)
                    pipe.zrem(told, *oldest)
                    pipe.execute()

        self._connection.command(write)

    def get(self, app: str, digest: str) -> Calendar:
        """Return a calendar that this process has read; raises `DaysUnread`."""
        try:
            return self._read[digest]
        except KeyError:
            raise DaysUnread((app, digest)) from None

    def read(self, wanted: Iterable[UploadedDays]) -> None:
        """Read days from Redis, as many of them as it has. Others are told again by the next definition with them."""
        asked = sorted(set(wanted))

        def ask(client: Any) -> list[bytes | None]:
            with client.pipeline(transaction=False) as pipe:
                for app, digest in asked:
                    pipe.hget(self._keys.days(app)[0], digest)
                texts: list[bytes | None] = pipe.execute()
            return texts

        found: dict[str, Calendar] = {}
        for days, text in zip(asked, self._connection.command(ask), strict=True):
            if text is None:
                self._told.pop(days, None)
            else:
                found[days[1]] = calendar_from(orjson.loads(text))
        if sum(map(days_in, (self._read | found).values())) > MOST_DAYS_KEPT:
            self._read = {}
        self._read |= found


def names_days(calendar: Calendar) -> bool:
    """Tell whether definitions only name this calendar's days; of a built-in calendar each process has them."""
    return calendar.name not in built_in()


@kept_by_days(lambda calendar, _: days_in(calendar))
def digest_of(calendar: Calendar) -> str:
    """Return what a definition names days by."""
    return blake2b(_text(calendar), digest_size=16).hexdigest()


def _text(calendar: Calendar) -> bytes:
    return orjson.dumps(calendar_fields(calendar))
