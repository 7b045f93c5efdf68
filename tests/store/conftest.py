"""Each contract test runs on the fakes and on every real server."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from redis import Redis
from sqlalchemy import Connection, delete

from tests.servers.mariadb import MariaDBServer
from tests.store.worlds import HotWorld, SqlWorld, memory_hot, memory_sql, real_sql, redis_hot
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import metadata


@pytest.fixture(params=["memory", "redis", "valkey"])
def hot(request: pytest.FixtureRequest) -> Iterator[HotWorld]:
    """The hot stores, empty."""
    if request.param == "memory":
        yield memory_hot()
        return
    url = request.getfixturevalue(f"{request.param}_url")
    with closing(RedisConnection(url)) as connection, closing(Redis.from_url(url)) as raw:
        yield redis_hot(connection, raw)


@pytest.fixture(scope="session")
def contract_database(mariadb_server: MariaDBServer) -> Iterator[Database]:
    """One MariaDB database for all contract tests: making one for each would take longer than the tests."""
    with closing(Database(mariadb_server.create_database("contract"), pool_size=2)) as database:
        database.create_tables()
        yield database


@pytest.fixture
def mariadb_world(contract_database: Database) -> SqlWorld:
    def empty(sql: Connection) -> None:
        for table in metadata.sorted_tables:
            sql.execute(delete(table))

    contract_database.write(empty)
    return real_sql(contract_database)


@pytest.fixture
def sqlite_world(sqlite_url: str) -> Iterator[SqlWorld]:
    with closing(Database(sqlite_url, pool_size=2)) as database:
        database.create_tables()
        yield real_sql(database)


@pytest.fixture
def memory_world() -> SqlWorld:
    return memory_sql()


@pytest.fixture(params=["memory", "mariadb", "sqlite"])
def sql(request: pytest.FixtureRequest) -> SqlWorld:
    """The SQL stores, empty."""
    return request.getfixturevalue(f"{request.param}_world")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A real database with its tables."""
    with closing(Database(database_url, pool_size=4)) as database:
        database.create_tables()
        yield database


@pytest.fixture
def mariadb(mariadb_url: str) -> Iterator[Database]:
    """A MariaDB with the tables."""
    with closing(Database(mariadb_url, pool_size=4)) as database:
        database.create_tables()
        yield database
