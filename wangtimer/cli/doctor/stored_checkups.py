"""The check-ups of what is stored: queues of apps, API keys, secrets, pauses, calendars, certificates, timers."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, date, datetime, timedelta

from wangtimer.base.settings import Settings
from wangtimer.callback.client_certificate import facts_of_all
from wangtimer.cli.doctor.findings import Finding, Part
from wangtimer.core.errors import BadSetting, StoreAway
from wangtimer.core.flow.queues import OwnQueues
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.time.moment_text import show_moment
from wangtimer.planning.schedule_followers import PACKAGES, is_newer, own_rules
from wangtimer.store.redis.bad_record import PRESENT_MS, BadRecord, BadTimer
from wangtimer.store.redis.clock import RedisClock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.sql.apps import ApiKeyStore
from wangtimer.store.sql.calendars import FIRST, CalendarStore, Named
from wangtimer.store.sql.pauses import PauseStore
from wangtimer.store.sql.schedule_rules import ScheduleRuleStore
from wangtimer.store.sql.signing_store import SigningStore
from wangtimer.store.sql.ways_out import ClientCertificates

QUEUES, KEYS, SECRETS, PAUSES = Part("queues"), Part("API keys"), Part("secrets"), Part("pauses")
# At most this many findings of a kind, and rows of a page.
SHOWN, PAGE = 20, 1_000
# A key that ends so soon, or ended so lately, is told.
KEY_SOON, KEY_LATELY = timedelta(days=14), timedelta(days=7)
RENEW_KEY = (
    "make a new one, give it to who has this one, then revoke this one: wangtimer keys create, keys revoke"
)
PUT_BACK = (
    "its calls wait: put that key back into WANGTIMER_SECRET_KEYS_FILE of every process; if it is lost, the app makes "
    "a new secret: wangtimer signing rotate --overlap 0s"
)

CALENDARS = Part("calendars")
CALENDAR_SOON = timedelta(days=60)
INSTALL = (
    "upgrade the package chinesecalendar on every node, and restart the processes: the State Council announces "
    "a year's days late in the year before"
)
UPLOAD = "upload the calendar with its further days: PUT /v1/calendars/{name}"

CERTIFICATES = Part("certificates")
CERTIFICATE_SOON = timedelta(days=30)
RENEW_CERTIFICATE = "set a new one before: wangtimer client-certificate set CERTIFICATE KEY"
REPLACE = "put one that counts into the file, and restart the callback processes"

BAD, RULES = Part("timers"), Part("rules")
SAME_VERSION = (
    "its zone or format may be one of another version: run the same version, with the same tzdata, on every node; "
    "or edit, disable or delete it on a node that can read it"
)
NAMES = " and ".join(PACKAGES)
NEWER = f"install the same {NAMES} on every node, and restart migrate: it plans timers anew"
OLDER = f"install the same {NAMES} here and on every node, and restart the processes"


def of_queues(queues: Mapping[str, str], own: OwnQueues) -> Iterator[Finding]:
    """Yield an error for each app whose queue is not in the settings."""
    unknown = {app: queue for app, queue in queues.items() if queue not in own.names}
    for app, queue in sorted(unknown.items()):
        yield QUEUES.error(
            f"app {app} has the queue {queue}, which is not in WANGTIMER_CALLBACK_QUEUES: it goes by the common one",
            f"add {queue} at its end for every process, or: wangtimer apps limit {app} --queue none",
        )
    if own.names and not unknown:
        yield QUEUES.ok(f"{len(queues)} apps have a queue of their own")


def of_keys(store: ApiKeyStore, now: datetime) -> Iterator[Finding]:
    """Yield a warning for each key that ends within 14 days, or ended within the last 7 and was not revoked."""
    first, at, before = (
        int(moment.timestamp() * 1_000) for moment in (now - KEY_LATELY, now, now + KEY_SOON)
    )
    found = store.ending(first, before, SHOWN)
    for key in found:
        whose = "an operator" if key.app is None else f"app {key.app}"
        said = f"key {key.id} ({key.name}) of {whose} {'expired' if key.has_expired(at) else 'expires'} at"
        yield KEYS.warning(f"{said} {show_moment(key.expires_at or 0)}", RENEW_KEY)
    if not found:
        yield KEYS.ok(f"no API key expires within {KEY_SOON.days} days")


def of_signing_secrets(store: SigningStore) -> Iterator[Finding]:
    """Yield an error for each app whose secrets cannot be read."""
    bad: dict[str, str] = {}
    key: tuple[int, str] | None = (-1, "")
    while key is not None:
        found, key = store.changed_behind(key, PAGE)
        bad |= found.bad
    for app, reason in sorted(bad.items())[:SHOWN]:
        yield SECRETS.error(f"app {app}: {reason}", PUT_BACK)
    if len(bad) > SHOWN:
        yield SECRETS.error(f"so it is with {len(bad) - SHOWN} further apps", PUT_BACK)
    if not bad:
        yield SECRETS.ok("the signing secrets of all apps can be read")


def of_pauses(store: PauseStore) -> Iterator[Finding]:
    """Yield a warning for each pause, with how it ends."""
    paused = store.all()
    for pause in paused[:SHOWN]:
        why = f": {pause.reason}" if pause.reason else ""
        said = f"{pause.name} has been paused since {show_moment(pause.since)}{why}"
        yield PAUSES.warning(
            said, f"its firings wait; let it go on: wangtimer resume {pause.name.replace(':', ' ', 1)}"
        )
    if len(paused) > SHOWN:
        yield PAUSES.warning(f"so are {len(paused) - SHOWN} further ones", "wangtimer pauses lists them")
    if not paused:
        yield PAUSES.ok("nothing is paused")


def of_calendars(store: CalendarStore, today: date) -> Iterator[Finding]:
    """Yield a warning for each calendar of enabled timers that ends within 60 days; raises `StoreAway`.

    A built-in calendar is told of once, however many apps name it.
    """
    seen: set[str] = set()
    found = 0
    for app, name in _named(store):
        if found == SHOWN:
            return
        if name in seen:
            continue
        calendar = built_in().get(name) or _uploaded(store, app, name)
        if calendar is None or not _ends_soon(calendar, today) or not store.is_of_enabled(app, name):
            continue
        found += 1
        if name in built_in():
            seen.add(name)
            yield _ending(calendar, f"{name} (of app {app}, say)", INSTALL)
        else:
            yield _ending(calendar, f"{name} of app {app}", UPLOAD)
    if not found:
        yield CALENDARS.ok(f"no calendar of an enabled timer ends within {CALENDAR_SOON.days} days")


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
    return calendar.known_until is not None and calendar.known_until <= today + CALENDAR_SOON


def _ending(calendar: Calendar, named: str, mend: str) -> Finding:
    left = "only its weekdays count" if calendar.weekdays else "it excludes no day"
    said = f"calendar {named} names no day after {calendar.known_until}: from then on {left}"
    return CALENDARS.warning(said, mend)


def of_certificates(store: ClientCertificates, now: datetime) -> Iterator[Finding]:
    """Yield an error for each app whose certificate has expired, a warning for one that does within 30 days."""
    ending = store.ending(_ms(now + CERTIFICATE_SOON), SHOWN)
    for row in ending:
        yield _expiry(f"the client certificate of app {row.app}", row.expires_at, now, RENEW_CERTIFICATE)
    if not ending:
        yield CERTIFICATES.ok(f"no client certificate expires within {CERTIFICATE_SOON.days} days")


def of_authorities(settings: Settings, now: datetime) -> Iterator[Finding]:
    """Yield the same for the authorities of WANGTIMER_CALLBACK_CA_FILE, and an error where that cannot be read."""
    try:
        pem = settings.callback_authorities
    except BadSetting as wrong:
        yield CERTIFICATES.error(str(wrong), "mend the file, or take the setting out")
        return
    for facts in facts_of_all(pem) if pem else ():
        if facts.expires_at <= _ms(now + CERTIFICATE_SOON):
            named = f"{facts.subject}, of WANGTIMER_CALLBACK_CA_FILE,"
            yield _expiry(named, facts.expires_at, now, REPLACE)


def _expiry(named: str, at: int, now: datetime, mend: str) -> Finding:
    if at <= _ms(now):
        return CERTIFICATES.error(f"{named} expired at {show_moment(at)}", mend)
    return CERTIFICATES.warning(f"{named} expires at {show_moment(at)}", mend)


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000)


def check_bad_timers(settings: Settings) -> Iterator[Finding]:
    """Yield the bad timers seen last; nothing where Redis is away, as its own check-up tells that."""
    with closing(RedisConnection(settings.store_url)) as connection:
        clock = RedisClock(connection)
        record = BadRecord(connection, Keys(settings.key_prefix), clock)
        try:
            yield from of_bad_timers(record.latest(SHOWN), record.present(), int(clock.now_ms()))
        except StoreAway:
            return


def of_bad_timers(bad: list[BadTimer], present: int, now: int) -> Iterator[Finding]:
    """Yield the findings: an error for a bad timer seen within ten minutes, else a warning."""
    for timer in bad:
        is_present = now - timer.seen_at <= PRESENT_MS
        seen = datetime.fromtimestamp(timer.seen_at // 1_000, UTC).isoformat().replace("+00:00", "Z")
        said = f"timer {timer.timer_id}: {timer.reason} (last seen {seen})"
        yield BAD.error(said, SAME_VERSION) if is_present else BAD.warning(said, SAME_VERSION)
    if present > len(bad):
        yield BAD.error(
            f"{present - len(bad)} further timers cannot be read, judged or planned", SAME_VERSION
        )
    if not bad:
        yield BAD.ok("no timer was found that cannot be read, judged or planned")


def of_rules(store: ScheduleRuleStore) -> Iterator[Finding]:
    """Yield a warning where timers are planned by other rules; raises `StoreAway`."""
    held, own = store.read(), own_rules()
    if held is None or held.version == own.version:
        said = f"timers are planned by the rules of {NAMES} that are installed here: {own.version}"
        new = len(held.to_follow) if held else 0
        yield RULES.ok(f"{said}; those of {new} new rules are looked at for a day" if new else said)
    else:
        said = f"timers are planned by {held.version}; here is {own.version} ({NAMES})"
        yield RULES.warning(said, NEWER if is_newer(own, held) else OLDER)
