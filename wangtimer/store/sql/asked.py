"""Firings asked for by their keys: joined to a table of these keys, written into the statement.

MariaDB takes 150 to 270 ms for a condition on 1,000 pairs, and 3 to 7 for this join (a server of 2 cores). Hints fix
the order of the tables and the index, whatever the statistics are.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ClauseElement, Connection, Select, Table, and_, column, select, text
from sqlalchemy.engine import Dialect

from wangtimer.core.flow.firing import FiringStatus, MemberKey
from wangtimer.store.sql.keyset import by_index, in_this_order
from wangtimer.store.sql.tables import firings

# Keys one statement carries: with more, the locks of one transaction grow, and nothing is gained.
KEYS_A_STATEMENT = 2_000
_KEYS = "{keys}"

# A firing's key in the order of its table: moment, timer.
RowKey = tuple[int, int]


def asked_for(*columns: object, table: Table = firings, index: str = "PRIMARY") -> Select[tuple[object, ...]]:
    """Return a query for these columns of firings asked for by key; `KeyedStatement` completes its text.

    They may stand in another table that has the keys of firings, under an index of them.
    """
    asked = text(_KEYS).columns(column("fire_at"), column("timer_id")).subquery("asked")
    is_asked = and_(table.c.fire_at == asked.c.fire_at, table.c.timer_id == asked.c.timer_id)
    query: Select[tuple[object, ...]] = select(*columns).select_from(asked.join(table, is_asked))  # type: ignore[call-overload]
    return in_this_order(by_index(query, index, table))


class KeyedStatement:
    """A statement made of `asked_for`, of several the union; its text is compiled once for each dialect."""

    def __init__(self, *parts: ClauseElement) -> None:
        self._parts = parts
        self._texts: dict[Dialect, str] = {}

    def run(self, sql: Connection, keys: Iterable[MemberKey]) -> list[Any]:
        """Run it for these firings, in the order of their rows, so that no two lock crosswise; return what it finds."""
        found: list[Any] = []
        for part in in_parts(keys):
            result = sql.exec_driver_sql(with_keys(self._text(sql.dialect), sql.dialect, part))
            if result.returns_rows:
                found += result
        return found

    def _text(self, dialect: Dialect) -> str:
        if dialect not in self._texts:
            self._texts[dialect] = " UNION ALL ".join(
                str(part.compile(dialect=dialect)) for part in self._parts
            )
        return self._texts[dialect]


def with_keys(statement: str, dialect: Dialect, keys: Sequence[RowKey]) -> str:
    """Return the text of a statement with the keys, at least one, in the place of `{keys}`."""
    return statement.replace(_KEYS, _table(dialect, ("fire_at", "timer_id"), keys))


def delete_rows(
    sql: Connection,
    table: Table,
    names: Sequence[str],
    rows: Sequence[tuple[int, ...]],
    index: str = "PRIMARY",
    app: str | None = None,
) -> int:
    """Delete the rows that have one of these values in these columns, of one app if it is given; return how many.

    It joins the values for the same reason: a plain DELETE takes no hint against reading every row.
    """
    if not rows:
        return 0
    asked, is_sqlite = _table(sql.dialect, names, rows), sql.dialect.name == "sqlite"
    of_app = "" if app is None else f"{table.name}.app = {'?' if is_sqlite else '%s'} AND "
    if is_sqlite:
        statement = (
            f"DELETE FROM {table.name} WHERE {of_app}({', '.join(names)}) IN (SELECT * FROM ({asked}))"
        )
    else:
        own = " AND ".join(f"{table.name}.{name} = asked.{name}" for name in names)
        joined = f"({asked}) AS asked STRAIGHT_JOIN {table.name} FORCE INDEX ({index}) ON {of_app}{own}"
        statement = f"DELETE {table.name} FROM {joined}"
    return int(sql.exec_driver_sql(statement, () if app is None else (app,)).rowcount)


def delete_of_keys(sql: Connection, table: Table, keys: Iterable[MemberKey], index: str = "PRIMARY") -> None:
    """Delete the rows of these firings from a table that has their keys."""
    for part in in_parts(keys):
        delete_rows(sql, table, ("fire_at", "timer_id"), part, index)


def update_lanes(sql: Connection, attempts: Sequence[tuple[int, int, int]], lanes: Sequence[str]) -> None:
    """Write lanes into firings that are pending and stand at the given attempt.

    `attempts`, at least one: moment, timer and number of each. `lanes`: one for each of them; equal ones are sent once.
    """
    places = {lane: place for place, lane in enumerate(dict.fromkeys(lanes), 1)}
    rows = [(*attempt, places[lane]) for attempt, lane in zip(attempts, lanes, strict=True)]
    if sql.dialect.name == "sqlite":
        whens = " ".join(f"WHEN {place} THEN ?" for place in places.values())
        value = f"CASE asked.place {whens} END"
    else:
        value = f"ELT(asked.place, {', '.join(['%s'] * len(places))})"
    waits = f"firing.status = '{FiringStatus.PENDING.value}' AND firing.attempt = asked.attempt"
    _update(
        sql,
        _table(sql.dialect, ("fire_at", "timer_id", "attempt", "place"), rows),
        "lane",
        value,
        waits,
        places,
    )


def update_status(
    sql: Connection, keys: Iterable[MemberKey], was: FiringStatus, status: FiringStatus
) -> None:
    """Write this status into those of these firings that have the other one."""
    for part in in_parts(keys):
        asked = _table(sql.dialect, ("fire_at", "timer_id"), part)
        _update(sql, asked, "status", f"'{status.value}'", f"firing.status = '{was.value}'")


def _update(
    sql: Connection, asked: str, name: str, value: str, wanted: str, texts: Iterable[str] = ()
) -> None:
    own = "firing.fire_at = asked.fire_at AND firing.timer_id = asked.timer_id"
    if sql.dialect.name == "sqlite":
        statement = f"UPDATE firing SET {name} = {value} FROM ({asked}) AS asked WHERE {own} AND {wanted}"
    else:
        joined = f"({asked}) AS asked STRAIGHT_JOIN firing FORCE INDEX (PRIMARY) ON {own}"
        statement = f"UPDATE {joined} SET firing.{name} = {value} WHERE {wanted}"
    sql.exec_driver_sql(statement, tuple(texts))


def _table(dialect: Dialect, names: Sequence[str], rows: Sequence[tuple[int, ...]]) -> str:
    """Write a table of these rows; MySQL says ROW before each, MariaDB and SQLite must not."""
    first, *others = rows
    table = "SELECT " + ", ".join(f"{value:d} AS {name}" for name, value in zip(names, first, strict=True))
    if not others:
        return table
    is_mysql = dialect.name == "mysql" and not getattr(dialect, "is_mariadb", False)
    row = f"{'ROW' if is_mysql else ''}({','.join(['%d'] * len(names))})"
    return f"{table} UNION ALL VALUES {','.join([row % one for one in others])}"


def in_parts(keys: Iterable[MemberKey]) -> list[list[RowKey]]:
    """Return each key once, in the order of rows, in parts of as many as one statement carries."""
    ordered = sorted({(fire_at, timer_id) for timer_id, fire_at in keys})
    return [ordered[start : start + KEYS_A_STATEMENT] for start in range(0, len(ordered), KEYS_A_STATEMENT)]
