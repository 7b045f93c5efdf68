"""Connections to SQL, and transactions that may be repeated."""

import random
import sqlite3
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Executable, RowMapping, create_engine, event, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from wangtimer.core import fail_points
from wangtimer.core.errors import RowsLocked, StoreAway, TookTooLong
from wangtimer.core.fail_points import FailPoint
from wangtimer.store.sql.tables import metadata

Result = TypeVar("Result")

# MySQL: deadlock, lock wait. A repeat may pass at once.
_LOCK_WAIT = 1205
_COLLISIONS = {1213, _LOCK_WAIT}
# MySQL: unknown column, table, index, function; syntax; a statement too large. These do not pass with time, so SQL does
# not count as away.
_MISTAKES = {1054, 1146, 1176, 1305, 1064, 1153}
# MariaDB, MySQL: the server ended a statement for its time. What its transaction did before stands.
_OVER_TIME = {1969, 3024}
# The server takes no writes: it has left its cluster, or was demoted. Its name may lead to another server by now.
_DEMOTED = {1047, 1290, 1792, 1836, 3100}
_IS_DEMOTED = "SELECT @@global.read_only, @@global.innodb_read_only"
# s; connections are opened anew once in so long at most, so that a server that stays read-only is not asked for more.
RENEWED_FOR_S = 1.0
# s; a connection lives for so long, so that no process stays with a server that its name has left. Each process takes
# another share of it, so that they do not all come in the same second.
OLDEST_CONNECTION_S = 60
# s; a transaction in which nothing is asked for so long is over. A write waits longer for a lock: nine waits of one
# second each.
IDLE_S = 6
_TRIES_ON_COLLISION = 8
_TRIES_WHEN_LOST = 2
# s; how long a client waits for an answer, and how long the server may work on a statement: less, so that it never
# works for nobody. MySQL bounds only queries: there a write that was given up goes on.
READ_TIMEOUT_S = 5
STATEMENT_S = 4.5
# Run once on each connection. MariaDB runs the parts in /*M! */, MySQL those in /*!80000 */. Schema upgrades and other
# statements of a DBA have no such bound.
# A session that asks nothing within a transaction is of a process that froze, or whose host is gone. MariaDB ends it,
# and so its locks. MySQL only ends idle sessions, later: none of ours idles so long, as its pool opens a new one.
# With in_predicate_conversion_threshold MariaDB would turn 1,000 ids into a table, and without statistics read all
# timers for it: so that is off.
_BOUNDS = (
    f"SET innodb_lock_wait_timeout = 1, wait_timeout = {OLDEST_CONNECTION_S + 10}"
    f" /*M! , max_statement_time = {STATEMENT_S} */"
    f" /*M! , idle_transaction_timeout = {IDLE_S} */"
    " /*M! , tx_isolation = 'READ-COMMITTED' */ /*!80000 , transaction_isolation = 'READ-COMMITTED' */"
    " /*M! , in_predicate_conversion_threshold = 0 */"
    f" /*!80000 , max_execution_time = {int(STATEMENT_S * 1_000)} */"
)
# Marks a connection that comes back to the pool right after its commit.
_COMMITTED = "wangtimer_committed"


@dataclass(frozen=True, slots=True)
class Changes:
    """How SQL stands: another commit, whoever makes it, is another `mark`. What was read since may be kept with it."""

    mark: int
    read_since: dict[Hashable, Any] = field(default_factory=dict)


