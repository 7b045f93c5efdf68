"""Writes attempts as rows: copied from the firing's own row before the next attempt writes over it.

A firing's row holds its last attempt, `attempt` the earlier ones; so a firing that succeeds at once has no row here.
The firing's row is copied, not an executor's outcome: so an outcome that changed nothing leaves nothing.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, literal_column

from wangtimer.core.flow.firing import FiringStatus, Member, MemberKey
from wangtimer.store.sql.statements import KeyedStatement, asked_for, insert_ignore
from wangtimer.store.sql.tables import attempts, firings

# Columns that both tables have.
_SENT = ("sent_at", "cost_ms", "connect_ms", "first_byte_ms", "http_status", "output", "error")


def keep_attempts(sql: Connection, keys: Sequence[MemberKey]) -> None:
    """Keep the last attempt of firings that have an outcome, each (timer_id, fire_at).

    Call it in the transaction that lets them wait for one more attempt, before that change and with their rows locked.
    Firings that wait, and those cancelled before any attempt, have no attempt to keep. Repeating it is harmless.
    """
    _OF_SETTLED.run(sql, keys)


def keep_retried(sql: Connection, members: Sequence[Member]) -> None:
    """Keep the failed attempts of those firings that wait for the next one. Repeating it is harmless.

    Call it once for each attempt, in the transaction that has written its outcome.
    """
    _OF_RETRIED.run(sql, [member.key for member in members])


def _word(status: FiringStatus) -> ColumnElement[str]:
    return literal_column(f"'{status.value}'")


def _copy(
    wanted: ColumnElement[bool], attempt: ColumnElement[int], status: ColumnElement[str]
) -> KeyedStatement:
    """Return the statement that copies the rows of keys."""
    columns = (firings.c.fire_at, firings.c.timer_id, attempt, status, *(firings.c[name] for name in _SENT))
    rows = asked_for(*columns).where(wanted).order_by(firings.c.fire_at, firings.c.timer_id)
    names = ("fire_at", "timer_id", "attempt", "status", *_SENT)
    return KeyedStatement(insert_ignore(attempts).from_select(names, rows, include_defaults=False))


_OF_SETTLED = _copy(
    and_(firings.c.status != _word(FiringStatus.PENDING), firings.c.attempt > literal_column("0")),
    firings.c.attempt,
    firings.c.status,
)
# While a retry waits, the row describes the attempt before it.
_OF_RETRIED = _copy(
    and_(firings.c.status == _word(FiringStatus.PENDING), firings.c.attempt > literal_column("1")),
    firings.c.attempt - literal_column("1"),
    _word(FiringStatus.FAILED),
)
