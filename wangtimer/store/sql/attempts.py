"""All attempts of one firing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, select

from wangtimer.core.flow.firing import FiringStatus
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firing_rows import NOT_SENT, written
from wangtimer.store.sql.firings import FiringRecord, record_of
from wangtimer.store.sql.tables import attempts, firings


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One attempt and its outcome: moments in ms UTC, durations in ms since its call began.

    `status` is failed if another attempt followed. `sent_at` is None if no byte went out, `connect_ms` if there was no
    connection, `first_byte_ms` if there was no answer. `made_at` is `sent_at`, or when an attempt was made of which no
    byte went out; None if none was made.
    """

    number: int
    status: FiringStatus
    sent_at: int | None
    cost_ms: int | None
    connect_ms: int | None
    first_byte_ms: int | None
    http_status: int | None
    output: str
    error: str
    made_at: int | None


@dataclass(frozen=True, slots=True)
class FiringHistory:
    """A firing and its attempts so far, the first one first."""

    record: FiringRecord
    attempts: list[AttemptRecord]


class AttemptStore:
    """Reads attempts; `attempt_rows` writes them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def history(self, timer_id: int, fire_at: int) -> FiringHistory | None:
        """Return the timer's firing of this moment (ms UTC) with its attempts; None where there is none."""
        return self._database.read(lambda sql: _history(sql, timer_id, fire_at))


def _history(sql: Connection, timer_id: int, fire_at: int) -> FiringHistory | None:
    own = and_(firings.c.timer_id == timer_id, firings.c.fire_at == fire_at)
    row = sql.execute(select(firings).where(own)).mappings().one_or_none()
    if row is None:
        return None
    # The row may have moved on between these two reads: then its former attempt is the row's own, not an earlier one.
    before = and_(
        attempts.c.timer_id == timer_id,
        attempts.c.fire_at == fire_at,
        attempts.c.attempt < row["attempt"],
    )
    kept = sql.execute(select(attempts).where(before).order_by(attempts.c.attempt)).mappings()
    found = [_attempt_of(one) for one in kept]
    record = record_of(row)
    if record.firing.status is not FiringStatus.PENDING and record.firing.attempt > 0:
        found.append(_attempt_of(row))
    return FiringHistory(record, found)


def _attempt_of(row: Mapping[Any, Any]) -> AttemptRecord:
    made_at, first_byte_ms = written(row, "sent_at"), written(row, "first_byte_ms")
    is_unsent = first_byte_ms == NOT_SENT
    return AttemptRecord(
        row["attempt"],
        FiringStatus(row["status"]),
        None if is_unsent else made_at,
        written(row, "cost_ms"),
        written(row, "connect_ms"),
        None if is_unsent else first_byte_ms,
        written(row, "http_status"),
        row["output"],
        row["error"],
        made_at,
    )
