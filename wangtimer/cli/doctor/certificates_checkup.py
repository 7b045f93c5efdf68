"""The check-up of certificates: those that apps' callbacks show, and whose authorities vouch for targets."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from wangtimer.callback.client_certificate import facts_of_all
from wangtimer.cli.doctor.findings import Finding, Part, asked_of_sql
from wangtimer.core.errors import BadSetting
from wangtimer.core.time.moment_text import show_moment
from wangtimer.settings import Settings
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql.ways_out import ClientCertificates

PART = Part("certificates")
SOON = timedelta(days=30)
# At most this many findings.
SHOWN = 20
RENEW = "set a new one before: wangtimer client-certificate set CERTIFICATE KEY"
REPLACE = "put one that counts into the file, and restart the callback processes"


def check_certificates(settings: Settings) -> Iterator[Finding]:
    """Yield what has expired or does soon; of apps nothing where SQL is away, as its own check-up tells that."""
    now = datetime.now(UTC)
    yield from of_the_file(settings, now)
    yield from asked_of_sql(settings, lambda sql: of_apps(ClientCertificates(sql, NO_KEYS), now))


def of_apps(store: ClientCertificates, now: datetime) -> Iterator[Finding]:
    """Yield an error for each app whose certificate has expired, a warning for one that does within 30 days."""
    ending = store.ending(_ms(now + SOON), SHOWN)
    for one in ending:
        has_ended = one.expires_at <= _ms(now)
        said = f"the client certificate of app {one.app} {_expires(one.expires_at, has_ended=has_ended)}"
        yield PART.error(said, RENEW) if has_ended else PART.warning(said, RENEW)
    if not ending:
        yield PART.ok(f"no client certificate expires within {SOON.days} days")


def of_the_file(settings: Settings, now: datetime) -> Iterator[Finding]:
    """Yield the same for the authorities of WANGTIMER_CALLBACK_CA_FILE, and an error where that cannot be read."""
    try:
        pem = settings.callback_authorities
    except BadSetting as wrong:
        yield PART.error(str(wrong), "mend the file, or take the setting out")
        return
    for one in facts_of_all(pem) if pem else ():
        has_ended = one.expires_at <= _ms(now)
        said = (
            f"{one.subject}, of WANGTIMER_CALLBACK_CA_FILE, {_expires(one.expires_at, has_ended=has_ended)}"
        )
        if has_ended:
            yield PART.error(said, REPLACE)
        elif one.expires_at <= _ms(now + SOON):
            yield PART.warning(said, REPLACE)


def _expires(at: int, *, has_ended: bool) -> str:
    return f"expired at {show_moment(at)}" if has_ended else f"expires at {show_moment(at)}"


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000)
