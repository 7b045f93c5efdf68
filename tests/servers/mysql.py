"""A real MySQL in the directory that `.ci/mysql-chroot` made, in place of MariaDB."""

import os
import shutil
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
        # Before the port is known. Each test process has its own.
        self._data = Path("/data") / f"{directory.name}-{os.getpid()}"
        super().__init__(directory)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        shutil.rmtree(self._system / self._data.relative_to("/"), ignore_errors=True)

    def _install(self) -> None:
        (self.directory / "data").mkdir()
        (self._system / "data").mkdir(exist_ok=True)
        shutil.rmtree(self._system / self._data.relative_to("/"), ignore_errors=True)
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
