"""SECURITY.md goes through the OWASP API Security Top 10 (2023), and every test that it names exists."""

import ast
import re
from pathlib import Path

from tests.in_one import in_one

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = [row for row in PAGE.splitlines() if row.startswith("| API")]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


def test_each_risk_has_its_row_in_order() -> None:
    assert [int(number) for row in ROWS for number in re.findall(r"^\| API(\d+) ", row)] == list(range(1, 11))


@in_one("row", ROWS)
def test_a_row_names_a_test(row: str) -> None:
    assert re.search(r"`tests/[\w/]+\.py::test_\w+`", row)


@in_one(("path", "name"), NAMED)
def test_a_test_that_the_page_names_exists(path: str, name: str) -> None:
    found = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {one.name for one in found.body if isinstance(one, ast.FunctionDef)}
