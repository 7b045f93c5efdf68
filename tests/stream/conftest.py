from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.stream.ground import Ground


@pytest.fixture
def ground(mariadb_url: str, redis_url: str, tmp_path: Path) -> Iterator[Ground]:
    with closing(Ground(mariadb_url, redis_url, tmp_path)) as ground:
        yield ground
