"""Pages that go on behind a key: what is read for a page is the page, however deep it lies."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, or_


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
