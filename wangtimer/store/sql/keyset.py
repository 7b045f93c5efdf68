"""Pages that go on after a key: only the page is read, however deep it lies."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import structlog
from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, Update, and_, or_

from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import firings

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