class Database:
    """A pool of connections, and whole transactions on them.

    A driver error is not a rollback: a write that failed may have been applied, so all work in `write` must be
    repeatable. A server that does not answer costs seconds (connect 3, read 5, write 5), and hangs no worker. The
    server itself ends a statement that takes longer than `STATEMENT_S`.
    """

    def __init__(self, url: str, pool_size: int, sleep: Callable[[float], None] = time.sleep) -> None:
        self.engine = _engine(url, pool_size)
        # On its connections each statement commits, and nothing is rolled back. It has none until one is wanted.
        self._committing = _committing_engine(self.engine, pool_size)
        self._sleep = sleep
        self._renewed_at = float("-inf")
        self._renewing = Lock()
        # By its whole path, as the engine's pool has it: a process may go to another directory.
        self._file = file.absolute() if (file := _file_of(self.engine.url)) else None
        # It never writes, so each commit is another connection's, of which SQLite tells it.
        self._watching: sqlite3.Connection | None = None
        self._changes: Changes | None = None
        self._looking = Lock()

    @property
    def engines(self) -> tuple[Engine, ...]:
        """Where its statements run: on SQLite they all run on the first, which tells its listeners of all."""
        return (self.engine,) if self.is_sqlite else (self.engine, self._committing)

    @property
    def is_sqlite(self) -> bool:
        """Whether this is the embedded default."""
        return self.engine.dialect.name == "sqlite"

    def create_tables(self) -> None:
        """Create missing tables; do nothing if all exist."""
        self._repeat(lambda: metadata.create_all(self.engine))

    def write(
        self,
        work: Callable[[Connection], Result],
        step: FailPoint | None = None,
        *,
        waits_for_locks: bool = True,
    ) -> Result:
        """Run `work` in one transaction, and again if it collided or the connection was lost.

        `step` is its name among the fail points. Raises `StoreAway` when the server does not answer, or takes no writes
        now; the transaction may still have been applied. Of that, `TookTooLong` where the server ended a statement.
        Raises `RowsLocked` where somebody else still holds a row after nine waits of one second, or after one if not
        `waits_for_locks`.
        """

        def transaction() -> Result:
            with self.engine.connect() as connection:
                with connection.begin():
                    result = work(connection)
                connection.info[_COMMITTED] = True
                return result

        if step is None:
            return self._repeat(transaction, waits_for_locks)
        fail_points.before(step)
        result = self._repeat(transaction, waits_for_locks)
        fail_points.after(step)
        return result

    def write_alone(self, work: Callable[[Connection], Result], step: FailPoint) -> Result:
        """Run `work`, one statement, as a transaction of its own, without a commit's trip. Otherwise as `write`."""

        def statement() -> Result:
            with self._committing.connect() as connection:
                return work(connection)

        fail_points.before(step)
        result = self._repeat(statement)
        fail_points.after(step)
        return result

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work`, which changes nothing; each statement sees what is committed by then. Errors as for `write`."""

        def snapshot() -> Result:
            with self._committing.connect() as connection:
                return work(connection)

        return self._repeat(snapshot)

    def read_current(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` as `read` does, but not on a server that was demoted: what it tells may have been overtaken.

        That costs a round trip. If no server that takes writes can be reached, the answer stands.
        """
        if self.is_sqlite:
            return self.read(work)

        def snapshot(sql: Connection) -> tuple[Result, bool]:
            # Afterwards: a server that takes writes then did so before, too.
            result = work(sql)
            return result, any(value not in (0, "OFF") for value in sql.exec_driver_sql(_IS_DEMOTED).one())

        began = time.monotonic()
        result, is_demoted = self.read(snapshot)
        # Renewed meanwhile by another thread: this one had its connection before.
        return self.read(work) if is_demoted and (self._renew() or self._renewed_at >= began) else result

    def changes(self) -> Changes | None:
        """Return how SQL stands; None where it cannot tell, or not now: only SQLite in a file can."""
        if self._file is None:
            return None
        with self._looking, suppress(sqlite3.Error):
            if self._watching is None:
                # It makes no file, and waits for no lock: where it cannot look now, SQL is read.
                file = f"{self._file.as_uri()}?mode=rw"
                self._watching = sqlite3.connect(file, uri=True, timeout=0, check_same_thread=False)
            (mark,) = self._watching.execute("PRAGMA data_version").fetchone()
            if self._changes is None or self._changes.mark != mark:
                self._changes = Changes(mark)
            return self._changes
        return None

    def ping(self) -> None:
        """Return when the server answers and has the tables; raises `StoreAway` otherwise."""
        try:
            self.read(lambda sql: [sql.execute(select(table).limit(0)) for table in metadata.sorted_tables])
        except (ProgrammingError, OperationalError) as error:
            raise StoreAway("SQL", f"{_cause(error)}; load schema.sql") from error

    def close(self) -> None:
        """Close the pools' connections."""
        self.engine.dispose()
        self._committing.dispose()
        with self._looking:
            if self._watching is not None:
                self._watching.close()
            # Another connection counts anew.
            self._watching = self._changes = None

    def _renew(self) -> bool:
        """Let all connections be opened anew, idle or given back; tell whether they are, be it by another thread."""
        with self._renewing:
            if time.monotonic() - self._renewed_at < RENEWED_FOR_S:
                return False
            self.close()
            self._renewed_at = time.monotonic()
            return True

    def _repeat(self, attempt: Callable[[], Result], waits_for_locks: bool = True) -> Result:
        collisions = losses = demotions = 0
        while True:
            try:
                return attempt()
            except PoolTimeout as error:
                raise StoreAway("SQL", "no free connection within 5 s") from error
            except (OperationalError, InterfaceError, InternalError) as error:
                is_locked = _code(error) == _LOCK_WAIT
                if is_locked and (not waits_for_locks or collisions == _TRIES_ON_COLLISION):
                    raise RowsLocked(_cause(error)) from error
                if _is_collision(error) and collisions < _TRIES_ON_COLLISION:
                    collisions += 1
                    self._sleep(random.uniform(0.002, 0.02) * collisions)
                elif error.connection_invalidated and losses < _TRIES_WHEN_LOST - 1:
                    losses += 1
                elif _code(error) in _DEMOTED and demotions < _TRIES_WHEN_LOST - 1:
                    demotions += 1
                    self._renew()
                elif _is_mistake(error):
                    raise
                else:
                    # The server refuses (read-only, disk full, no access), but may accept later.
                    away = TookTooLong if was_over_time(error) else StoreAway
                    raise away("SQL", _cause(error)) from error


