"""Firings asked for by their keys: joined to a table of these keys, written into the statement.

MariaDB takes 150 to 270 ms for a condition on 1,000 pairs, and 3 to 7 for this join (a server of 2 cores). Hints fix
the order of the tables and the index, whatever the statistics are.
"""

from collections.abc import Iterable, Sequence

from sqlalchemy import Column, Connection, Select, Table, and_, column, select, text
from sqlalchemy.engine import Dialect

from wangtimer.core.flow.firing import FiringStatus
from wangtimer.store.sql.keyset import by_index, in_this_order
from wangtimer.store.sql.tables import firings

# Keys one statement carries: with more, the locks of one transaction grow, and nothing is gained.
KEYS_A_STATEMENT = 2_000
_KEYS = "{keys}"

# A firing's key in the order of its table: moment, timer.
RowKey = tuple[int, int]


def asked_for(*columns: object, table: Table = firings, index: str = "PRIMARY") -> Select[tuple[object, ...]]:
    """Return a query for these columns of firings asked for by key; `with_keys` completes its text.

    They may stand in another table that has the keys of firings, under an index of them.
    """
    asked = text(_KEYS).columns(column("fire_at"), column("timer_id")).subquery("asked")
    is_asked = and_(table.c.fire_at == asked.c.fire_at, table.c.timer_id == asked.c.timer_id)
    query: Select[tuple[object, ...]] = select(*columns).select_from(asked.join(table, is_asked))  # type: ignore[call-overload]
    return in_this_order(by_index(query, index, table))


def with_keys(statement: str, dialect: Dialect, keys: Sequence[RowKey]) -> str:
    """Return the text of a compiled `asked_for` with the keys, at least one, in it."""
    return statement.replace(_KEYS, _table(dialect, ("fire_at", "timer_id"), keys))


def delete_of_ids(sql: Connection, column: Column[int], ids: Sequence[int], index: str = "PRIMARY") -> int:
    """Delete the rows that have one of these ids in this column; return how many.

    It joins the ids for the same reason: a plain DELETE takes no hint against reading every row.
    """
    if not ids:
        return 0
    table = column.table
    if sql.dialect.name == "sqlite":
        return int(sql.execute(table.delete().where(column.in_(ids))).rowcount)
    asked = _table(sql.dialect, ("id",), [(one,) for one in ids])
    statement = (
        f"DELETE {table.name} FROM ({asked}) AS asked STRAIGHT_JOIN {table.name} FORCE INDEX ({index})"
        f" ON {table.name}.{column.name} = asked.id"
    )
    return int(sql.exec_driver_sql(statement).rowcount)


def delete_of_keys(sql: Connection, table: Table, keys: Sequence[RowKey], index: str) -> int:
    """Delete the rows that have one of these keys of firings, at most `KEYS_A_STATEMENT`; return how many."""
    if not keys:
        return 0
    asked = _table(sql.dialect, ("fire_at", "timer_id"), keys)
    own = f"{table.name}.fire_at = asked.fire_at AND {table.name}.timer_id = asked.timer_id"
    if sql.dialect.name == "sqlite":
        keyed = f"SELECT fire_at, timer_id FROM ({asked})"
        statement = f"DELETE FROM {table.name} WHERE (fire_at, timer_id) IN ({keyed})"
    else:
        joined = f"({asked}) AS asked STRAIGHT_JOIN {table.name} FORCE INDEX ({index}) ON {own}"
        statement = f"DELETE {table.name} FROM {joined}"
    return int(sql.exec_driver_sql(statement).rowcount)


