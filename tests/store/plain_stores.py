"""Stores of timers as a deployment has them whose apps have no limits, no secrets and no named brokers."""

from wangtimer.core.messages.message_place import MessagePlace
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.store.app_total import WITHOUT_LIMIT
from wangtimer.store.seals import NO_KEYS, Seals
from wangtimer.store.sql.app_totals import AppTotals, TotalCounts
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.timer_batches import TimerBatches
from wangtimer.store.sql.timers import TimerStore


def any_task(_app: str, _place: MessagePlace, _task: str) -> str:
    """Refuse none."""
    return ""


def without_limits(database: Database) -> AppTotals:
    """Return the totals of a deployment whose apps have no limits: none is kept."""
    return AppTotals(lambda _: WITHOUT_LIMIT, TotalCounts(database))


def plain_timers(
    database: Database,
    bad_timers: BadTimers | None = None,
    seals: Seals = NO_KEYS,
    totals: AppTotals | None = None,
) -> TimerStore:
    """Return the store; a test names what its deployment has."""
    return TimerStore(
        database, bad_timers or BadTimers(), seals, totals or without_limits(database), any_task
    )


def plain_batches(database: Database, totals: AppTotals | None = None) -> TimerBatches:
    """Return the store; a test names what its deployment has."""
    return TimerBatches(database, NO_KEYS, totals or without_limits(database), any_task)
