import time
from collections.abc import Iterator

import pytest

from tests.api.world import World


@pytest.fixture
def world(database_url: str, redis_url: str) -> Iterator[World]:
    """The API on each SQL server, at a full second of the present (Redis forgets what is long past)."""
    world = World(database_url, redis_url, int(time.time()) * 1_000)
    world.wiring.database.create_tables()
    yield world
    world.close()


@pytest.fixture
def small_world(sqlite_url: str, redis_url: str) -> Iterator[World]:
    """The API on SQLite alone, for what never reaches SQL."""
    world = World(sqlite_url, redis_url, int(time.time()) * 1_000)
    world.wiring.database.create_tables()
    yield world
    world.close()
