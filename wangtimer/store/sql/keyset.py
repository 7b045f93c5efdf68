"""Pages that go on behind a key: what is read for a page is the page, however deep it lies."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, Update, and_, or_

from wangtimer.store.sql.tables import firings


def behind(
    columns: Sequence[ColumnElement[Any]], values: Sequence[Any], descending: bool = False
) -> ColumnElement[bool]:
    """Return the condition on rows that come after these values in the order of these columns.

    Not `(a, b) > (1, 2)`: MariaDB finds no place in an index by that, and reads every row before the page again.
    """
    (column, *columns), (value, *values) = columns, values
    beyond: ColumnElement[bool] = column < value if descending else column > value
    if not columns:
        return beyond
    reached = column <= value if descending else column >= value
    return and_(reached, or_(beyond, and_(column == value, behind(columns, values, descending))))


def by_index(query: Select[Any], index: str, table: Table = firings) -> Select[Any]:
    """Have a page of firings, or of another table, read along this index, from where it begins.

    Left to itself, MariaDB may read all there is, from the first, and sort it: always, or while it knows little of a
    table that has just been filled.
    """
    hint = _forced(index)
    return query.with_hint(table, hint, "mysql").with_hint(table, hint, "mariadb")


def in_this_order(query: Select[Any]) -> Select[Any]:
    """Have the tables of a query read in the order in which they are joined."""
    return query.prefix_with("STRAIGHT_JOIN", dialect="mysql").prefix_with("STRAIGHT_JOIN", dialect="mariadb")


def update_by_index(changing: Update, index: str) -> Update:
    """Have the rows that are changed found along this index."""
    hint = _forced(index)
    return changing.with_hint(hint, dialect_name="mysql").with_hint(hint, dialect_name="mariadb")


def _forced(index: str) -> str:
    return f"FORCE INDEX ({index})"
