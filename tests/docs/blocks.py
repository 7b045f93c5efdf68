"""The examples on the pages: what each is, and what its marker says of how a test runs it.

A marker is a comment on the line before a block:

    <!-- not run: REASON -->       no test runs it
    <!-- checked by: PATH -->      the test file that reads it
    <!-- file: NAME -->            a file that later blocks of the page use
    <!-- second terminal -->       it goes on while the later blocks run
    <!-- until: TEXT -->           it is run again until its output has the text
    <!-- fails -->                 it ends with another exit code than 0
    <!-- answer -->                JSON whose fields the output of the block before has

A `sh` block without a marker is run, once, after the blocks before it; a `python` block too.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARKERS = ("not run", "checked by", "file", "second terminal", "until", "fails", "answer")
_BLOCK = re.compile(
    r"(?:^ *<!-- (?P<marker>[^\n]*?) -->\n)?^(?P<indent> *)```(?P<language>[^\n]*)\n(?P<text>.*?)^ *```$",
    re.M | re.S,
)
_MARKER = re.compile(rf"({'|'.join(MARKERS)})(?:: (.*))?")


@dataclass(frozen=True, slots=True)
class Block:
    """An example: its language, its text, and its marker ("" where it has none) with what stands behind the colon."""

    language: str
    text: str
    line: int
    marker: str = ""
    value: str = ""


def blocks(page: Path) -> list[Block]:
    """Return a page's fenced blocks, directives of the site's generator left out."""
    text = page.read_text(encoding="utf-8")
    return [_block(found, text) for found in _BLOCK.finditer(text) if not found["language"].startswith("{")]


def _block(found: re.Match[str], page: str) -> Block:
    marked = _MARKER.fullmatch(found["marker"] or "")
    text = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.M) if found["indent"] else found["text"]
    line = page.count("\n", 0, found.start("language")) + 1
    return Block(
        found["language"], text, line, marked[1] if marked else "", (marked[2] or "") if marked else ""
    )


def pages() -> list[Path]:
    """Return the pages in English that a reader is led to: README and all of the documentation."""
    folder = ROOT / "docs"
    english = [page for page in folder.rglob("*.md") if (folder / "zh") not in page.parents]
    return [ROOT / "README.md", *sorted(english)]


def name_of(page: Path) -> str:
    """Return a page's path in the repository."""
    return page.relative_to(ROOT).as_posix()
