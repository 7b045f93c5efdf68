"""Writes firings and attempts as rows: planned firings are inserted, outcomes are written over them.

A firing's row holds its last attempt, `attempt` the earlier ones; so a firing that succeeds at once has no row there.
The firing's row is copied, not an executor's outcome: so an outcome that changed nothing leaves nothing.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, literal_column, or_
from sqlalchemy.engine import Dialect

from wangtimer.core.flow.firing import Firing, FiringStatus, Member, MemberKey
from wangtimer.core.flow.outcome import Outcome
from wangtimer.store.sql.statements import (
    KeyedStatement,
    ManyRows,
    NewValues,
    Texts,
    asked_for,
    insert_ignore,
    number,
    upsert,
)
from wangtimer.store.sql.tables import ERROR_CHARACTERS, OUTPUT_CHARACTERS, attempts, firings

_PLANNED = ("fire_at", "timer_id", "bucket", "kind", "status", "due_at", "attempt")
_INSERTED = (*_PLANNED, "asked_at")
_NUMBERED = (*_INSERTED, "seq")
# Planning leaves these at the schema's 0, the first outcome writes them.
_OF_FIRST_SEND = ("first_sent_at", "lateness_ms")
_OF_LAST_ATTEMPT = ("sent_at", "connect_ms", "first_byte_ms", "cost_ms", "http_status")
# What else each outcome writes, as it is.
_SAID = ("output", "error", "host_failing_ms")
# In place of `first_byte_ms`: not a byte was sent, and `sent_at` is when the attempt was made. So it takes no column.
NOT_SENT = -1
_MOVED = ("bucket", "kind", "status", "due_at", "attempt", "asked_at")


@cache
def planning(dialect: Dialect) -> ManyRows:
    """Return the insert of planned firings; it leaves existing rows as they are.

    Measured columns keep their default, 0, not NULL. So a row has its final length, and its outcome is written in
    place; else MariaDB would split every page that planning filled. This took a firing of 60,000 at one moment from
    23 µs to 19.
    """
    return ManyRows(insert_ignore(firings), _INSERTED, dialect)


@cache
def planning_numbered(dialect: Dialect) -> ManyRows:
    """Return the same insert, of rows of which some have a number."""
    return ManyRows(insert_ignore(firings), _NUMBERED, dialect)


@cache
def replaying(dialect: Dialect) -> ManyRows:
    """Return the upsert for one more attempt of ended firings; earlier sends stay, a skipped one's error does not."""
    is_skipped = firings.c.status == _word(FiringStatus.SKIPPED)
    error = case((is_skipped, literal_column("''")), else_=firings.c.error)
    # The error depends on the status.
    first = {"error": error, "lane": literal_column("''")}
    return upsert(firings, _INSERTED, dialect, lambda new: first | {name: new[name] for name in _MOVED})


def planned_row(firing: Firing, _texts: Texts) -> str:
    """Write a planned firing, in the order of the insert's columns."""
    timer_id, fire_at, bucket, kind, _, due_at, attempt, asked_at, _, _ = firing
    row = fire_at, timer_id, bucket, kind, due_at, attempt
    return "(%d,%d,%d,'%s','pending',%d,%d," % row + f"{number(asked_at)})"


def numbered_row(firing: Firing, texts: Texts) -> str:
    """Write a planned firing with its number, if it has one."""
    return f"{planned_row(firing, texts)[:-1]},{number(firing.seq)})"


@cache
def settling(dialect: Dialect) -> ManyRows:
    """Return the upsert of outcomes; it takes effect only where the attempt still counts.

    One upsert of 200 rows costs a ninth of `UPDATE ... WHERE (a, b) IN (...)`. A missing row (SQL went back in time)
    is inserted with its outcome.
    """
    columns = (*_PLANNED, *_OF_FIRST_SEND, *_OF_LAST_ATTEMPT, *_SAID)
    return upsert(firings, columns, dialect, _settled_columns, _takes_effect)