def delete_of_attempts(
    sql: Connection, table: Table, app: str, attempts: Sequence[tuple[int, int, int]]
) -> int:
    """Delete an app's rows that have one of these keys, each a moment, a timer and an attempt; return how many."""
    if not attempts:
        return 0
    names = ("fire_at", "timer_id", "attempt")
    asked = _table(sql.dialect, names, attempts)
    if sql.dialect.name == "sqlite":
        keyed = f"({', '.join(names)}) IN (SELECT * FROM ({asked}))"
        statement = f"DELETE FROM {table.name} WHERE app = ? AND {keyed}"
    else:
        own = " AND ".join(f"{table.name}.{name} = asked.{name}" for name in names)
        joined = f"({asked}) AS asked STRAIGHT_JOIN {table.name} FORCE INDEX (PRIMARY)"
        statement = f"DELETE {table.name} FROM {joined} ON {table.name}.app = %s AND {own}"
    return int(sql.exec_driver_sql(statement, (app,)).rowcount)


def update_waiting(
    sql: Connection, column: Column[str], attempts: Sequence[tuple[int, int, int]], values: Sequence[str]
) -> None:
    """Write values into this column of firings that are pending and stand at the given attempt.

    `attempts`, at least one: moment, timer and number of each. `values`: one for each of them; equal values are sent
    once.
    """
    places = {value: place for place, value in enumerate(dict.fromkeys(values), 1)}
    rows = [(*attempt, places[value]) for attempt, value in zip(attempts, values, strict=True)]
    asked = _table(sql.dialect, ("fire_at", "timer_id", "attempt", "place"), rows)
    own = "firing.fire_at = asked.fire_at AND firing.timer_id = asked.timer_id"
    waits = f"firing.status = '{FiringStatus.PENDING.value}' AND firing.attempt = asked.attempt"
    if sql.dialect.name == "sqlite":
        whens = " ".join(f"WHEN {place} THEN ?" for place in places.values())
        value = f"CASE asked.place {whens} END"
        statement = (
            f"UPDATE firing SET {column.name} = {value} FROM ({asked}) AS asked WHERE {own} AND {waits}"
        )
    else:
        value = f"ELT(asked.place, {', '.join(['%s'] * len(places))})"
        statement = (
            f"UPDATE ({asked}) AS asked STRAIGHT_JOIN firing FORCE INDEX (PRIMARY) ON {own}"
            f" SET firing.{column.name} = {value} WHERE {waits}"
        )
    sql.exec_driver_sql(statement, tuple(places))


def update_status(sql: Connection, keys: Sequence[RowKey], was: FiringStatus, status: FiringStatus) -> None:
    """Write this status into those of these firings, at least one, that have the other one."""
    asked = _table(sql.dialect, ("fire_at", "timer_id"), keys)
    own = "firing.fire_at = asked.fire_at AND firing.timer_id = asked.timer_id"
    changes, wanted = f"'{status.value}'", f"firing.status = '{was.value}'"
    if sql.dialect.name == "sqlite":
        statement = f"UPDATE firing SET status = {changes} FROM ({asked}) AS asked WHERE {own} AND {wanted}"
    else:
        statement = (
            f"UPDATE ({asked}) AS asked STRAIGHT_JOIN firing FORCE INDEX (PRIMARY) ON {own}"
            f" SET firing.status = {changes} WHERE {wanted}"
        )
    sql.exec_driver_sql(statement)


def _table(dialect: Dialect, names: Sequence[str], rows: Sequence[tuple[int, ...]]) -> str:
    """Write a table of these rows; MySQL says ROW before each, MariaDB and SQLite must not."""
    first, *others = rows
    table = "SELECT " + ", ".join(f"{value:d} AS {name}" for name, value in zip(names, first, strict=True))
    if not others:
        return table
    is_mysql = dialect.name == "mysql" and not getattr(dialect, "is_mariadb", False)
    row = f"{'ROW' if is_mysql else ''}({','.join(['%d'] * len(names))})"
    return f"{table} UNION ALL VALUES {','.join([row % one for one in others])}"


def in_parts(keys: Iterable[RowKey]) -> list[list[RowKey]]:
    """Return each key once, in order, in parts of as many as one statement carries."""
    ordered = sorted(set(keys))
    return [ordered[start : start + KEYS_A_STATEMENT] for start in range(0, len(ordered), KEYS_A_STATEMENT)]
