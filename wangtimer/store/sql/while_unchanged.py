"""What a store has read counts again while SQL has not changed, where SQL can tell."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from sqlalchemy import Column, Select

from wangtimer.store.sql.database import Database
from wangtimer.store.sql.statements import behind

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")


class ReadsSql(Protocol):
    """A store."""

    _database: Database


Store = TypeVar("Store", bound=ReadsSql)


def while_unchanged(
    read: Callable[Concatenate[Store, Parameters], Value],
) -> Callable[Concatenate[Store, Parameters], Value]:
    """Have a store's method return what it returned before for the same arguments, while SQL has not changed since.

    For what is asked again and again at rest, and depends on SQL and its arguments alone: not on the time. Nobody may
    change what it returns. Where SQL cannot tell, it is read each time (`Database.changes`).
    """

    @wraps(read)
    def remembered(store: Store, *arguments: Parameters.args, **named: Parameters.kwargs) -> Value:
        # Before it is read: a change meanwhile has it read again.
        changes = store._database.changes()
        if changes is None:
            return read(store, *arguments, **named)
        asked = (read, arguments, *named.items())
        if asked not in changes.read_since:
            changes.read_since[asked] = read(store, *arguments, **named)
        value: Value = changes.read_since[asked]
        return value

    return cast("Callable[Concatenate[Store, Parameters], Value]", remembered)


def changed_rows(
    database: Database, query: Select[Any], columns: Sequence[Column[Any]], key: tuple[Any, ...], limit: int
) -> Sequence[Any]:
    """Return up to `limit` rows of a query behind a key, in the order of the columns, the first of which dates changes.

    Where there were none, there are none behind a later key while SQL has not changed: where it can tell, it is not
    asked. Not on a server that was demoted. Raises `StoreAway`.
    """
    changes, table = database.changes(), columns[0].table
    if changes is not None and changes.read_since.get(table, key) < key:
        return ()
    query = query.where(behind(columns, key)).order_by(*columns).limit(limit)
    rows = database.read_current(lambda sql: sql.execute(query).all())
    if changes is not None and not rows:
        changes.read_since[table] = key
    return rows
