"""How statements are built: pages behind a key, rows by their keys, and many rows at once.

MariaDB takes 150 to 270 ms for a condition on 1,000 pairs of keys, and 3 to 7 for a join with a table of them (a server
of 2 cores), which is written into the statement. Hints fix the order of the tables and the index, whatever the
statistics are. Many rows are inserted as one statement, written into its text: numbers by `%d`, which refuses text, at
half the cost of `{:d}`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import structlog
from sqlalchemy import (
    ClauseElement,
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Select,
    Table,
    Update,
    and_,
    case,
    column,
    insert,
    literal_column,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.mysql import insert as mysql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.dml import Insert

from wangtimer.core.flow.firing import FiringStatus, MemberKey
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import firings

Written = TypeVar("Written")


log = structlog.get_logger()

Item = TypeVar("Item")


def readable_page(
    database: Database,
    query: Select[Any],
    columns: Sequence[ColumnElement[Any]],
    after: Sequence[Any] | None,
    limit: int,
    read: Callable[[Any], Item],
    descending: bool = False,
    may_be_stale: bool = True,
    parts: Iterable[ColumnElement[bool] | None] = (None,),
) -> list[Item]:
    """Return up to `limit` items in the order of these columns, from behind the values `after`.

    A row that cannot be read is named in the log, and the next one comes in its place: it neither fails a list nor ends
    it. Unless it `may_be_stale`, the page is of a server that takes writes. `parts` are conditions of which each is
    looked through before the next is asked for.
    """
    from_sql = database.read if may_be_stale else database.read_current
    page: list[Item] = []
    query = query.order_by(*(column.desc() if descending else column for column in columns))
    for part in parts:
        of_part, last = query if part is None else query.where(part), after
        while room := limit - len(page):
            rest = of_part if last is None else of_part.where(behind(columns, last, descending))
            rows = from_sql(partial(_rows, query=rest.limit(room)))
            for row in rows:
                try:
                    page.append(read(row))
                except Exception as error:
                    log.error("row_cannot_be_read", row=_key(columns, row), error=repr(error)[:200])
            if len(rows) < room:
                break
            last = _key(columns, rows[-1])
        if len(page) == limit:
            break
    return page


def _rows(sql: Connection, query: Select[Any]) -> Sequence[Row[Any]]:
    return sql.execute(query).all()


def _key(columns: Sequence[ColumnElement[Any]], row: Row[Any]) -> list[Any]:
    return [row._mapping[column] for column in columns]


def behind(
    columns: Sequence[ColumnElement[Any]], values: Sequence[Any], descending: bool = False
) -> ColumnElement[bool]:
    """Return the condition on rows that come after these values in the order of these columns.

    Not `(a, b) > (1, 2)`: MariaDB cannot seek in an index by that, and reads every row before the page again.
    """
    (column, *columns), (value, *values) = columns, values
    beyond: ColumnElement[bool] = column < value if descending else column > value
    if not columns:
        return beyond
    reached = column <= value if descending else column >= value
    return and_(reached, or_(beyond, and_(column == value, behind(columns, values, descending))))


def as_far_as(
    columns: Sequence[ColumnElement[Any]], values: Sequence[Any], descending: bool = False
) -> ColumnElement[bool]:
    """Return the condition on rows that come before these values in the order of these columns, or have them."""
    (column, *columns), (value, *values) = columns, values
    reached: ColumnElement[bool] = column >= value if descending else column <= value
    if not columns:
        return reached
    before = column > value if descending else column < value
    return and_(reached, or_(before, and_(column == value, as_far_as(columns, values, descending))))


def by_index(query: Select[Any], index: str, table: FromClause = firings) -> Select[Any]:
    """Return the query with a hint to read firings, or another table, along this index, from the page's begin.

    Without the hint MariaDB may read the whole table and sort it: always, or while it has no statistics of a table that
    was just filled.
    """
    hint = _forced(index)
    return query.with_hint(table, hint, "mysql").with_hint(table, hint, "mariadb")


def in_this_order(query: Select[Any]) -> Select[Any]:
    """Return the query with a hint to read its tables in the order in which they are joined."""
    return query.prefix_with("STRAIGHT_JOIN", dialect="mysql").prefix_with("STRAIGHT_JOIN", dialect="mariadb")


def update_by_index(changing: Update, index: str) -> Update:
    """Return the update with a hint to find its rows along this index."""
    hint = _forced(index)
    return changing.with_hint(hint, dialect_name="mysql").with_hint(hint, dialect_name="mariadb")


def _forced(index: str) -> str:
    return f"FORCE INDEX ({index})"


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


def delete_oldest(sql: Connection, table: Table, moment: str, before: int, limit: int) -> int:
    """Delete the rows whose moment, a column, is before another one, the oldest `limit` at most; return how many."""
    oldest = f"WHERE {moment} < {before:d} ORDER BY {moment} LIMIT {limit:d}"
    if sql.dialect.name == "sqlite":
        # SQLite has no DELETE with LIMIT.
        oldest = f"WHERE rowid IN (SELECT rowid FROM {table.name} {oldest})"
    return int(sql.exec_driver_sql(f"DELETE FROM {table.name} {oldest}").rowcount)


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
    return f"{table} UNION ALL VALUES {','.join([row % values for values in others])}"


def in_parts(keys: Iterable[MemberKey]) -> list[list[RowKey]]:
    """Return each key once, in the order of rows, in parts of as many as one statement carries."""
    ordered = sorted({(fire_at, timer_id) for timer_id, fire_at in keys})
    return [ordered[start : start + KEYS_A_STATEMENT] for start in range(0, len(ordered), KEYS_A_STATEMENT)]


# The values that an upsert would insert, by column.
NewValues = Mapping[str, Any]

# Rows one statement carries at most: with more, the locks of one transaction grow, and nothing is gained.
ROWS_A_STATEMENT = 2_000
# A statement takes no further row once its texts have so many characters. A character takes at most four bytes;
# MariaDB accepts 16 MB.
CHARACTERS_A_STATEMENT = 1_000_000
_ROWS = "{rows}"


class Texts:
    """The texts of one statement's rows. They are bound; numbers and the schema's own words are written out."""

    def __init__(self, placeholder: str) -> None:
        self._placeholder = placeholder
        self.bound: list[str] = []
        self.characters = 0

    def write(self, value: str) -> str:
        """Return what to write into the statement for a text."""
        if not value:
            return "''"
        self.bound.append(value)
        self.characters += len(value)
        return self._placeholder


class ManyRows:
    """An insert compiled once for its dialect: 2 µs a row (binding a value took 13). `write` writes one row."""

    def __init__(self, inserting: Insert, names: Sequence[str], dialect: Dialect) -> None:
        rows = text(f"VALUES {_ROWS}").columns()
        compiled = str(inserting.from_select(names, rows, include_defaults=False).compile(dialect=dialect))
        self._before, _, self._after = compiled.partition(_ROWS)
        self._placeholder = "?" if dialect.name == "sqlite" else "%s"

    def run(self, sql: Connection, rows: Sequence[Written], write: Callable[[Written, Texts], str]) -> int:
        """Insert the rows, as many at a time as a statement carries; return the server's count of affected rows."""
        affected = 0
        left = iter(rows)
        while True:
            texts, written = Texts(self._placeholder), list[str]()
            for row in left:
                written.append(write(row, texts))
                if len(written) == ROWS_A_STATEMENT or texts.characters >= CHARACTERS_A_STATEMENT:
                    break
            if not written:
                return affected
            statement = f"{self._before}{','.join(written)}{self._after}"
            affected += sql.exec_driver_sql(statement, tuple(texts.bound)).rowcount


