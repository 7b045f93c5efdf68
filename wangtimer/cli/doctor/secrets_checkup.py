"""The check-up of signing secrets: each can be opened."""

from collections.abc import Iterator

from wangtimer.cli.doctor.asked_of_sql import asked_of_sql
from wangtimer.cli.doctor.findings import Finding, error, ok
from wangtimer.settings import Settings
from wangtimer.store.seals import Seals
from wangtimer.store.sql.signing_store import SigningStore

PART = "secrets"
# Rows of a page, and at most this many findings.
PAGE, SHOWN = 1_000, 20
PUT_BACK = (
    "its calls wait: put that key back into WANGTIMER_SECRET_KEYS_FILE of every process; if it is lost, the app makes "
    "a new secret: wangtimer signing rotate --overlap 0s"
)


def check_signing_secrets(settings: Settings) -> Iterator[Finding]:
    """Yield what is wrong with them; nothing where SQL is away, as its own check-up tells that."""
    yield from asked_of_sql(settings, lambda sql: of_apps(SigningStore(sql, Seals(settings.secret_key_ring))))


def of_apps(store: SigningStore) -> Iterator[Finding]:
    """Yield an error for each app whose secrets cannot be read."""
    bad: dict[str, str] = {}
    key: tuple[int, str] | None = (-1, "")
    while key is not None:
        found, key = store.changed_behind(key, PAGE)
        bad |= found.bad
    for app, reason in sorted(bad.items())[:SHOWN]:
        yield error(PART, f"app {app}: {reason}", PUT_BACK)
    if len(bad) > SHOWN:
        yield error(PART, f"so it is with {len(bad) - SHOWN} further apps", PUT_BACK)
    if not bad:
        yield ok(PART, "the signing secrets of all apps can be read")
