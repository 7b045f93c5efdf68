"""Copies of a whole database in a file: made while everything runs, and loaded into an empty one.

MariaDB and MySQL have programs for it, `mariadb-dump` and `mariadb` or `mysqldump` and `mysql`; SQLite copies itself.
"""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

from sqlalchemy import inspect
from sqlalchemy.engine import URL

from wangtimer.core.errors import BadSetting, StoreAway
from wangtimer.store.sql.database import missing_file, with_driver
from wangtimer.store.sql.tables import metadata
from wangtimer.store.sql.upgrade import patient_connection

DUMPING, LOADING = ("mariadb-dump", "mysqldump"), ("mariadb", "mysql")
# One snapshot, and nothing that needs a right beyond SELECT, here or where it is loaded.
_OPTIONS = (
    "--single-transaction",
    "--quick",
    "--hex-blob",
    "--no-tablespaces",
    "--skip-triggers",
    "--skip-add-drop-table",
    "--skip-add-locks",
    "--skip-disable-keys",
)
# MySQL's program asks else for rights, or tables, that MariaDB's does not know.
_OPTIONS_OF_MYSQL = ("--set-gtid-purged=OFF", "--column-statistics=0")
# What both programs write last.
_END = b"-- Dump completed"
_SQLITE = b"SQLite format 3\0"
# Of a driver's parameters in a URL, those that the programs know by another name.
_PARAMETERS = {"unix_socket": "socket", "ssl_ca": "ssl-ca", "ssl_cert": "ssl-cert", "ssl_key": "ssl-key"}


def dump(url: str, out: IO[bytes]) -> None:
    """Write the database as it is at one moment. Raises `BadSetting`, `StoreAway`."""
    parsed = with_driver(url)
    if parsed.get_backend_name() == "sqlite":
        _copy_sqlite(url, out)
        return
    program = _program(DUMPING)
    options = _OPTIONS + (() if _is_of_mariadb(program) else _OPTIONS_OF_MYSQL)
    with _account(parsed) as account:
        _run([program, account, *options, str(parsed.database)], None, out)


def load(url: str, file: Path) -> None:
    """Load a whole dump into a new database, or one without tables of ours. Raises `BadSetting`, `StoreAway`."""
    parsed = with_driver(url)
    is_sqlite = parsed.get_backend_name() == "sqlite"
    _require_whole(file, is_sqlite)
    if is_sqlite:
        if missing_file(url) is None:
            _require_empty(url)
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(str(parsed.database))) as sink:
            source.backup(sink)
        return
    name = str(parsed.database).replace("`", "``")
    with _account(parsed) as account:
        create = f"CREATE DATABASE IF NOT EXISTS `{name}` CHARACTER SET utf8mb4"
        _run([_program(LOADING), account, "-e", create])
        _require_empty(url)
        with file.open("rb") as dumped:
            _run([_program(LOADING), account, str(parsed.database)], dumped)


def _require_empty(url: str) -> None:
    with patient_connection(url) as sql:
        if metadata.tables.keys() & set(inspect(sql).get_table_names()):
            raise BadSetting(
                f"the database {with_driver(url).database} has timers already, and stays as it is; name another one "
                "with --into"
            )


def _require_whole(file: Path, is_sqlite: bool) -> None:
    """Raise `BadSetting` for a file that is no dump of this kind of database, or not the whole of one."""
    try:
        with file.open("rb") as dumped:
            head = dumped.read(len(_SQLITE))
            dumped.seek(max(0, file.stat().st_size - 200))
            end = dumped.read()
    except OSError as error:
        raise BadSetting(f"{file}: {error.strerror}") from None
    if is_sqlite != (head == _SQLITE):
        kinds = ("MariaDB or MySQL", "SQLite") if is_sqlite else ("SQLite", "MariaDB or MySQL")
        raise BadSetting(
            f"{file} is a dump of {kinds[0]}, if of any; WANGTIMER_DATABASE_URL names {kinds[1]}"
        )
    if is_sqlite:
        with closing(sqlite3.connect(file)) as copy:
            try:
                found = copy.execute("PRAGMA quick_check").fetchone()[0]
            except sqlite3.DatabaseError as error:
                found = str(error)
        if found != "ok":
            raise BadSetting(f"{file} is damaged: {found}")
    elif _END not in end:
        raise BadSetting(f"{file} is cut off: its last line is not `-- Dump completed`")


def _copy_sqlite(url: str, out: IO[bytes]) -> None:
    if (file := missing_file(url)) is not None:
        raise BadSetting(f"there is no database {file}: set WANGTIMER_DATABASE_URL, or name --data-dir")
    # SQLite copies into a file of its own, which is then as large as the database.
    with (
        tempfile.NamedTemporaryFile() as copy,
        closing(sqlite3.connect(str(with_driver(url).database))) as source,
        closing(sqlite3.connect(copy.name)) as sink,
    ):
        source.backup(sink)
        shutil.copyfileobj(copy, out)


def _program(names: tuple[str, str]) -> str:
    for name in names:
        if found := shutil.which(name):
            return found
    raise BadSetting(
        f"neither {names[0]} nor {names[1]} is on the PATH; install the client programs of MariaDB or MySQL "
        "(Debian: mariadb-client)"
    )


def _is_of_mariadb(program: str) -> bool:
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return "MariaDB" in told.stdout


@contextmanager
def _account(url: URL) -> Iterator[str]:
    """Yield the option that names a file with server, account and password: others would see them in a command."""
    given: dict[str, object] = {
        "host": url.host,
        "port": url.port,
        "user": url.username,
        "password": url.password,
    }
    given |= {_PARAMETERS[name]: value for name, value in url.query.items() if name in _PARAMETERS}
    lines = [f"{name}={_quoted(str(value))}" for name, value in given.items() if value is not None]
    # As the service's own driver does, unless it is told whom to trust. Older programs do not know the word.
    lines.append("ssl-verify-server-cert" if "ssl-ca" in given else "loose-skip-ssl-verify-server-cert")
    with tempfile.NamedTemporaryFile("w", suffix=".cnf") as file:
        file.write("\n".join(["[client]", "default-character-set=utf8mb4", *lines, ""]))
        file.flush()
        yield f"--defaults-file={file.name}"


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _run(argv: list[str], source: IO[bytes] | None = None, out: IO[bytes] | None = None) -> None:
    done = subprocess.run(
        argv,
        stdin=source or subprocess.DEVNULL,
        stdout=out or subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise StoreAway("SQL", f"{os.path.basename(argv[0])}: {said[-1] if said else done.returncode}")
