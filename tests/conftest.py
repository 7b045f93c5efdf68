"""What every test has: its marks, its time-out, its ports, and the real servers that it asks for.

Servers are started once for each pytest process, and clean for each test.
A server that is not installed is an error, unless `SKIP_SERVERS=1` is set: then its tests are skipped.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_timeout
from hypothesis import HealthCheck, settings

from tests.lots import group_of, is_left_out
from tests.patience import patience
from tests.secret_keys import SECRET_KEYS
from tests.servers.mariadb import MariaDBServer
from tests.servers.mysql import MySQLServer
from tests.servers.prepared_databases import PreparedDatabases, PreparedFile
from tests.servers.redis_server import RedisServer, embedded_valkey_program, redis_program
from tests.servers.server_process import ServerMissingError
from wangtimer.core.errors import BadSetting
from wangtimer.stack import ports

# Tests of keys ask for them; all others are operators, in processes of their own too.
os.environ["WANGTIMER_AUTH"] = "off"

_databases = count(1)
# A test counts as hung after this many of its time-outs, even on a quiet machine: other work may begin while it runs.
HANGS_AFTER = 3
# A test holds up a test process for so long at most, unless its own time-out is longer.
LONGEST_S = 600.0
# As many test processes as may run side by side.
_MOST_PROCESSES = 16

# A commit reaches the kernel, so that a killed server loses none, and the disk within a second: no test cuts the power.
_UNFLUSHED = "--innodb-flush-log-at-trx-commit=2"

# Processes that tests start have it too.
os.environ.setdefault("WANGTIMER_SECRET_KEYS", SECRET_KEYS)

# Hypothesis times no test: a machine that is busy with other work would fail it.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Give each test process ports of its own: a port may be taken between the look for it and its server's bind."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    ports.PORTS = ports.PORTS[number % _MOST_PROCESSES :: _MOST_PROCESSES]


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: pytest_timeout.Settings) -> object:
    """Let a test last longer where the machine has other work, before it is taken for one that hangs."""
    longer = settings.timeout and min(
        settings.timeout * HANGS_AFTER * patience(), max(settings.timeout, LONGEST_S)
    )
    return pytest_timeout.pytest_timeout_set_timer(item, settings._replace(timeout=longer))


@pytest.fixture(autouse=True)
def _no_patience_where_time_is_judged(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if request.node.get_closest_marker("alone"):
        monkeypatch.setattr("tests.patience.MOST", 1.0)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test` leaves to `make test-all`, and keep what starts processes in groups."""
    for item in items:
        if is_left_out(item):
            item.add_marker("test_all")
        if group := group_of(item):
            item.add_marker(pytest.mark.xdist_group(group))


def pytest_collection_finish() -> None:
    """Leave the many thousand tests out of garbage collections: one takes longer than a request's CPU budget."""
    gc.collect()
    gc.freeze()


def _without(missing: Exception) -> None:
    if os.environ.get("SKIP_SERVERS") == "1":
        pytest.skip(str(missing))
    pytest.fail(f"{missing}, or set SKIP_SERVERS=1 to leave out what needs it", pytrace=False)


@pytest.fixture(scope="session")
def mariadb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDBServer]:
    """A running MariaDB; ask for `mariadb_url` unless the test freezes or kills it.

    With `MYSQL_SYSTEM` set, a MySQL of that directory in its place.
    """
    system = os.environ.get("MYSQL_SYSTEM")
    directory = tmp_path_factory.mktemp("mariadb")
    try:
        server = MySQLServer(Path(system), directory) if system else MariaDBServer(directory, _UNFLUSHED)
    except ServerMissingError as missing:
        _without(missing)
        raise
    with server:
        yield server


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A running Redis 7; ask for `redis_url` unless the test freezes or kills it."""
    try:
        server = RedisServer(redis_program(), tmp_path_factory.mktemp("redis"))
    except ServerMissingError as missing:
        _without(missing)
        raise
    with server:
        yield server


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """The embedded default's Valkey, running; ask for `valkey_url` unless the test freezes or kills it."""
    try:
        server = RedisServer(embedded_valkey_program(), tmp_path_factory.mktemp("valkey"))
    except BadSetting as missing:
        _without(missing)
        raise
    with server:
        yield server


@pytest.fixture(scope="session")
def prepared_databases(mariadb_server: MariaDBServer) -> PreparedDatabases:
    """Lends databases of the running MariaDB."""
    return PreparedDatabases(mariadb_server)


@pytest.fixture(scope="session")
def prepared_file(tmp_path_factory: pytest.TempPathFactory) -> PreparedFile:
    """An SQLite file to copy."""
    return PreparedFile(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture
def mariadb_url(prepared_databases: PreparedDatabases) -> Iterator[str]:
    """SQLAlchemy URL of a database on MariaDB that has the tables and no rows."""
    with prepared_databases.lent() as url:
        yield url


@pytest.fixture
def sqlite_url(prepared_file: PreparedFile) -> Iterator[str]:
    """SQLAlchemy URL of an SQLite file that has the tables and no rows.

    It lies in memory where that can be, since each commit waits for the disk.
    """
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        yield prepared_file.copied_to(Path(directory) / "wangtimer.db")


@pytest.fixture(params=["mariadb", "sqlite"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A database that has the tables and no rows, once on each kind of server."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def empty_mariadb_url(mariadb_server: MariaDBServer) -> Iterator[str]:
    """SQLAlchemy URL of a database on MariaDB without tables."""
    name = f"test_{next(_databases)}"
    yield mariadb_server.create_database(name)
    mariadb_server.drop_database(name)


@pytest.fixture
def empty_sqlite_url(tmp_path: Path) -> str:
    """SQLAlchemy URL of an SQLite file that is not there yet."""
    return f"sqlite:///{tmp_path / 'wangtimer.db'}"


@pytest.fixture(params=["mariadb", "sqlite"])
def empty_database_url(request: pytest.FixtureRequest) -> str:
    """A database without tables, once on each kind of server."""
    url: str = request.getfixturevalue(f"empty_{request.param}_url")
    return url


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """URL of an empty Redis 7."""
    redis_server.flush()
    return redis_server.url()


@pytest.fixture
def valkey_url(valkey_server: RedisServer) -> str:
    """URL of an empty Valkey, the embedded default's."""
    valkey_server.flush()
    return valkey_server.url()


@pytest.fixture(params=["redis", "valkey"])
def store_url(request: pytest.FixtureRequest) -> str:
    """An empty store, once on each kind of server."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def machine_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Put this machine into a time zone, until the test ends."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()
