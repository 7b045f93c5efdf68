"""The README is short, and true where a test can tell."""

import re
from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.docs.peers import HEADS, written
from wangtimer.cli.admin.settings import markdown_table

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
READMES = ("README.md", "README.zh-CN.md")
MAKEFILE = ROOT / "Makefile"
MOST_WORDS = 900
RECEIVER_LINES = 15


def test_it_is_short() -> None:
    assert len(README.read_text().split()) <= MOST_WORDS


@pytest.mark.parametrize("readme", READMES)
def test_a_receiver_fits_into_fifteen_lines(readme: str) -> None:
    (receiver,) = [block.text for block in blocks(ROOT / readme) if block.language == "python"]
    assert len([line for line in receiver.splitlines() if line]) <= RECEIVER_LINES


@pytest.mark.parametrize("readme", READMES)
def test_it_has_a_picture_that_is_there(readme: str) -> None:
    (picture,) = re.findall(r"!\[.+\]\((.+)\)", (ROOT / readme).read_text())
    assert "<title" in (ROOT / picture).read_text()


@pytest.mark.parametrize("readme", READMES)
def test_the_guarantees_are_four(readme: str) -> None:
    (section,) = re.findall(r"^## (?:Guarantees|保证)\n(.*?)^## ", (ROOT / readme).read_text(), re.M | re.S)
    assert len(re.findall(r"^\* ", section, re.M)) == 4


@pytest.mark.parametrize("page", HEADS)
def test_figures_beside_others_are_those_that_were_measured(page: str) -> None:
    text = (ROOT / page).read_text()
    assert "<!-- peers -->" in text
    assert text == written(page, text), "write it anew: python -m tests.docs.peers"


@pytest.mark.parametrize("page", HEADS)
def test_no_figure_of_ours_is_better_than_its_row_of_the_benchmarks(page: str) -> None:
    said, measured = (ROOT / page).read_text(), (ROOT / "docs/benchmarks.md").read_text()
    steady, ticking, rate, cpu = numbers(r"\| WangTimer \|(.+)", said)
    _, row_steady, _, row_ticking, row_rate, row_cpu, *_ = numbers(r"\| WangTimer \|(.+)", measured)
    assert steady >= row_steady
    assert ticking >= row_ticking
    assert cpu >= row_cpu
    assert rate <= row_rate
    (drained,) = numbers(r"WangTimer (?:makes|每秒调用) (\S+)", said)
    assert drained <= numbers(r"\| burst \| calls per s, /s \|(.+)", measured)[0]


def numbers(words: str, text: str) -> list[float]:
    """Return the numbers in what the words find once in a text."""
    (found,) = re.findall(words, text)
    return [float(one.replace(",", "")) for one in re.findall(r"[\d.,]*\d", found)]


def test_the_settings_table_is_that_of_the_code() -> None:
    page = (ROOT / "docs/reference/settings.md").read_text()
    between = re.search(r"<!-- settings -->\n(.*?)\n<!-- /settings -->", page, re.DOTALL)
    assert between is not None
    assert between[1] == markdown_table(), "print it anew: wangtimer settings --markdown"


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make ([a-z0-9-]+)", README.read_text()))))
def test_every_make_target_it_names_exists(target: str) -> None:
    assert re.search(rf"^{target}:", MAKEFILE.read_text(), re.MULTILINE)


@pytest.mark.parametrize("readme", READMES)
def test_every_file_it_links_to_exists(readme: str) -> None:
    links = set(re.findall(r"\]\(([^)#:]+)[^)]*\)", (ROOT / readme).read_text()))
    assert links
    assert [link for link in sorted(links) if not (ROOT / link).exists()] == []
