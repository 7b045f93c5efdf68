"""The check-up of timers: those that a process could not read, judge or plan, and those planned by other rules."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

from wangtimer.cli.doctor.findings import Finding, Part, asked_of_sql
from wangtimer.core.errors import StoreAway
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.schedule_followers import PACKAGES, is_newer, own_rules
from wangtimer.settings import Settings
from wangtimer.store.redis.bad_record import PRESENT_MS, BadRecord, BadTimer
from wangtimer.store.redis.clock import RedisClock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.sql.schedule_rules import ScheduleRuleStore

BAD, RULES = Part("timers"), Part("rules")
# At most this many findings; the log has all.
SHOWN = 20
MEND = (
    "its zone or format may be one of another version: run the same version, with the same tzdata, on every node; "
    "or edit, disable or delete it on a node that can read it"
)
NAMES = " and ".join(PACKAGES)
NEWER = f"install the same {NAMES} on every node, and restart migrate: it plans timers anew"
OLDER = f"install the same {NAMES} here and on every node, and restart the processes"


def check_bad_timers(settings: Settings) -> Iterator[Finding]:
    """Yield the bad timers seen last; nothing where Redis is away, as its own check-up tells that."""
    with closing(RedisConnection(settings.store_url)) as connection:
        clock = RedisClock(connection)
        record = BadRecord(connection, Keys(settings.key_prefix), clock)
        try:
            yield from bad_timers_in(record.latest(SHOWN), record.present(), int(clock.now_ms()))
        except StoreAway:
            return


def bad_timers_in(bad: list[BadTimer], present: int, now: int) -> Iterator[Finding]:
    """Yield the findings: an error for a bad timer seen within ten minutes, else a warning."""
    for one in bad:
        is_present = now - one.seen_at <= PRESENT_MS
        seen = datetime.fromtimestamp(one.seen_at // 1_000, UTC).isoformat().replace("+00:00", "Z")
        said = f"timer {one.timer_id}: {one.reason} (last seen {seen})"
        yield BAD.error(said, MEND) if is_present else BAD.warning(said, MEND)
    if present > len(bad):
        yield BAD.error(f"{present - len(bad)} further timers cannot be read, judged or planned", MEND)
    if not bad:
        yield BAD.ok("no timer was found that cannot be read, judged or planned")


def check_rules(settings: Settings) -> Iterator[Finding]:
    """Yield whether timers are planned by the rules of this program; nothing where SQL is away or incomplete."""
    yield from asked_of_sql(settings, lambda sql: rules_of(ScheduleRuleStore(sql, BadTimers())))


def rules_of(store: ScheduleRuleStore) -> Iterator[Finding]:
    """Yield a warning where timers are planned by other rules; raises `StoreAway`."""
    held, own = store.read(), own_rules()
    if held is None or held.version == own.version:
        said = f"timers are planned by the rules of {NAMES} that are installed here: {own.version}"
        new = len(held.to_follow) if held else 0
        yield RULES.ok(f"{said}; those of {new} new rules are looked at for a day" if new else said)
    else:
        said = f"timers are planned by {held.version}; here is {own.version} ({NAMES})"
        yield RULES.warning(said, NEWER if is_newer(own, held) else OLDER)
