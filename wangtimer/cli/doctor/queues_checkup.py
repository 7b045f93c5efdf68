"""The check-up of apps' own queues: each is one of the settings."""

from collections.abc import Iterator, Mapping

from wangtimer.cli.doctor.asked_of_sql import asked_of_sql
from wangtimer.cli.doctor.findings import Finding, error, ok
from wangtimer.core.flow.queues import OwnQueues
from wangtimer.settings import Settings
from wangtimer.store.sql.apps import AppStore

PART = "queues"


def check_queues(settings: Settings) -> Iterator[Finding]:
    """Yield the findings; nothing where SQL is away or lacks the tables, as its own check-up tells that."""
    yield from asked_of_sql(settings, lambda sql: judged(AppStore(sql).queues(), settings.own_queues))


def judged(queues: Mapping[str, str], own: OwnQueues) -> Iterator[Finding]:
    """Yield an error for each app whose queue is not in the settings."""
    unknown = {app: queue for app, queue in queues.items() if queue not in own.names}
    for app, queue in sorted(unknown.items()):
        yield error(
            PART,
            f"app {app} has the queue {queue}, which is not in WANGTIMER_CALLBACK_QUEUES: it goes by the common one",
            f"add {queue} at its end for every process, or: wangtimer apps limit {app} --queue none",
        )
    if own.names and not unknown:
        yield ok(PART, f"{len(queues)} apps have a queue of their own")