class SqlStore:
    """What SQL has of one subject. Each method is one statement or one transaction, and raises `StoreAway`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _rows(self, query: Executable) -> Sequence[Any]:
        return self._database.read(lambda sql: sql.execute(query).all())

    def _mappings(self, query: Executable) -> Sequence[RowMapping]:
        return self._database.read(lambda sql: sql.execute(query).mappings().all())


def was_over_time(error: DBAPIError) -> bool:
    """Tell whether the server ended a statement because it took too long; its transaction may go on."""
    return _code(error) in _OVER_TIME


def missing_file(url: str) -> Path | None:
    """Return the file of an SQLite database if it does not exist yet: connecting would make it."""
    file = _file_of(with_driver(url))
    return None if file is None or file.exists() else file


def _file_of(url: URL) -> Path | None:
    """Return the file of an SQLite database, None where it has none."""
    file = url.database if url.get_backend_name() == "sqlite" else None
    return None if not file or file == ":memory:" or file.startswith("file:") else Path(file)


def with_driver(url: str) -> URL:
    """Return the URL with the driver we use, if it names none."""
    parsed = make_url(url)
    if parsed.drivername in ("mysql", "mariadb"):
        return parsed.set(drivername=f"{parsed.drivername}+mysqldb")
    return parsed


def _engine(url: str, pool_size: int) -> Engine:
    parsed = with_driver(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite_engine(url, pool_size)
    engine = create_engine(parsed, **_pool_options(pool_size))

    @event.listens_for(engine, "reset")
    def end_transaction(connection: Any, record: Any, state: Any) -> None:
        """Roll back, as the pool does by itself, but not right after a commit: that round trip would be for nothing."""
        if not (record.info.pop(_COMMITTED, False) or state.transaction_was_reset):
            connection.rollback()

    return engine


def _committing_engine(engine: Engine, pool_size: int) -> Engine:
    if engine.dialect.name == "sqlite":
        return engine.execution_options(wangtimer_commits=True)
    options = _pool_options(pool_size)
    return create_engine(engine.url, **options, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True)


def _pool_options(pool_size: int) -> dict[str, Any]:
    """Return the options of a pool of connections to MariaDB or MySQL."""
    return {
        "pool_size": pool_size,
        "max_overflow": pool_size,
        "pool_timeout": 5,
        "pool_recycle": random.randint(OLDEST_CONNECTION_S * 3 // 4, OLDEST_CONNECTION_S),
        "hide_parameters": True,
        "pool_reset_on_return": None,
        "connect_args": {
            "connect_timeout": 3,
            "read_timeout": READ_TIMEOUT_S,
            "write_timeout": 5,
            "charset": "utf8mb4",
            "init_command": _BOUNDS,
        },
    }


def _sqlite_engine(url: str, pool_size: int) -> Engine:
    """Return an engine with WAL, BEGIN IMMEDIATE and a busy time-out: only with these 4 processes lost nothing."""
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=5,
        # Parameters contain headers and bodies of timers, which no log may show.
        hide_parameters=True,
        # A settle statement is as long as its rows, and hardly two are equal: 128 cached ones took 100 MB.
        connect_args={"timeout": 5, "check_same_thread": False, "cached_statements": 16},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        # SQLite's own `lower` handles only ASCII letters; MariaDB's handles all.
        connection.create_function("lower", 1, lambda text: text and str(text).lower(), deterministic=True)
        connection.execute("PRAGMA journal_mode=WAL")
        # With NORMAL a power cut takes back commits that were answered with success.
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA busy_timeout=5000")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if not connection.get_execution_options().get("wangtimer_commits"):
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _code(error: DBAPIError) -> int | None:
    arguments = getattr(error.orig, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def _is_collision(error: DBAPIError) -> bool:
    return _code(error) in _COLLISIONS or "database is locked" in str(error.orig)


def _is_mistake(error: DBAPIError) -> bool:
    is_sqlites = getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
    return is_sqlites or _code(error) in _MISTAKES


def _cause(error: DBAPIError) -> str:
    return str(error.orig).splitlines()[0][:200]
