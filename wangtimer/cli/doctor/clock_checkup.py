"""The check-up of clocks: how far those of SQL and this host are from Redis' clock, which firings follow."""

import time
from collections.abc import Callable, Iterator

from sqlalchemy import text

from wangtimer.cli.doctor.findings import Finding, Part
from wangtimer.core.errors import StoreAway
from wangtimer.settings import Settings
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.sql.database import Database

PART = Part("clocks")
# A wrong clock makes nothing fire early or twice. But people, and the moments they write, follow other clocks.
WARN_MS, WRONG_MS = 500.0, 5_000.0
SAMPLES = 5


def check_clocks(settings: Settings) -> Iterator[Finding]:
    """Yield how far the readable clocks are apart."""
    try:
        redis_ms = _redis_offset_ms(settings.store_url)
    except StoreAway:
        return
    yield judged("this host", -redis_ms)
    if settings.database_url.startswith("sqlite"):
        return
    try:
        yield judged("SQL", _sql_offset_ms(settings.database_url) - redis_ms)
    except (StoreAway, ImportError):
        return


def judged(whose: str, ahead_ms: float) -> Finding:
    """Return the finding for a clock that is so far ahead of Redis' (ms, negative: behind)."""
    where = "ahead of" if ahead_ms >= 0 else "behind"
    said = f"the clock of {whose} is {abs(ahead_ms):.0f} ms {where} Redis'"
    mend = "set both by NTP (chrony); firings follow Redis' clock"
    if abs(ahead_ms) >= WRONG_MS:
        return PART.error(said, mend)
    return PART.warning(said, mend) if abs(ahead_ms) >= WARN_MS else PART.ok(said)


def _redis_offset_ms(url: str) -> float:
    connection = RedisConnection(url)
    try:
        return _offset_ms(lambda: _ms_of(*connection.command(lambda client: client.time())))
    finally:
        connection.close()


def _sql_offset_ms(url: str) -> float:
    database = Database(url, pool_size=1)
    # Not by the session's own zone: an hour that its clocks show twice would be read as the first.
    now = text("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1000")
    try:
        return _offset_ms(lambda: float(database.read(lambda sql: sql.execute(now).scalar_one())))
    finally:
        database.close()


def _ms_of(seconds: int, microseconds: int) -> float:
    return seconds * 1_000 + microseconds / 1_000


def _offset_ms(read_ms: Callable[[], float]) -> float:
    """Return a server's clock minus this host's at the middle of the quickest call."""
    samples = []
    for _ in range(SAMPLES):
        began = time.time()
        read = read_ms()
        ended = time.time()
        samples.append((ended - began, read - (began + ended) * 500))
    return min(samples)[1]
