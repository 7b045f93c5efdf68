"""Writes attempts as rows: copied from the firing's own row before the next attempt writes over it.

A firing's row holds its last attempt, `attempt` the earlier ones; so a firing that succeeds at once has no row here.
The firing's row is copied, not an executor's outcome: so an outcome that changed nothing leaves nothing.
"""

from collections.abc import Callable, Sequence
from functools import cache

from sqlalchemy import ColumnElement, Connection, and_, literal_column
from sqlalchemy.engine import Dialect

from wangtimer.core.flow.firing import FiringStatus, Member, MemberKey
from wangtimer.store.sql.asked import RowKey, asked_for, in_parts, with_keys
from wangtimer.store.sql.many_rows import insert_ignore
from wangtimer.store.sql.tables import attempts, firings

# Columns that both tables have.
_SENT = ("sent_at", "cost_ms", "connect_ms", "first_byte_ms", "http_status", "output", "error")

_Statement = Callable[[Dialect], str]


def keep_attempts(sql: Connection, keys: Sequence[MemberKey]) -> None:
    """Keep the last attempt of firings that have an outcome, each (timer_id, fire_at).

    Call it in the transaction that lets them wait for one more attempt, before that change and with their rows locked.
    Firings that wait, and those cancelled before any attempt, have no attempt to keep. Repeating it is harmless.
    """
    _keep(sql, [(fire_at, timer_id) for timer_id, fire_at in keys], _of_settled)


def keep_retried(sql: Connection, members: Sequence[Member]) -> None:
    """Keep the failed attempts of those firings that wait for the next one. Repeating it is harmless.

    Call it once for each attempt, in the transaction that has written its outcome.
    """
    _keep(sql, [(member.fire_at, member.timer_id) for member in members], _of_retried)


def _keep(sql: Connection, keys: list[RowKey], statement: _Statement) -> None:
    for part in in_parts(keys):
        sql.exec_driver_sql(with_keys(statement(sql.dialect), sql.dialect, part))


@cache
def _of_retried(dialect: Dialect) -> str:
    """Return the copy for retries: while a retry waits, the row describes the attempt before it."""
    is_retried = and_(
        firings.c.status == _word(FiringStatus.PENDING), firings.c.attempt > literal_column("1")
    )
    made = firings.c.attempt - literal_column("1")
    return _copy(dialect, is_retried, made, _word(FiringStatus.FAILED))


@cache
def _of_settled(dialect: Dialect) -> str:
    is_settled = firings.c.status != _word(FiringStatus.PENDING)
    was_attempted = firings.c.attempt > literal_column("0")
    return _copy(dialect, and_(is_settled, was_attempted), firings.c.attempt, firings.c.status)


def _copy(
    dialect: Dialect, wanted: ColumnElement[bool], attempt: ColumnElement[int], status: ColumnElement[str]
) -> str:
    """Return the statement that copies the rows of keys; `with_keys` puts the keys in."""
    columns = (firings.c.fire_at, firings.c.timer_id, attempt, status, *(firings.c[name] for name in _SENT))
    rows = asked_for(*columns).where(wanted).order_by(firings.c.fire_at, firings.c.timer_id)
    names = ("fire_at", "timer_id", "attempt", "status", *_SENT)
    copying = insert_ignore(attempts).from_select(names, rows, include_defaults=False)
    return str(copying.compile(dialect=dialect))


def _word(status: FiringStatus) -> ColumnElement[str]:
    return literal_column(f"'{status.value}'")
