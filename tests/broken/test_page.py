"""docs/promises.md is what the patches and the sections say, and names only what there is."""

import re
from pathlib import Path

import pytest

from tests.broken.page import page
from tests.broken.promises import BadHeader, promises, read
from tests.broken.sections import SECTIONS, Section, section_of
from tests.broken.tree import ROOT
from tests.chaos.rows import ROWS

PAGE = ROOT / "docs" / "promises.md"


def test_the_page_is_that_of_the_patches() -> None:
    assert PAGE.read_text() == page(promises()), (
        "write it anew: python -m tests.broken.page > docs/promises.md"
    )


def test_it_names_each_patch_once_and_each_test_of_it() -> None:
    text = PAGE.read_text()
    for promise in promises():
        (row,) = [line for line in text.splitlines() if f"tests/broken/{promise.patch.name})" in line]
        assert re.findall(r"`(tests/[^`]+)`", row) == list(promise.tests)


def test_each_section_has_promises() -> None:
    assert {section_of(promise).name for promise in promises()} == {section.name for section in SECTIONS}


@pytest.mark.parametrize("section", [one for one in SECTIONS if one.promised], ids=lambda one: one.name)
def test_users_are_promised_it_in_these_words(section: Section) -> None:
    assert section.promised in " ".join((ROOT / "docs/explanation/guarantees.md").read_text().split())


def test_every_fault_it_names_is_a_row_of_make_chaos() -> None:
    assert {row for section in SECTIONS for row in section.rows} <= {row.name for row in ROWS}


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)", PAGE.read_text()))))
def test_every_file_it_links_to_exists(link: str) -> None:
    assert (PAGE.parent / link).exists()


@pytest.mark.parametrize("words", ["nothing is lost", "Nowhere: nothing is lost"])
def test_a_promise_of_no_section_is_refused(tmp_path: Path, words: str) -> None:
    patch = tmp_path / "a-promise.patch"
    patch.write_text(f"Promise: {words}\nBreaks: it\nRed: tests/test_settings.py::test_it\n\n--- a\n")
    with pytest.raises(BadHeader, match=r"a-promise\.patch"):
        section_of(read(patch))
