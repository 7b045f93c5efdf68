"""docs/promises.md: every promise, what breaks it on purpose, the test that sees it, and where it does not hold.

python -m tests.broken.page > docs/promises.md
"""

import sys
from collections.abc import Mapping, Sequence

from tests.broken.promises import Promise, by_section
from tests.broken.sections import SECTIONS, Section

HEAD = """# What is promised, what breaks it on purpose, and where it does not hold

Each section has one of the [guarantees](explanation/guarantees.md) in its words, where it does not hold, and the
faults of `make chaos` that try it under load ([what they measured](reliability.md)). Its table has the parts of the
promise. Each part has a mutation of the code that breaks it on purpose, and the tests that must go red then: `make
broken` writes each mutation into a copy of the code, and runs them. `make simulate` runs the real stages under made-up
faults, and `make ablate` leaves out their rules one by one.

This page is written by `python -m tests.broken.page > docs/promises.md`, from `tests/broken/mutations` and from
`tests/broken/sections.py`. A test compares it.
"""


def page(promised: Mapping[str, Sequence[Promise]]) -> str:
    """Return the page of these promises by section."""
    return "\n".join([HEAD, *(_section(one, promised[one.name]) for one in SECTIONS)])


def _section(section: Section, promised: Sequence[Promise]) -> str:
    quoted = [f"> {section.promised}\n"] if section.promised else []
    unless = ["Where it does not hold:\n", *(f"* {one}" for one in section.unless), ""]
    rows = [f"Tried under load by: {', '.join(section.rows)}.\n"] if section.rows else []
    table = ["| promise | broken by | seen by |", "|---|---|---|", *map(_row, promised), ""]
    return "\n".join([f"## {section.name}\n", *quoted, *unless, *rows, *table])


def _row(promise: Promise) -> str:
    broken = f"`{promise.name}`: {_sentence(promise.breaks)}"
    seen = "<br>".join(f"`{test}`" for test in promise.tests)
    cells = (_sentence(promise.words), broken, seen)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}."


if __name__ == "__main__":
    sys.stdout.write(page(by_section()))
