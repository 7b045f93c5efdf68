"""The check-up of what apps and operators set: queues of their own, API keys, signing secrets, pauses."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from wangtimer.cli.doctor.findings import Finding, Part, asked_of_sql
from wangtimer.core.flow.queues import OwnQueues
from wangtimer.core.time.moment_text import show_moment
from wangtimer.settings import Settings
from wangtimer.store.seals import Seals
from wangtimer.store.sql.apps import ApiKeyStore, AppStore
from wangtimer.store.sql.pauses import PauseStore
from wangtimer.store.sql.signing_store import SigningStore

QUEUES, KEYS, SECRETS, PAUSES = Part("queues"), Part("API keys"), Part("secrets"), Part("pauses")
# At most this many findings of a kind, and rows of a page.
SHOWN, PAGE = 20, 1_000
# A key that ends so soon, or ended so lately, is told.
SOON, LATELY = timedelta(days=14), timedelta(days=7)
RENEW = (
    "make a new one, give it to who has this one, then revoke this one: wangtimer keys create, keys revoke"
)
PUT_BACK = (
    "its calls wait: put that key back into WANGTIMER_SECRET_KEYS_FILE of every process; if it is lost, the app makes "
    "a new secret: wangtimer signing rotate --overlap 0s"
)


def check_queues(settings: Settings) -> Iterator[Finding]:
    """Yield the findings; nothing where SQL is away or lacks the tables, as its own check-up tells that."""
    yield from asked_of_sql(settings, lambda sql: queues_in(AppStore(sql).queues(), settings.own_queues))


def queues_in(queues: Mapping[str, str], own: OwnQueues) -> Iterator[Finding]:
    """Yield an error for each app whose queue is not in the settings."""
    unknown = {app: queue for app, queue in queues.items() if queue not in own.names}
    for app, queue in sorted(unknown.items()):
        yield QUEUES.error(
            f"app {app} has the queue {queue}, which is not in WANGTIMER_CALLBACK_QUEUES: it goes by the common one",
            f"add {queue} at its end for every process, or: wangtimer apps limit {app} --queue none",
        )
    if own.names and not unknown:
        yield QUEUES.ok(f"{len(queues)} apps have a queue of their own")


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
        yield KEYS.warning(f"{said} {show_moment(one.expires_at or 0)}", RENEW)
    if not found:
        yield KEYS.ok(f"no API key expires within {SOON.days} days")


def check_signing_secrets(settings: Settings) -> Iterator[Finding]:
    """Yield what is wrong with them; nothing where SQL is away, as its own check-up tells that."""
    yield from asked_of_sql(
        settings, lambda sql: of_signing_secrets(SigningStore(sql, Seals(settings.secret_key_ring)))
    )


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


def check_pauses(settings: Settings) -> Iterator[Finding]:
    """Yield what is paused; nothing where SQL is away, as its own check-up tells that."""
    yield from asked_of_sql(settings, lambda sql: in_force(PauseStore(sql)))


def in_force(store: PauseStore) -> Iterator[Finding]:
    """Yield a warning for each pause, with how it ends."""
    paused = store.all()
    for one in paused[:SHOWN]:
        why = f": {one.reason}" if one.reason else ""
        said = f"{one.name} has been paused since {show_moment(one.since)}{why}"
        yield PAUSES.warning(
            said, f"its firings wait; let it go on: wangtimer resume {one.name.replace(':', ' ', 1)}"
        )
    if len(paused) > SHOWN:
        yield PAUSES.warning(f"so are {len(paused) - SHOWN} further ones", "wangtimer pauses lists them")
    if not paused:
        yield PAUSES.ok("nothing is paused")
