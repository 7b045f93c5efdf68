"""Statements as they are on their way to the server, each with the plan the server has for it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, event

from wangtimer.store.sql.database import Database

# What a server says where it reads no table, or one row of each.
_NO_TABLE = {
    "No tables used": "",
    "None": "",
    "Select tables optimized away": "one end of an index",
    "Impossible WHERE noticed after reading const tables": "no such row",
    "no matching row in const table": "no such row",
    "No matching min/max row": "no such row",
}
_READS = "SHOW SESSION STATUS LIKE 'Handler_read%'"


@dataclass(frozen=True, slots=True)
class Seen:
    """A statement, the indexes its tables are read by, in order, and how many rows the server read for it."""

    text: str
    plan: str
    rows_read: int


class Statements:
    """Listens to a database's statements; asks the server for each one's plan before it runs."""

    def __init__(self, database: Database) -> None:
        self.seen: list[Seen] = []
        self._plan = ""
        self._reads = 0
        for engine in database.engines:
            event.listen(engine, "before_cursor_execute", self._before)
            event.listen(engine, "after_cursor_execute", self._after)

    def of(self, work: Callable[[], object]) -> list[Seen]:
        """Run the work; return its statements."""
        self.seen = []
        work()
        return self.seen

    def _before(
        self, sql: Connection, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool
    ) -> None:
        one = parameters[0] if many else parameters
        self._plan = _plan(sql, statement, one)
        self._reads = _rows_read(sql)

    def _after(self, sql: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        # What is asked of the server itself is read from no table.
        if not statement.startswith("SELECT @@"):
            self.seen.append(Seen(_short(statement), self._plan, _rows_read(sql) - self._reads))


def _plan(sql: Connection, statement: str, parameters: Any) -> str:
    """Return `table.index` of each of the statement's tables; `table!` for one that is read whole."""
    if not re.match(r"\s*(SELECT|UPDATE|DELETE|INSERT|\(SELECT)", statement):
        return statement.split()[0].lower()
    if re.match(r"INSERT (IGNORE )?INTO \w+ (\([^)]*\) )?VALUES", statement):
        return "insert"
    rows = _asked(sql, f"EXPLAIN FORMAT=TRADITIONAL {statement}", parameters)
    found = [one for one in map(_table_read, rows) if one]
    if " UNION ALL " in statement:
        # Of many parts that are alike, MySQL finds some to have no row while it plans.
        found = [one for one in dict.fromkeys(found) if one != "no such row"]
    return ", ".join(one for one, _ in groupby(found))


def _table_read(row: dict[str, Any]) -> str:
    table, key, kind = row["table"], row["key"], row["type"]
    if table is None:
        return _NO_TABLE.get(str(row["Extra"]).split(";")[0], str(row["Extra"]))
    if table.startswith("<") or row["select_type"] == "INSERT":
        # Made by the statement itself, or the table it inserts into.
        return ""
    if kind in ("ALL", "index") or key is None:
        return f"{table}!" if key is None else f"{table}!{key}"
    # MariaDB may filter what it finds along one index by another.
    return f"{table}.{'|'.join(sorted(key.split('|')))}"


def _asked(sql: Connection, statement: str, parameters: Any = None) -> list[dict[str, Any]]:
    cursor = sql.connection.cursor()
    try:
        cursor.execute(statement, parameters or None)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    finally:
        cursor.close()


def _rows_read(sql: Connection) -> int:
    return sum(int(row["Value"]) for row in _asked(sql, _READS))


def _short(statement: str) -> str:
    """Return the statement with its values and spaces taken out, cut short."""
    plain = re.sub(r"\s+", " ", statement)
    plain = re.sub(r"(\(?[\d%s(), ]+\)?,?){4,}", "...", plain)
    return plain[:300]
