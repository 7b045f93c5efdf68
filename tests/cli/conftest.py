import sys
from collections.abc import Iterator

import pytest
import structlog

from tests.api.world import World
from tests.cli.runs import Run, runner_of
from tests.client.served import Served, serving


@pytest.fixture
def served(sqlite_url: str, redis_url: str) -> Iterator[Served]:
    """The API, listening, on an empty SQLite and Redis."""
    with serving(sqlite_url, redis_url) as found:
        yield found


@pytest.fixture
def small_world(served: Served) -> World:
    """The same, without its port."""
    return served.world


@pytest.fixture
def run(served: Served) -> Run:
    """Runs `wangtimer ...` against the API, as the app `shop`."""
    return runner_of(served.url)


@pytest.fixture(autouse=True)
def _logs_are_no_output() -> Iterator[None]:
    """Keep what threads of other tests log out of what a command prints."""
    before = structlog.get_config()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))
    yield
    structlog.configure(**before)
