"""A further field of a timer touches few files: a patch that adds one says which, and works.

The patch adds `note`, a text that callers give, read and change, that is stored, and that firing knows. Where a change
of the code leaves it without a place to apply to, it is to be written anew, by hand or with `git apply --3way`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.broken.tree import apply, copy_to

PATCH = Path(__file__).with_name("note.patch")
# Files outside tests and docs; the client and the command line are given one each.
MOST_FILES = 6
OF_CALLERS = 2
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
    apply(PATCH, copy)
    return copy


@pytest.fixture
def seen(tree: Path, sqlite_url: str, redis_url: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.further_field.round_trip", sqlite_url, redis_url],
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
    files = touched(PATCH)
    of_callers = {name for name in files if name.startswith(("wangtimer/client/", "wangtimer/cli/"))}
    assert len(of_callers) <= OF_CALLERS, of_callers
    assert len(files - of_callers) <= MOST_FILES - OF_CALLERS, files


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
