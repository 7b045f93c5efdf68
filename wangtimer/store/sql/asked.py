"""Firings asked for by their keys: joined to a table of these keys that stands in the statement.

MariaDB takes 150 to 270 ms for a condition on 1,000 pairs, and 3 to 7 for this join (a server of 2 cores). The order of
the tables and the index are prescribed, so that no statistics have a say.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from sqlalchemy import Select, and_, column, select, text
from sqlalchemy.engine import Dialect

from wangtimer.store.sql.keyset import by_index
from wangtimer.store.sql.tables import firings

# Keys one statement carries: beyond it the locks of one transaction grow, and nothing is gained.
KEYS_A_STATEMENT = 2_000
_KEYS = "{keys}"

# A firing's key in the order of its table: moment, timer.
Key = tuple[int, int]


def asked_for(*columns: object) -> Select[tuple[object, ...]]:
    """Return a query for these columns of firings asked for by key; `with_keys` completes its text."""
    asked = text(_KEYS).columns(column("fire_at"), column("timer_id")).subquery("asked")
    is_asked = and_(firings.c.fire_at == asked.c.fire_at, firings.c.timer_id == asked.c.timer_id)
    query: Select[tuple[object, ...]] = select(*columns).select_from(asked.join(firings, is_asked))  # type: ignore[call-overload]
    return in_this_order(by_index(query, "PRIMARY"))


def in_this_order(query: Select[tuple[object, ...]]) -> Select[tuple[object, ...]]:
    """Have the tables of a query read in the order in which they are joined."""
    return query.prefix_with("STRAIGHT_JOIN", dialect="mysql").prefix_with("STRAIGHT_JOIN", dialect="mariadb")


def with_keys(statement: str, dialect: Dialect, keys: Sequence[Key]) -> str:
    """Return the text of a compiled `asked_for` with the keys, at least one, in it."""
    (fire_at, timer_id), *others = keys
    table = f"SELECT {fire_at:d} AS fire_at, {timer_id:d} AS timer_id"
    if others:
        row = _row(dialect)
        table += " UNION ALL VALUES " + ",".join([row % key for key in others])
    return statement.replace(_KEYS, table)


def in_parts(keys: Iterable[Key]) -> list[list[Key]]:
    """Return each key once, in order, in parts of as many as one statement carries."""
    ordered = sorted(set(keys))
    return [ordered[start : start + KEYS_A_STATEMENT] for start in range(0, len(ordered), KEYS_A_STATEMENT)]


@cache
def _row(dialect: Dialect) -> str:
    """How one row of VALUES is written: MySQL says ROW, MariaDB and SQLite must not."""
    is_mysql = dialect.name == "mysql" and not getattr(dialect, "is_mariadb", False)
    return "ROW(%d,%d)" if is_mysql else "(%d,%d)"
