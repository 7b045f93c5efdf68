"""The check-up of rules: timers planned by other rules of zones and built-in calendars than this program has."""

from collections.abc import Iterator

from wangtimer.cli.doctor.asked_of_sql import asked_of_sql
from wangtimer.cli.doctor.findings import Finding, ok, warning
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.rules_follower import PACKAGES, is_newer, own_rules
from wangtimer.settings import Settings
from wangtimer.store.sql.schedule_rules import ScheduleRuleStore

PART = "rules"
NAMES = " and ".join(PACKAGES)
NEWER = f"install the same {NAMES} on every node, and restart migrate: it plans timers anew"
OLDER = f"install the same {NAMES} here and on every node, and restart the processes"


def check_rules(settings: Settings) -> Iterator[Finding]:
    """Yield whether timers are planned by the rules of this program; nothing where SQL is away or incomplete."""
    yield from asked_of_sql(settings, lambda sql: judged(ScheduleRuleStore(sql, BadTimers())))


def judged(store: ScheduleRuleStore) -> Iterator[Finding]:
    """Yield a warning where timers are planned by other rules; raises `StoreAway`."""
    held, own = store.read(), own_rules()
    if held is None or held.version == own.version:
        said = f"timers are planned by the rules of {NAMES} that are installed here: {own.version}"
        new = len(held.to_follow) if held else 0
        yield ok(PART, f"{said}; those of {new} new rules are looked at for a day" if new else said)
    else:
        said = f"timers are planned by {held.version}; here is {own.version} ({NAMES})"
        yield warning(PART, said, NEWER if is_newer(own, held) else OLDER)