def insert_ignore(table: Table) -> Insert:
    """Return an insert that leaves existing rows as they are."""
    inserting = insert(table).prefix_with("IGNORE", dialect="mysql").prefix_with("IGNORE", dialect="mariadb")
    return inserting.prefix_with("OR IGNORE", dialect="sqlite")


def upsert(
    table: Table,
    names: Sequence[str],
    dialect: Dialect,
    changes_of: Callable[[NewValues], Mapping[str, Any]],
    is_wanted: Callable[[NewValues], ColumnElement[bool]] | None = None,
) -> ManyRows:
    """Return an insert that writes changes over a row that is there, if that is wanted.

    MySQL assigns from left to right, in the order of the changes: what a later one depends on must not be changed
    before it.
    """
    if dialect.name == "sqlite":
        lite = sqlite_insert(table)
        new: NewValues = {name: lite.excluded[name] for name in names}
        where = None if is_wanted is None else is_wanted(new)
        key = list(table.primary_key)
        return ManyRows(
            lite.on_conflict_do_update(key, set_=dict(changes_of(new)), where=where), names, dialect
        )
    new = {name: literal_column(f"VALUES({name})") for name in names}
    changes = list(changes_of(new).items())
    if is_wanted is not None:
        changes = [(name, case((is_wanted(new), value), else_=table.c[name])) for name, value in changes]
    return ManyRows(mysql_insert(table).on_duplicate_key_update(changes), names, dialect)


def number(value: int | None) -> str:
    """Write a number, or NULL for None."""
    return "NULL" if value is None else "%d" % value
