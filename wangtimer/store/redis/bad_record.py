"""The record of bad timers in Redis: which, why, and when they were last seen, for `doctor` and `/metrics`."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import structlog

from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

log = structlog.get_logger()

# Bad timers the record holds; those seen longest ago go first.
MOST = 1_000
# A bad timer that was not seen for so long is forgotten.
FORGOTTEN_AFTER_MS = 86_400_000
# A timer seen within this counts as bad now: each process notes a timer that stays bad once a minute.
PRESENT_MS = 600_000
NOTED_EVERY_S = 60.0
# Timers noted together; a process remembers 100 times as many that it noted.
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class BadTimer:
    """A timer that some process could not read, judge or plan: why, and when last (ms UTC)."""

    timer_id: int
    reason: str
    seen_at: int


class BadRecord(BadTimers):
    """Notes in the log and in Redis; each process names a timer once a minute for the same reason."""

    def __init__(self, redis: RedisConnection, keys: Keys, clock: Clock) -> None:
        self._connection = redis
        # A sorted set of "timer reason" by when it was last seen (ms UTC), and a count.
        self._key = keys.bad_timers
        self._notes_key = keys.bad_notes
        self._clock = clock
        self._noted: dict[int, tuple[str, float]] = {}
        self._lock = Lock()

    def note(self, reasons: Mapping[int, str]) -> None:
        """Note bad timers; where Redis is away, the log alone has them."""
        news = self._news(reasons)
        super().note(news)
        rest = list(news.items())
        try:
            for start in range(0, len(rest), AT_ONCE):
                self._write(rest[start : start + AT_ONCE])
        except Exception as error:
            log.warning("bad_timers_not_in_redis", timers=len(rest), error=str(error))

    def present(self) -> int:
        """Return how many were seen to be bad within the last ten minutes, `MOST` at most; raises `StoreAway`."""
        since = int(self._clock.now_ms()) - PRESENT_MS
        return sum(bad.seen_at >= since for bad in self.latest(MOST))

    def notes(self) -> int:
        """Return how often a bad timer was noted since Redis last lost its data; raises `StoreAway`."""
        return int(self._connection.command(lambda client: client.get(self._notes_key)) or 0)

    def latest(self, limit: int) -> list[BadTimer]:
        """Return the bad timers seen last, each with its latest reason, latest first; raises `StoreAway`."""
        seen: Any = self._connection.command(
            lambda client: client.zrange(self._key, 0, -1, desc=True, withscores=True)
        )
        found: dict[int, BadTimer] = {}
        for text, at in seen:
            timer_id, _, reason = str(text).partition(" ")
            found.setdefault(int(timer_id), BadTimer(int(timer_id), reason, int(at)))
        return list(found.values())[:limit]

    def _news(self, reasons: Mapping[int, str]) -> dict[int, str]:
        """Return and remember the timers that this process has not noted within the last minute."""
        now = self._clock.monotonic()
        with self._lock:
            if len(self._noted) > 100 * AT_ONCE:
                self._noted.clear()
            news = {
                timer_id: reason
                for timer_id, reason in reasons.items()
                if (held := self._noted.get(timer_id)) is None
                or held[0] != reason
                or now - held[1] >= NOTED_EVERY_S
            }
            self._noted |= {timer_id: (reason, now) for timer_id, reason in news.items()}
        return news

    def _write(self, news: list[tuple[int, str]]) -> None:
        now = int(self._clock.now_ms())
        seen = {f"{timer_id} {reason}": now for timer_id, reason in news}

        def write(client: Any) -> None:
            with client.pipeline(transaction=False) as pipe:
                pipe.zadd(self._key, seen)
                pipe.zremrangebyscore(self._key, "-inf", now - FORGOTTEN_AFTER_MS)
                pipe.zremrangebyrank(self._key, 0, -(MOST + 1))
                pipe.incrby(self._notes_key, len(seen))
                pipe.execute()

        self._connection.command(write)
