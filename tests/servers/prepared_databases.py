"""Databases that have the tables and no rows: emptying one takes a twentieth of the time of making one."""

import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from shutil import copyfile
from typing import Any

import MySQLdb

from tests.servers.mariadb import MariaDBServer
from wangtimer.stack.ports import HOST
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import metadata

_numbers = count(1)

# All that a test could change of the tables, in one row.
_SHAPE = """
SELECT
  (SELECT MD5(GROUP_CONCAT(table_name, column_name, column_type, is_nullable, IFNULL(column_default, 'NULL')
    ORDER BY table_name, ordinal_position)) FROM information_schema.columns WHERE table_schema = DATABASE()),
  (SELECT MD5(GROUP_CONCAT(table_name, index_name, column_name ORDER BY table_name, index_name, seq_in_index))
    FROM information_schema.statistics WHERE table_schema = DATABASE()),
  (SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE())
"""
_COUNTED = """
SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND auto_increment > 1
"""


class PreparedDatabases:
    """Lends databases of a server, one after the other; each is emptied before it is lent again.

    One whose tables were changed, or that somebody still locks, is dropped, and another is made.
    """

    def __init__(self, server: MariaDBServer) -> None:
        self._server = server
        self._free: deque[str] = deque()
        self._shape: Any = None

    @contextmanager
    def lent(self) -> Iterator[str]:
        """Give the URL of a database with the tables and no rows, until the end of the block."""
        name = self._emptied() or self._made()
        yield self._server.url(name)
        self._free.append(name)

    def _made(self) -> str:
        name = f"prepared_{next(_numbers)}"
        with closing(Database(self._server.create_database(name), pool_size=1)) as database:
            database.create_tables()
        if self._shape is None:
            with closing(self._connected(name)) as connection:
                self._shape = _rows(connection, _SHAPE)
        return name

    def _emptied(self) -> str | None:
        """Return a database that was lent before, emptied; None where there is none."""
        while self._free:
            name = self._free.popleft()
            try:
                with closing(self._connected(name)) as connection:
                    if self._is_emptied(connection):
                        return name
            except MySQLdb.Error:
                pass
            self._server.drop_database(name)
        return None

    def _is_emptied(self, connection: Any) -> bool:
        """Empty a database; tell whether it is then as it was made."""
        if _rows(connection, _SHAPE) != self._shape:
            return False
        with closing(connection.cursor()) as cursor:
            for table in metadata.sorted_tables:
                cursor.execute(f"DELETE FROM `{table.name}`")
            connection.commit()
            for (table_name,) in _rows(connection, _COUNTED):
                cursor.execute(f"ALTER TABLE `{table_name}` AUTO_INCREMENT = 1")
        return True

    def _connected(self, name: str) -> Any:
        waits = (
            "SET SESSION lock_wait_timeout = 2, innodb_lock_wait_timeout = 2, group_concat_max_len = 1000000"
        )
        return MySQLdb.connect(
            host=HOST, port=self._server.port, user="root", database=name, init_command=waits
        )


def _rows(connection: Any, statement: str) -> Any:
    with closing(connection.cursor()) as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


class PreparedFile:
    """An SQLite file with the tables, and copies of it."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "prepared.db"
        with closing(Database(f"sqlite:///{self._file}", pool_size=1)) as database:
            database.create_tables()
        with closing(sqlite3.connect(self._file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def copied_to(self, file: Path) -> str:
        """Copy it; return the URL of the copy."""
        copyfile(self._file, file)
        return f"sqlite:///{file}"
