from collections.abc import Iterator

import pytest

from tests.api.v1.world import V1World
from tests.api.world import present


@pytest.fixture
def world(database_url: str, redis_url: str) -> Iterator[V1World]:
    """v1 on each SQL server, in the present minute."""
    world = V1World(database_url, redis_url, present())
    world.wiring.database.create_tables()
    yield world
    world.close()


@pytest.fixture
def small_world(sqlite_url: str, redis_url: str) -> Iterator[V1World]:
    """v1 on SQLite alone, for what never reaches SQL."""
    world = V1World(sqlite_url, redis_url, present())
    world.wiring.database.create_tables()
    yield world
    world.close()
