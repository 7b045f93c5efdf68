"""The check-up of calendars: calendars of enabled timers whose days end soon, or have ended."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from wangtimer.cli.doctor.findings import Finding, Part, asked_of_sql
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.settings import Settings
from wangtimer.store.sql.calendars import FIRST, CalendarStore, Named

PART = Part("calendars")
SOON = timedelta(days=60)
# At most this many findings.
SHOWN = 20
INSTALL = (
    "upgrade the package chinesecalendar on every node, and restart the processes: the State Council announces "
    "a year's days late in the year before"
)
UPLOAD = "upload the calendar with its further days: PUT /v1/calendars/{name}"


def check_calendars(settings: Settings) -> Iterator[Finding]:
    """Yield the calendars that end; nothing where SQL is away or incomplete, as its own check-up tells that."""
    yield from asked_of_sql(settings, lambda sql: judged(CalendarStore(sql), datetime.now(UTC).date()))


def judged(store: CalendarStore, today: date) -> Iterator[Finding]:
    """Yield a warning for each calendar of enabled timers whose days end within 60 days; raises `StoreAway`.

    A built-in calendar is told once, however many apps name it.
    """
    told: set[str] = set()
    found = 0
    for app, name in _named(store):
        if found == SHOWN:
            return
        if name in told:
            continue
        calendar = built_in().get(name) or _uploaded(store, app, name)
        if calendar is None or not _ends_soon(calendar, today) or not store.is_of_enabled(app, name):
            continue
        found += 1
        if name in built_in():
            told.add(name)
            yield _ending(calendar, f"{name} (of app {app}, say)", INSTALL)
        else:
            yield _ending(calendar, f"{name} of app {app}", UPLOAD)
    if not found:
        yield PART.ok(f"no calendar of an enabled timer ends within {SOON.days} days")


def _named(store: CalendarStore) -> Iterator[Named]:
    after: Named | None = FIRST
    while after is not None:
        pairs, after = store.named(after)
        yield from pairs


def _uploaded(store: CalendarStore, app: str, name: str) -> Calendar | None:
    """Return the app's calendar; None where there is none, or where this version cannot read it."""
    try:
        return store.get(app, name)
    except (ValueError, LookupError, TypeError):
        return None


def _ends_soon(calendar: Calendar, today: date) -> bool:
    return calendar.known_until is not None and calendar.known_until <= today + SOON


def _ending(calendar: Calendar, named: str, mend: str) -> Finding:
    left = "only its weekdays count" if calendar.weekdays else "it excludes no day"
    said = f"calendar {named} names no day after {calendar.known_until}: from then on {left}"
    return PART.warning(said, mend)
