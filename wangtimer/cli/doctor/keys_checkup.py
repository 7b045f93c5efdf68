"""The check-up of API keys: those that end soon, or ended lately."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from wangtimer.cli.doctor.asked_of_sql import asked_of_sql
from wangtimer.cli.doctor.findings import Finding, ok, warning
from wangtimer.core.time.moment_text import show_moment
from wangtimer.settings import Settings
from wangtimer.store.sql.api_keys import ApiKeyStore

PART = "API keys"
SOON, LATELY = timedelta(days=14), timedelta(days=7)
# At most this many findings.
SHOWN = 20
RENEW = (
    "make a new one, give it to who has this one, then revoke this one: wangtimer keys create, keys revoke"
)


def check_keys(settings: Settings) -> Iterator[Finding]:
    """Yield what ends soon; nothing where SQL is away, as its own check-up tells that."""
    yield from asked_of_sql(settings, lambda sql: of_keys(ApiKeyStore(sql), datetime.now(UTC)))


def of_keys(store: ApiKeyStore, now: datetime) -> Iterator[Finding]:
    """Yield a warning for each key that ends within 14 days, or ended within the last 7 and was not revoked."""
    first, at, before = (int(one.timestamp() * 1_000) for one in (now - LATELY, now, now + SOON))
    found = store.ending(first, before, SHOWN)
    for one in found:
        whose = "an operator" if one.app is None else f"app {one.app}"
        said = f"key {one.id} ({one.name}) of {whose} {'expired' if one.has_expired(at) else 'expires'} at"
        yield warning(PART, f"{said} {show_moment(one.expires_at or 0)}", RENEW)
    if not found:
        yield ok(PART, f"no API key expires within {SOON.days} days")
