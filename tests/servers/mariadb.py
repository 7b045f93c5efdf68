"""A real MariaDB on a free port with an empty data directory of its own."""

import getpass
import subprocess
from contextlib import closing
from pathlib import Path

import MySQLdb

from tests.servers.server_process import ServerProcess, find_program
from wangtimer.stack.ports import HOST, free_port

PACKAGE = "mariadb-server"


class MariaDBServer:
    """`with MariaDBServer(directory) as server: server.create_database("x")`; durable as in production.

    `innodb_flush_log_at_trx_commit` stays 1, so that a commit costs what it costs; the buffers are small,
    so that it starts in half a second.
    """

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.port = free_port()
        self._options = options
        self._process = ServerProcess(self._argv(), directory, self._answers)

    def __enter__(self) -> "MariaDBServer":
        if not (self.directory / "data").exists():
            self._install()
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        # The data are thrown away or, after a crash test, meant to be found as a crash leaves them.
        self._process.kill()

    @property
    def _scratch(self) -> Path:
        return self.directory / "tmp"

    @property
    def process(self) -> ServerProcess:
        """What freezes, kills and restarts it."""
        return self._process

    def url(self, database: str) -> str:
        """Return SQLAlchemy's URL of a database."""
        return f"mysql+mysqldb://root@{HOST}:{self.port}/{database}?charset=utf8mb4"

    def create_database(self, name: str) -> str:
        """Make an empty database, dropping one of that name; return its URL."""
        self.run(f"DROP DATABASE IF EXISTS `{name}`")
        self.run(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
        return self.url(name)

    def drop_database(self, name: str) -> None:
        self.run(f"DROP DATABASE IF EXISTS `{name}`")

    def run(self, statement: str) -> None:
        with closing(MySQLdb.connect(host=HOST, port=self.port, user="root")) as connection:
            connection.cursor().execute(statement)

    def _answers(self) -> bool:
        try:
            self.run("SELECT 1")
        except MySQLdb.Error:
            return False
        return True

    def _install(self) -> None:
        self._scratch.mkdir(parents=True)
        install = find_program("mariadb-install-db", PACKAGE)
        subprocess.run(
            [
                install,
                "--no-defaults",
                *self._places(),
                f"--user={getpass.getuser()}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
                *_SMALL_BUFFERS,
            ],
            check=True,
            capture_output=True,
        )

    def _argv(self) -> list[str]:
        return [
            find_program("mariadbd", PACKAGE),
            "--no-defaults",
            *self._places(),
            f"--user={getpass.getuser()}",
            f"--bind-address={HOST}",
            f"--port={self.port}",
            f"--socket={self._socket()}",
            f"--pid-file={self.directory / 'pid'}",
            "--skip-name-resolve",
            "--skip-log-bin",
            "--performance-schema=OFF",
            "--character-set-server=utf8mb4",
            "--max-connections=500",
            "--innodb-flush-log-at-trx-commit=1",
            *_SMALL_BUFFERS,
            *self._options,
        ]

    def _places(self) -> list[str]:
        # A server that starts deletes every temporary table in its tmpdir, those of another server too.
        return [f"--datadir={self.directory / 'data'}", f"--tmpdir={self._scratch}"]

    def _socket(self) -> Path:
        socket = self.directory / "sock"
        # Nobody uses it, but the server must have one, of at most 107 bytes.
        return socket if len(bytes(socket)) <= 107 else Path("/tmp") / f"wangtimer-mariadb-{self.port}.sock"


_SMALL_BUFFERS = ("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M")
