"""The check-up of bad timers: timers that a process could not read, judge or plan, and why."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

from wangtimer.cli.doctor.findings import Finding, error, ok, warning
from wangtimer.core.errors import StoreAway
from wangtimer.settings import Settings
from wangtimer.store.redis.bad_record import PRESENT_MS, BadRecord, BadTimer
from wangtimer.store.redis.clock import RedisClock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

PART = "timers"
# At most this many findings; the log has all.
SHOWN = 20
MEND = (
    "its zone or format may be one of another version: run the same version, with the same tzdata, on every node; "
    "or edit, disable or delete it on a node that can read it"
)


def check_bad_timers(settings: Settings) -> Iterator[Finding]:
    """Yield the bad timers seen last; nothing where Redis is away, as its own check-up tells that."""
    with closing(RedisConnection(settings.store_url)) as connection:
        clock = RedisClock(connection)
        record = BadRecord(connection, Keys(settings.key_prefix), clock)
        try:
            yield from judged(record.latest(SHOWN), record.present(), int(clock.now_ms()))
        except StoreAway:
            return


def judged(bad: list[BadTimer], present: int, now: int) -> Iterator[Finding]:
    """Yield the findings: an error for a bad timer seen within ten minutes, else a warning."""
    for one in bad:
        is_present = now - one.seen_at <= PRESENT_MS
        seen = datetime.fromtimestamp(one.seen_at // 1_000, UTC).isoformat().replace("+00:00", "Z")
        said = f"timer {one.timer_id}: {one.reason} (last seen {seen})"
        yield error(PART, said, MEND) if is_present else warning(PART, said, MEND)
    if present > len(bad):
        yield error(PART, f"{present - len(bad)} further timers cannot be read, judged or planned", MEND)
    if not bad:
        yield ok(PART, "no timer was found that cannot be read, judged or planned")
