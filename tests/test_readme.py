"""The README is true where a test can tell."""

import re
from pathlib import Path

import pytest

from wangtimer.cli.admin.settings import markdown_table

README = Path(__file__).parents[1] / "README.md"
MAKEFILE = README.with_name("Makefile")


def test_the_settings_table_is_that_of_the_code() -> None:
    between = re.search(r"<!-- settings -->\n(.*?)\n<!-- /settings -->", README.read_text(), re.DOTALL)
    assert between is not None
    assert between[1] == markdown_table(), "print it anew: wangtimer settings --markdown"


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make ([a-z0-9-]+)", README.read_text()))))
def test_every_make_target_it_names_exists(target: str) -> None:
    assert re.search(rf"^{target}:", MAKEFILE.read_text(), re.MULTILINE)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README.read_text()))))
def test_every_file_it_links_to_exists(link: str) -> None:
    assert (README.parent / link).exists()
