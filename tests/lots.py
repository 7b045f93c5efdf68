"""Which tests `make test` leaves out; `make test-all` runs those.

`make test` leaves out tests that are marked `test_all` or `alone`, and these, unless they are marked `every_run`:

* tests that start processes of their own;
* a test on Valkey, since the same test runs on Redis;
* a test of the API on MariaDB, since the same test runs on SQLite.

`a_twelfth` leaves out eleven of twelve of a test's parameters.
"""

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Tests here that ask for locks, a dialect or an index are marked `every_run`.
ALIKE_ON_EACH_DATABASE = ("tests/api/",)
PARTS = 12


def is_left_out(item: pytest.Item) -> bool:
    """Tell whether `make test` leaves out a test."""
    if item.get_closest_marker("test_all") or item.get_closest_marker("alone"):
        return True
    if item.get_closest_marker("every_run"):
        return False
    return bool(item.get_closest_marker("processes")) or _runs_on_another_server(item)


def _runs_on_another_server(item: pytest.Item) -> bool:
    """Tell whether `make test` runs the same test on another server."""
    call = getattr(item, "callspec", None)
    servers = set() if call is None else {value for value in call.params.values() if isinstance(value, str)}
    return "valkey" in servers or ("mariadb" in servers and item.nodeid.startswith(ALIKE_ON_EACH_DATABASE))


def group_of(item: pytest.Item) -> str | None:
    """Return the group that one test process runs one after the other: a file whose tests start processes."""
    if item.get_closest_marker("processes") and not item.get_closest_marker("xdist_group"):
        return item.nodeid.partition("::")[0]
    return None


def a_twelfth(values: Sequence[object]) -> list[object]:
    """Return values as parameters. `make test` leaves out all but a twelfth, which differs from commit to commit.

    Of fewer than twelve it leaves out all but one.
    """
    parts = min(PARTS, len(values))
    kept = _number_of_this_commit() % parts
    return [
        pytest.param(value, marks=() if place % parts == kept else (pytest.mark.test_all,))
        for place, value in enumerate(values)
    ]


@cache
def _number_of_this_commit() -> int:
    """Return its hash as a number; 0 where there is no repository."""
    said = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return int(said.stdout or "0", 16)
