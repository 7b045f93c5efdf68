"""Cells of a CSV file that a spreadsheet would run as a formula.

Answers of targets, names of timers and apps stand in an export, and whoever writes them may write `=HYPERLINK(...)`.
The rule is that of https://owasp.org/www-community/attacks/CSV_Injection.
"""

import re
from collections.abc import Mapping
from typing import Any

_BEGINS = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
# What a spreadsheet of another country may take for the end of a cell, before what begins a formula.
_FORMULA = re.compile(rf"^(?={_BEGINS}|[\t\r\n])|(?<=[;\t\r\n])(?={_BEGINS})")
# It computes nothing.
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)


def defused(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with an apostrophe before each formula, which a spreadsheet then shows as text."""
    return {name: _as_text(cell) if isinstance(cell, str) else cell for name, cell in row.items()}


def _as_text(cell: str) -> str:
    return cell if _NUMBER.fullmatch(cell) else _FORMULA.sub("'", cell)
