"""The check-up of apps' own queues: each is one of the settings."""

from collections.abc import Iterator
from contextlib import closing

from wangtimer.cli.doctor.findings import Finding, error, ok
from wangtimer.core.errors import StoreAway
from wangtimer.settings import Settings
from wangtimer.store.sql.apps import AppStore
from wangtimer.store.sql.database import Database

PART = "queues"


def check_queues(settings: Settings) -> Iterator[Finding]:
    """Yield the findings; nothing where SQL is away, as its own check-up tells that."""
    with closing(Database(settings.database_url)) as database:
        try:
            queues = AppStore(database).queues()
        except StoreAway:
            return
    names = settings.own_queues.names
    unknown = {app: queue for app, queue in queues.items() if queue not in names}
    for app, queue in sorted(unknown.items()):
        yield error(
            PART,
            f"app {app} has the queue {queue}, which is not in WANGTIMER_CALLBACK_QUEUES: it goes by the common one",
            f"add {queue} at its end for every process, or: wangtimer apps limit {app} --queue none",
        )
    if names and not unknown:
        yield ok(PART, f"apps with a queue of their own: {len(queues)}")
