"""Which tests `make test` runs, and which it leaves to `make test-all`.

Left are tests that start processes of their own, unless they are marked `every_run`; what runs on Redis too and is
asked of Valkey; the API on MariaDB where the same case runs on SQLite; two thirds of the simulation's seeds and rules;
and whatever is marked `test_all` or `alone`.
"""

import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Rooms whose cases ask nothing of locks, dialect or indexes: where they do, the case is marked `every_run`.
ALIKE_ON_EACH_DATABASE = ("tests/api/",)
THIRDS = 3


def is_left(item: pytest.Item) -> bool:
    """Tell whether `make test` leaves a test to `make test-all`."""
    if item.get_closest_marker("test_all") or item.get_closest_marker("alone"):
        return True
    if item.get_closest_marker("every_run"):
        return False
    return bool(item.get_closest_marker("processes")) or _is_asked_twice(item)


def _is_asked_twice(item: pytest.Item) -> bool:
    """Tell whether another server is asked the same in `make test`."""
    call = getattr(item, "callspec", None)
    servers = set() if call is None else {value for value in call.params.values() if isinstance(value, str)}
    return "valkey" in servers or ("mariadb" in servers and item.nodeid.startswith(ALIKE_ON_EACH_DATABASE))


def group_of(item: pytest.Item) -> str | None:
    """Return the group whose tests one process runs one after the other: the file, where processes are started."""
    if item.get_closest_marker("processes") and not item.get_closest_marker("xdist_group"):
        return item.nodeid.partition("::")[0]
    return None


def a_third(values: Iterable[object]) -> Iterator[object]:
    """Yield values as parameters; all but a third, which changes from commit to commit, are left."""
    for place, value in enumerate(values):
        marks = () if place % THIRDS == _drawn() else (pytest.mark.test_all,)
        yield pytest.param(value, marks=marks)


@cache
def _drawn() -> int:
    """Return which third this commit runs; the first where there is no repository."""
    said = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return int(said.stdout or "0", 16) % THIRDS
