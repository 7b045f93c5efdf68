"""One ground for all rows; the table is printed at the end, and written where ATTACK_REPORT says."""

from collections.abc import Iterator

import pytest

from tests.attack.attack import Tried
from tests.attack.ground import Ground

_tried: list[Tried] = []


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with Ground(tmp_path_factory.mktemp("attack")) as made:
        yield made


@pytest.fixture
def tried() -> list[Tried]:
    """The rows so far; append to it."""
    return _tried
