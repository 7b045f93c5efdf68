"""The Chinese pages say what the English ones say, as far as a test can tell: the same commands, paths and settings."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.in_one import in_one

ROOT = Path(__file__).parents[1]
TRANSLATED = sorted(
    path.relative_to(ROOT / "docs/zh").as_posix() for path in (ROOT / "docs/zh").rglob("*.md")
)
# The navigation is other, and the front page leads to English pages where there is no Chinese one.
FRONT = "index.md"
PAGES = [
    ("README.md", "README.zh-CN.md"),
    ("docs/api.md", "docs/api.zh-CN.md"),
    *((f"docs/{page}", f"docs/zh/{page}") for page in TRANSLATED if page != FRONT),
]
# How-to pages that nobody has translated yet.
ENGLISH_ONLY: set[str] = set()
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# What is indented behind an empty line.
_INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def code_blocks(page: str) -> list[str]:
    without_fenced = _FENCED.sub("", page)
    # What begins with a brace is a directive of the site's generator.
    fenced = [block for block in _FENCED.findall(page) if not block.startswith("```{")]
    return fenced + [block.strip("\n") for block in _INDENTED.findall(without_fenced)]


@in_one(("english", "chinese"), PAGES)
def test_commands_and_examples_are_the_same(english: str, chinese: str) -> None:
    there = code_blocks(read(english))
    assert there or "/how-to/" not in english or english.endswith("index.md")
    assert code_blocks(read(chinese)) == there


class Section(NamedTuple):
    """What a section has behind its heading, examples left out; `characters` are those of its paragraphs.

    One with a choice of a table's rows links to the whole of it, in English.
    """

    level: int
    paragraphs: int
    characters: int
    items: int
    rows: int
    is_choice: bool


def sections(page: str) -> list[Section]:
    prose = re.sub(r"<!--.*?-->\n?", "", _INDENTED.sub("\n", _FENCED.sub("", page)), flags=re.DOTALL)
    parts = re.split(r"^(#+) .*$", prose, flags=re.MULTILINE)[1:]
    return [section(len(marks), text) for marks, text in zip(parts[::2], parts[1::2], strict=True)]


def section(level: int, text: str) -> Section:
    blocks = [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]
    paragraphs = [block for block in blocks if not re.match(r"[|*-]|\d+\.", block)]
    characters = sum(len(re.sub(r"\s", "", one)) for one in paragraphs)
    items = len(re.findall(r"^\s*(?:[*-]|\d+\.) ", text, re.MULTILINE))
    rows = len(re.findall(r"^\|", text, re.MULTILINE))
    return Section(level, len(paragraphs), characters, items, rows, "](../../reference/settings.md)" in text)


@in_one(("english", "chinese"), PAGES)
def test_sections_have_the_same_shape(english: str, chinese: str) -> None:
    for number, (there, here) in enumerate(
        zip(sections(read(english)), sections(read(chinese)), strict=True)
    ):
        where = f"section {number}: {there}, {here}"
        assert (here.level, here.items) == (there.level, there.items), where
        assert abs(here.paragraphs - there.paragraphs) <= 1, where
        assert bool(here.paragraphs) == bool(there.paragraphs), where
        # Chinese takes about half the characters.
        assert here.characters * 5 >= there.characters, where
        assert here.rows == there.rows or (here.is_choice and 2 < here.rows < there.rows), where


@in_one(("english", "chinese"), PAGES)
def test_operations_come_in_the_same_order(english: str, chinese: str) -> None:
    headings = re.compile(r"^## (`.+`)", re.MULTILINE)
    assert headings.findall(read(chinese)) == headings.findall(read(english))


def test_settings_have_the_same_defaults() -> None:
    rows = re.compile(r"^\| `(WANGTIMER_\w+)` \| (\S*) \|", re.MULTILINE)
    english, chinese = (
        dict(rows.findall(read("docs/reference/settings.md"))),
        dict(rows.findall(read("docs/zh/reference/settings.md"))),
    )
    assert chinese
    assert chinese.items() <= english.items()


@pytest.mark.parametrize("part", ["tutorial", "how-to"])
def test_the_tutorial_and_every_how_to_are_in_chinese_too(part: str) -> None:
    there = {path.name for path in (ROOT / "docs" / part).glob("*.md")}
    assert there
    assert there - ENGLISH_ONLY == {path.name for path in (ROOT / "docs/zh" / part).glob("*.md")}


def test_processes_are_the_same() -> None:
    rows = re.compile(r"^\| `([a-z]+)` \|", re.MULTILINE)
    assert rows.findall(read("docs/zh/explanation/architecture.md")) == rows.findall(
        read("docs/explanation/architecture.md")
    )


@in_one("chinese", [chinese for _, chinese in PAGES])
def test_every_file_a_chinese_page_links_to_exists(chinese: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)[^)]*\)", read(chinese))
    assert links or chinese.startswith("docs/zh/")
    assert [link for link in links if not (ROOT / chinese).parent.joinpath(link).exists()] == []
