"""docs/promises.md is what the mutations and the sections say, and names only what there is."""

import re

import pytest

from tests.broken.page import page
from tests.broken.promises import by_section, promises
from tests.broken.sections import SECTIONS, Section
from tests.broken.tree import ROOT
from tests.chaos.rows import ROWS

PAGE = ROOT / "docs" / "promises.md"


def test_the_page_is_that_of_the_mutations() -> None:
    assert PAGE.read_text() == page(by_section()), (
        "write it anew: python -m tests.broken.page > docs/promises.md"
    )


def test_it_names_each_promise_once_and_each_test_of_it() -> None:
    text = PAGE.read_text()
    for promise in promises():
        (row,) = [line for line in text.splitlines() if f"| `{promise.name}`: " in line]
        assert re.findall(r"`(tests/[^`]+)`", row) == list(promise.tests)


def test_each_section_has_promises() -> None:
    assert set(by_section()) == {section.name for section in SECTIONS}


@pytest.mark.parametrize("section", [one for one in SECTIONS if one.promised], ids=lambda one: one.name)
def test_users_are_promised_it_in_these_words(section: Section) -> None:
    assert section.promised in " ".join((ROOT / "docs/explanation/guarantees.md").read_text().split())


def test_every_fault_it_names_is_a_row_of_make_chaos() -> None:
    assert {row for section in SECTIONS for row in section.rows} <= {row.name for row in ROWS}


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)", PAGE.read_text()))))
def test_every_file_it_links_to_exists(link: str) -> None:
    assert (PAGE.parent / link).exists()
