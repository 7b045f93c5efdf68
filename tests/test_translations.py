"""The Chinese pages say what the English ones say, as far as a test can tell: the same commands, paths and settings."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [("README.md", "README.zh-CN.md"), ("docs/api.md", "docs/api.zh-CN.md")]
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# What is indented behind an empty line.
_INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def code_blocks(page: str) -> list[str]:
    without_fenced = _FENCED.sub("", page)
    return _FENCED.findall(page) + [block.strip("\n") for block in _INDENTED.findall(without_fenced)]


@pytest.mark.parametrize(("english", "chinese"), PAGES)
def test_commands_and_examples_are_the_same(english: str, chinese: str) -> None:
    there = code_blocks(read(english))
    assert there
    assert code_blocks(read(chinese)) == there


@pytest.mark.parametrize(("english", "chinese"), PAGES)
def test_operations_come_in_the_same_order(english: str, chinese: str) -> None:
    headings = re.compile(r"^## (`.+`)", re.MULTILINE)
    assert headings.findall(read(chinese)) == headings.findall(read(english))


def test_settings_have_the_same_defaults() -> None:
    rows = re.compile(r"^\| `(WANGTIMER_\w+)` \| (\S*) \|", re.MULTILINE)
    english, chinese = dict(rows.findall(read("README.md"))), dict(rows.findall(read("README.zh-CN.md")))
    assert chinese
    assert chinese.items() <= english.items()


def test_processes_are_the_same() -> None:
    rows = re.compile(r"^\| `([a-z]+)` \|", re.MULTILINE)
    assert rows.findall(read("README.zh-CN.md")) == rows.findall(read("README.md"))


@pytest.mark.parametrize("chinese", [chinese for _, chinese in PAGES])
def test_every_file_a_chinese_page_links_to_exists(chinese: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)[^)]*\)", read(chinese))
    assert links
    assert [link for link in links if not (ROOT / chinese).parent.joinpath(link).exists()] == []
