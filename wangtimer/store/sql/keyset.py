"""Pages that go on behind a key: what is read for a page is the page, however deep it lies."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, or_

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


def by_index(query: Select[Any], index: str) -> Select[Any]:
    """Have a page of firings read along this index, from where it begins.

    Left to itself, MariaDB may read all there is, from the first, and sort it: always, or while it knows little of a
    table that has just been filled.
    """
    hint = f"FORCE INDEX ({index})"
    return query.with_hint(firings, hint, "mysql").with_hint(firings, hint, "mariadb")
