from collections.abc import Iterator

import pytest

from tests.client.served import Served, serving
from wangtimer.client import Client


@pytest.fixture
def served(sqlite_url: str, redis_url: str) -> Iterator[Served]:
    """The API, listening, on an empty SQLite and Redis."""
    with serving(sqlite_url, redis_url) as found:
        yield found


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    """A client of the API, of the app `shop`."""
    with Client(served.url, "shop") as client:
        yield client
