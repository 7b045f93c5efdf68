"""How attempts become rows: copied from the firing's own row before the next attempt writes over it.

A firing's row holds its last attempt, `attempt` the ones before; so a firing that succeeds at once has no row here.
What is copied is what the firing's row says, not what an executor sent: an outcome that changed nothing leaves nothing.
"""

from collections.abc import Callable, Sequence
from functools import cache

from sqlalchemy import ColumnElement, Connection, and_, column, literal_column, select, text
from sqlalchemy.engine import Dialect

from wangtimer.core.firing import FiringStatus, Member
from wangtimer.store.sql.many_rows import insert_ignore
from wangtimer.store.sql.tables import attempts, firings

# Keys one statement looks up: more than 500 SQLite does not take, and as conditions instead of as a table MariaDB needs
# 225 ms for 1,000.
KEYS_A_STATEMENT = 400
_KEYS = "{keys}"
# As both tables have them.
_SENT = ("sent_at", "cost_ms", "connect_ms", "first_byte_ms", "http_status", "output", "error")

Key = tuple[int, int]
_Statement = Callable[[Dialect], tuple[str, str]]


def keep_attempts(sql: Connection, keys: Sequence[Key]) -> None:
    """Keep the last attempt of firings that have an outcome, each (timer_id, fire_at).

    To be called before they are let wait for one more attempt, with their rows locked, in the transaction that does
    it. Firings that wait, and those cancelled before any attempt, have none. Repeating it is harmless.
    """
    _keep(sql, [(fire_at, timer_id) for timer_id, fire_at in keys], _of_settled)


def keep_retried(sql: Connection, members: Sequence[Member]) -> None:
    """Keep the failed attempts of these firings where they wait for the next one. Repeating it is harmless.

    To be called once for each attempt, in the transaction that has written its outcome.
    """
    _keep(sql, [(member.fire_at, member.timer_id) for member in members], _of_retried)


def _keep(sql: Connection, keys: list[tuple[int, int]], statement: _Statement) -> None:
    if not keys:
        return
    before, after = statement(sql.dialect)
    for start in range(0, len(keys), KEYS_A_STATEMENT):
        (fire_at, timer_id), *others = sorted(keys[start : start + KEYS_A_STATEMENT])
        first = f"SELECT {fire_at:d} AS fire_at, {timer_id:d} AS timer_id"
        table = "".join([first, *(f" UNION ALL SELECT {at:d}, {one:d}" for at, one in others)])
        sql.exec_driver_sql(f"{before}{table}{after}")


@cache
def _of_retried(dialect: Dialect) -> tuple[str, str]:
    """While a retry waits, the row tells of the attempt before it."""
    is_retried = and_(
        firings.c.status == _word(FiringStatus.PENDING), firings.c.attempt > literal_column("1")
    )
    made = firings.c.attempt - literal_column("1")
    return _copy(dialect, is_retried, made, _word(FiringStatus.FAILED))


@cache
def _of_settled(dialect: Dialect) -> tuple[str, str]:
    is_settled = firings.c.status != _word(FiringStatus.PENDING)
    was_attempted = firings.c.attempt > literal_column("0")
    return _copy(dialect, and_(is_settled, was_attempted), firings.c.attempt, firings.c.status)


def _copy(
    dialect: Dialect, wanted: ColumnElement[bool], attempt: ColumnElement[int], status: ColumnElement[str]
) -> tuple[str, str]:
    """Return what stands before and behind the keys in the statement that copies rows."""
    asked = text(_KEYS).columns(column("fire_at"), column("timer_id")).subquery("asked")
    is_asked = and_(firings.c.fire_at == asked.c.fire_at, firings.c.timer_id == asked.c.timer_id)
    rows = (
        select(firings.c.fire_at, firings.c.timer_id, attempt, status, *(firings.c[name] for name in _SENT))
        .select_from(asked.join(firings, is_asked))
        .where(wanted)
        .order_by(firings.c.fire_at, firings.c.timer_id)
    )
    names = ("fire_at", "timer_id", "attempt", "status", *_SENT)
    copying = insert_ignore(attempts).from_select(names, rows, include_defaults=False)
    before, _, after = str(copying.compile(dialect=dialect)).partition(_KEYS)
    return before, after


def _word(status: FiringStatus) -> ColumnElement[str]:
    return literal_column(f"'{status.value}'")
