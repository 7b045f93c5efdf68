"""Each contract test runs on the fakes and on every real server."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from redis import Redis

from tests.store.worlds import HotWorld, SqlWorld, memory_hot, memory_sql, real_sql, redis_hot
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.sql.database import Database


@pytest.fixture(params=["memory", "redis", "valkey"])
def hot(request: pytest.FixtureRequest) -> Iterator[HotWorld]:
    """The hot stores, empty."""
    if request.param == "memory":
        yield memory_hot()
        return
    url = request.getfixturevalue(f"{request.param}_url")
    with closing(RedisConnection(url)) as connection, closing(Redis.from_url(url)) as raw:
        yield redis_hot(connection, raw)


@pytest.fixture(params=["memory", "mariadb", "sqlite"])
def sql(request: pytest.FixtureRequest) -> Iterator[SqlWorld]:
    """The SQL stores, empty."""
    if request.param == "memory":
        yield memory_sql()
        return
    with closing(Database(request.getfixturevalue(f"{request.param}_url"), pool_size=2)) as database:
        database.create_tables()
        yield real_sql(database)


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
