"""A real MySQL in the directory that `.ci/mysql-chroot` made, in place of MariaDB."""

import os
import subprocess
from pathlib import Path

from tests.servers.mariadb import MariaDBServer
from tests.servers.server_process import ServerMissingError
from wangtimer.stack.ports import HOST


class MySQLServer(MariaDBServer):
    """As `MariaDBServer`; its data stand within the system it runs in."""

    def __init__(self, system: Path, directory: Path) -> None:
        if not (system / "usr/sbin/mysqld").exists() or os.geteuid() != 0:
            raise ServerMissingError("mysqld", "MySQL is Debian's of unstable, run as root: make test-mysql")
        self._system = system
        # Before the port is known.
        self._data = Path("/data") / directory.name
        super().__init__(directory)

    def _install(self) -> None:
        (self.directory / "data").mkdir()
        (self._system / "data").mkdir(exist_ok=True)
        subprocess.run([*self._program(), "--initialize-insecure"], check=True, capture_output=True)

    def _argv(self) -> list[str]:
        return [
            *self._program(),
            f"--bind-address={HOST}",
            f"--port={self.port}",
            f"--socket=/tmp/mysql-{self.port}.sock",
            f"--pid-file={self._data}/pid",
            "--mysqlx=OFF",
            "--skip-log-bin",
            "--max-connections=500",
            "--innodb-buffer-pool-size=256M",
            "--innodb-flush-log-at-trx-commit=2",
        ]

    def _program(self) -> list[str]:
        within = ["chroot", str(self._system), "/usr/sbin/mysqld", "--no-defaults", "--user=root"]
        return [*within, f"--datadir={self._data}"]
