"""A MariaDB that another follows, so that a deployment can be moved from the one to the other."""

from contextlib import closing
from pathlib import Path
from typing import Any

import MySQLdb

from tests.servers.mariadb import MariaDBServer
from wangtimer.stack.ports import HOST

# Of the only account that a read-only server takes writes from.
_DBA = "dba"
CAUGHT_UP_WITHIN_S = 10


class SwitchedServer(MariaDBServer):
    """Keeps a binary log. A read-only one refuses root's writes too, as it does those of any account of a service."""

    def __init__(self, directory: Path, server_id: int) -> None:
        super().__init__(directory, "--log-bin", f"--server-id={server_id}")

    def __enter__(self) -> "SwitchedServer":
        super().__enter__()
        return self

    def make_a_primary(self) -> None:
        """Make the accounts; those that follow have them from it."""
        self.run(f"CREATE USER {_DBA}@'{HOST}'")
        self.run(f"GRANT ALL ON *.* TO {_DBA}@'{HOST}'")
        for host in ("localhost", HOST):
            self.run(f"REVOKE READ_ONLY ADMIN ON *.* FROM root@'{host}'")

    def follow(self, primary: "SwitchedServer") -> None:
        """Begin to copy all that the primary has ever written."""
        place = f"MASTER_HOST='{HOST}', MASTER_PORT={primary.port}, MASTER_USER='{_DBA}'"
        self.run(f"CHANGE MASTER TO {place}, MASTER_USE_GTID=slave_pos")
        self.run("START SLAVE")

    def take_over_from(self, primary: "SwitchedServer") -> None:
        """Let the primary refuse writes from now on, copy the rest, and take writes. The primary goes on to answer."""
        primary.ask("SET GLOBAL read_only = 1", _DBA)
        (place,) = primary.ask("SELECT @@gtid_binlog_pos")
        (waited,) = self.ask(f"SELECT MASTER_GTID_WAIT('{place}', {CAUGHT_UP_WITHIN_S})")
        assert waited == 0, f"the standby did not catch up within {CAUGHT_UP_WITHIN_S} s"
        self.ask("STOP SLAVE")

    def ask(self, statement: str, user: str = "root") -> Any:
        """Return the first row that the server answers."""
        with closing(MySQLdb.connect(host=HOST, port=self.port, user=user)) as connection:
            cursor = connection.cursor()
            cursor.execute(statement)
            return cursor.fetchone()
