from collections.abc import Iterator

import pytest

from tests.api.world import World, present
from wangtimer.base.settings import Settings


@pytest.fixture
def world(database_url: str, redis_url: str) -> Iterator[World]:
    """The API on each SQL server, in the present minute (Redis forgets what is long past)."""
    world = World(database_url, redis_url, present())
    world.wiring.database.create_tables()
    yield world
    world.close()


@pytest.fixture
def small_world(sqlite_url: str, redis_url: str) -> Iterator[World]:
    """The API on SQLite alone, for what never reaches SQL."""
    world = World(sqlite_url, redis_url, present())
    world.wiring.database.create_tables()
    yield world
    world.close()


@pytest.fixture
def budgeted_world(sqlite_url: str, redis_url: str) -> Iterator[World]:
    """The API on SQLite, where a request may take as much CPU as ships."""
    world = World(sqlite_url, redis_url, present(), http_cpu_ms=Settings.model_fields["http_cpu_ms"].default)
    world.wiring.database.create_tables()
    yield world
    world.close()
