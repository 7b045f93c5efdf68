"""The check-up of rules: timers planned by other rules of zones and built-in calendars than this program has."""

from collections.abc import Iterator

from wangtimer.cli.doctor.asked_of_sql import asked_of_sql
from wangtimer.cli.doctor.findings import Finding, ok, warning
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.rules_follower import PACKAGES, changed_names, is_newer, own_rules
from wangtimer.settings import Settings
from wangtimer.store.sql.schedule_rules import ScheduleRuleStore

PART = "rules"
NAMES = " and ".join(PACKAGES)
NEWER = f"install the same {NAMES} on every node, and restart migrate: it plans these timers anew"
OLDER = f"install the newer {NAMES} here too, and restart the processes"


def check_rules(settings: Settings) -> Iterator[Finding]:
    """Yield whether timers are planned by the rules of this program; nothing where SQL is away or incomplete."""
    yield from asked_of_sql(settings, lambda sql: judged(ScheduleRuleStore(sql, BadTimers())))


def judged(store: ScheduleRuleStore) -> Iterator[Finding]:
    """Yield a warning where timers were planned by other rules; raises `StoreAway`."""
    held, own = store.read(), own_rules()
    if held is None or held.version == own.version:
        yield ok(PART, f"timers are planned by the rules of {NAMES} that are installed here: {own.version}")
    elif is_newer(own, held):
        left = store.left(changed_names(held, own), held.done_to if held.following == own.version else 0)
        said = f"{left} enabled timers are planned by the rules of {held.version}; here is {own.version} ({NAMES})"
        yield warning(PART, said, NEWER) if left else ok(PART, said)
    else:
        yield warning(PART, f"timers are planned by {held.version}; here is {own.version} ({NAMES})", OLDER)
