"""Every example on the pages is run by some test, or says why not."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.test_cli_page import command_of
from tests.docs.blocks import ROOT, Block, blocks, name_of, pages
from tests.docs.test_pages_run import OWN_TESTS
from tests.in_one import in_one
from wangtimer.base.settings import ENV_PREFIX, Settings

# Nothing to run: a drawing, or what something prints.
SHOWN = {"text"}
RUN = {"sh", "python"}
# How many blocks no test runs. One more has to be meant: it wants a reason on the page, and this number changed.
NOT_RUN = 24
# Read by the client, by Compose, or by no process of the service.
OTHER_VARIABLES = {
    "WANGTIMER_URL",
    "WANGTIMER_APP",
    "WANGTIMER_KEY",
    "WANGTIMER_KEY_FILE",
    "WANGTIMER_VERSION",
}
# Pages that tell of the past, of the API's own examples or of variables that are no settings any more.
PAST = {"docs/benchmarks.md", "docs/reliability.md"}

PAGES = pages()
GUIDES = [page for page in PAGES if re.match(r"README|docs/(tutorial|how-to|reference)/", name_of(page))]


def all_blocks() -> list[tuple[Path, Block]]:
    return [(page, block) for page in PAGES for block in blocks(page)]


@in_one(("page", "block"), all_blocks())
def test_it_is_run_or_says_why_not(page: Path, block: Block) -> None:
    assert block.language, "a block names its language; text is for what is only shown"
    if block.marker == "not run":
        assert len(block.value.split()) > 2, "a reason is a few words"
    elif block.marker == "checked by":
        assert (ROOT / block.value).exists()
        assert page.name in (ROOT / block.value).read_text()
    elif block.language == "json":
        assert block.marker == "answer" or name_of(page) in OWN_TESTS
    elif block.language not in SHOWN:
        assert block.language in RUN or name_of(page) in OWN_TESTS, "no test runs this language: mark it"


def test_few_are_not_run() -> None:
    reasons = Counter(block.value for _, block in all_blocks() if block.marker == "not run")
    assert reasons.total() == NOT_RUN, "\n".join(reasons)


@in_one("page", GUIDES)
def test_code_stands_in_fences_with_a_language(page: Path) -> None:
    without = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.M | re.S)
    assert re.findall(r"(?<=\n\n) {4}\S.*", without) == []


@in_one("page", [page for page in PAGES if name_of(page) not in PAST])
def test_every_setting_it_names_is_one(page: Path) -> None:
    if "/decisions/" in name_of(page):
        return
    named = set(re.findall(rf"\b{ENV_PREFIX}[A-Z_]*[A-Z]\b", page.read_text())) - OTHER_VARIABLES
    assert {name.removeprefix(ENV_PREFIX).lower() for name in named} <= set(Settings.model_fields)


COMMANDS = sorted(
    {
        (name_of(page), code)
        for page in GUIDES
        for code in re.findall(r"`(wangtimer [a-z][^`\n]*)`", page.read_text())
    }
)


@in_one(("page", "example"), COMMANDS)
def test_every_command_it_names_can_be_typed(
    page: str, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANGTIMER_APP", "shop")
    _, command, arguments = command_of(example.replace("ID", "7-1795207483000"))
    assert command.make_context(command.name, arguments).command is command


def test_a_marker_belongs_to_the_block_below_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- not run: it takes a day -->\n```sh\nmake bench\n```\n\n```text\na\n```\n")
    first, second = blocks(page)
    assert (first.marker, first.value, first.text) == ("not run", "it takes a day", "make bench\n")
    assert (second.marker, second.language) == ("", "text")
