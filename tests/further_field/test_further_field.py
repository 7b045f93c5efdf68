"""A further field of a timer touches few files: a patch that adds one says which, and works.

The patch adds `note`, a text that is given, read and changed over both APIs, by the client and by the command line. It
is stored, and firing knows it. Where a change of the code leaves the patch without a place to apply to, write it anew:
by hand, or with `git apply --3way`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.broken.tree import copy_to

pytestmark = pytest.mark.processes

PATCH = Path(__file__).with_name("note.patch")
# Files outside tests and docs.
MOST_FILES = 6
# Made by the service itself.
GENERATED = "openapi.json"


def touched(patch: Path) -> set[str]:
    """Return the files that a patch changes, those of tests and docs and what is generated left out."""
    names = {
        line.removeprefix("+++ b/") for line in patch.read_text().splitlines() if line.startswith("+++ ")
    }
    return {name for name in names if not name.startswith(("tests/", "docs/")) and name != GENERATED}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository whose timers have a note."""
    copy = copy_to(tmp_path_factory.mktemp("further_field") / "tree")
    # Else git, inside a repository further up, takes the paths for those of other files and applies nothing.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(copy.parent)}
    command = ("git", "apply", "--whitespace=nowarn", str(PATCH))
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return copy


@pytest.fixture
def seen(tree: Path, empty_sqlite_url: str, redis_url: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.further_field.round_trip", empty_sqlite_url, redis_url],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_further_field_touches_few_files() -> None:
    assert len(touched(PATCH)) <= MOST_FILES, touched(PATCH)


def test_a_further_field_is_given_and_shown_by_the_client_and_the_command_line(seen: dict[str, Any]) -> None:
    assert [one["note"] for one in seen["client"]] == ["ask Bo", "ask Cy"]
    made, edited, shown, cleared = seen["shell"]
    assert (made["note"], edited["note"], cleared.get("note")) == ("ask Di", "ask Ed", None)
    assert any(line.split() == ["note", "ask", "Ed"] for line in shown.splitlines())


def test_a_further_field_is_given_stored_shown_and_edited_over_both_apis(
    seen: dict[str, Any], tree: Path
) -> None:
    assert seen["made"]["note"] == seen["read"]["note"] == "ask Li first"
    assert seen["stored"] == {"column": "ask Li first", "edited_at": 0, "redis": "ask Li first"}
    assert seen["edited"]["note"] == seen["untouched"]["note"] == seen["listed"]["note"] == "ask Wu"
    assert seen["edited"]["version"] == seen["made"]["version"] + 1
    # The schedule is as it was, so nothing is planned anew.
    assert seen["stored_anew"] == {"column": "ask Wu", "edited_at": 0, "redis": "ask Wu"}
    assert "note" not in seen["taken_away"]
    assert seen["put"]["note"] == "ask Ann"
    assert "note" not in seen["put_without"]
    assert (seen["too_long"]["code"], seen["too_long"]["pointer"]) == (40007, "/note")
    assert seen["compatible"]["note"] == "x" * 100
    assert seen["compatible_edit"]["note"] == seen["compatible_read"]["note"] == "both see it"
    column = next(line.strip() for line in seen["columns"].splitlines() if line.strip().startswith("note "))
    assert column.rstrip(", ") in {
        line.strip().rstrip(",") for line in (tree / "schema.sql").read_text().splitlines()
    }
