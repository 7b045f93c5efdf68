"""Each test that a page names as its proof is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMPARISON = ROOT / "docs" / "explanation" / "comparison.md"
_NAMED = re.compile(r"`(tests/[\w./-]+)`")


def test_every_test_that_a_page_names_exists() -> None:
    named = {
        (page.relative_to(ROOT), path)
        for page in (ROOT / "docs").rglob("*.md")
        for path in _NAMED.findall(page.read_text("utf-8"))
    }
    assert named
    assert {(str(page), path) for page, path in named if not (ROOT / path).exists()} == set()


def test_every_way_of_others_has_a_test_that_shows_ours() -> None:
    text = COMPARISON.read_text("utf-8")
    rows = text.split("| shown by |\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    assert len(rows) > 10
    assert [row for row in rows if not _NAMED.search(row.rsplit("|", 2)[1])] == []