def settled_row(outcome: Outcome, texts: Texts) -> str:
    """Write an outcome, in the order of the upsert's columns."""
    member, bucket, status, due_at, sent, late, cost, http_status, output, error = outcome[:10]
    connect, first_byte, host_failing = outcome[10:13]
    made_at = sent
    if outcome.made_at is not None:
        made_at, first_byte = outcome.made_at, NOT_SENT
    planned = (member.fire_at, member.timer_id, bucket, status, due_at, outcome.next_attempt)
    measured: Any = (sent, late, made_at, connect, first_byte, cost, http_status)
    # Of most all are known: one formatting takes a third of what seven take.
    numbers = ",".join(map(number, measured)) if None in measured else "%d,%d,%d,%d,%d,%d,%d" % measured
    return (
        "(%d,%d,%d,'scheduled','%s',%d,%d," % planned + f"{numbers},"
        f"{texts.write(output[:OUTPUT_CHARACTERS])},{texts.write(error[:ERROR_CHARACTERS])},{number(host_failing)})"
    )


def written(row: Mapping[Any, Any], name: str) -> Any:
    """Return what an outcome wrote into the row; None if the row is still as planned."""
    return None if row["sent_at"] == 0 else row[name]


def _settled_columns(new: NewValues) -> dict[str, ColumnElement[Any]]:
    """Return what is written; whether it takes effect depends on status and attempt, so those two come last."""
    was_sent = firings.c.first_sent_at > literal_column("0")
    return {
        "due_at": new["due_at"],
        # It depends on first_sent_at.
        "lateness_ms": case((was_sent, firings.c.lateness_ms), else_=new["lateness_ms"]),
        "first_sent_at": case((was_sent, firings.c.first_sent_at), else_=new["first_sent_at"]),
        **{name: new[name] for name in (*_OF_LAST_ATTEMPT, *_SAID)},
        # A retry leaves its lane; after the last attempt the record keeps where it waited.
        "lane": case(
            (new["status"] == _word(FiringStatus.PENDING), literal_column("''")), else_=firings.c.lane
        ),
        "status": new["status"],
        "attempt": case((firings.c.attempt > new["attempt"], firings.c.attempt), else_=new["attempt"]),
    }


def _takes_effect(new: NewValues) -> ColumnElement[bool]:
    pending, succeeded = _word(FiringStatus.PENDING), _word(FiringStatus.SUCCEEDED)
    attempt, status = new["attempt"], new["status"]
    made = case((status == pending, attempt - literal_column("1")), else_=attempt)
    overtaken = and_(status == succeeded, firings.c.attempt >= attempt)
    counts = and_(firings.c.status == pending, or_(firings.c.attempt == made, overtaken))
    # Cancelled too late to be held back: the record must say what was sent.
    was_sent = and_(firings.c.attempt == literal_column("0"), new["first_sent_at"].is_not(None))
    return or_(counts, was_sent)


def _word(status: FiringStatus) -> ColumnElement[str]:
    return literal_column(f"'{status.value}'")


# Columns that both tables have.
_SENT = ("sent_at", "cost_ms", "connect_ms", "first_byte_ms", "http_status", "output", "error")


def keep_attempts(sql: Connection, keys: Sequence[MemberKey]) -> None:
    """Keep the last attempt of firings that have an outcome, each (timer_id, fire_at).

    Call it in the transaction that lets them wait for one more attempt, before that change and with their rows locked.
    Firings that wait, and those cancelled before any attempt, have no attempt to keep. Repeating it is harmless.
    """
    _OF_SETTLED.run(sql, keys)


def keep_retried(sql: Connection, members: Sequence[Member]) -> None:
    """Keep failed attempts of firings that wait for the next one, in the outcome's transaction; repeatable."""
    _OF_RETRIED.run(sql, [member.key for member in members])


def _copy(
    wanted: ColumnElement[bool], attempt: ColumnElement[int], status: ColumnElement[str]
) -> KeyedStatement:
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
