"""Every command and program on the pages does what the page says when it is typed, against a running service."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import Block, blocks, name_of, pages
from tests.docs.terminals import SECONDS, Page, Place
from tests.patience import wait_for
from tests.stack.test_demo import up, with_keys
from wangtimer.client import Client
from wangtimer.client.api_key import key_in_file
from wangtimer.stack.ports import free_port

pytestmark = pytest.mark.processes

RUN = ("sh", "python")
# Pages whose examples a test of their own reads.
OWN_TESTS = {
    "docs/api.md": "tests/docs/test_requests.py",
    "docs/api.zh-CN.md": "tests/test_translations.py",
    "docs/v1.md": "tests/docs/test_requests.py",
    "docs/cli.md": "tests/cli/test_cli_page.py",
    "docs/sdk.md": "tests/client/test_sdk_page.py",
    "docs/how-to/test-your-timers.md": "tests/testing/test_how_to_page.py",
}


def is_run(block: Block) -> bool:
    return block.language in RUN and block.marker not in ("not run", "checked by")


# What users paste first is tried at every change.
EVERY_RUN = ("README.md",)
PAGES = [page for page in pages() if name_of(page) not in OWN_TESTS and any(map(is_run, blocks(page)))]


@dataclass(frozen=True, slots=True)
class Service:
    port: int
    data: Path


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder, port = tmp_path_factory.mktemp("service"), free_port()
    with pytest.MonkeyPatch.context() as patch:
        # A call that fails has failed after a second.
        patch.setenv("WANGTIMER_MOST_ATTEMPTS", "2")
        running = up(folder, port, with_keys())
    try:
        running.await_line("Ctrl-C", seconds=60)
        yield Service(port, folder / "data")
    finally:
        running.end()


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=(pytest.mark.every_run,) if name_of(page) in EVERY_RUN else ())
        for page in PAGES
    ],
    ids=map(name_of, PAGES),
)
def test_its_examples_run_as_they_are_typed(page: Path, service: Service, tmp_path: Path) -> None:
    place = Place(service.port, free_port(), f"shop-{PAGES.index(page)}")
    give_key(service, place.app, tmp_path / ".wangtimer")
    with Page(place, tmp_path) as typed:
        run(page, typed)


def give_key(service: Service, app: str, folder: Path) -> None:
    """Make the page's app, and the data directory as the page sees it: with the key of this app."""
    folder.mkdir()
    for one in service.data.iterdir():
        if one.name != "key":
            (folder / one.name).symlink_to(one)
    operator = key_in_file(service.data / "operator-key")
    with Client(f"http://127.0.0.1:{service.port}", key=operator) as client:
        client.create_app(app)
        made = client.create_app_key(app, "the page")
    (folder / "key").write_text(f"Authorization: Bearer {made['key']}\n")


def run(page: Path, typed: Page) -> None:
    output = ""
    begun: list[Block] = []
    for block in blocks(page):
        where = f"{name_of(page)}:{block.line}"
        if block.marker == "file":
            typed.keep(block)
        elif block.marker == "answer":
            assert missing(json.loads(block.text), last_answer(output)) == [], f"{where}: {output}"
        elif block.marker == "second terminal":
            typed.begin(block)
            begun.append(block)
        elif block.marker == "until":
            output = until(block, typed, where)
        elif is_run(block):
            output, code = typed.typed(block)
            assert (code != 0) == (block.marker == "fails"), f"{where} ended with {code}: {output}"
    for block in begun:
        assert typed.waits_for(block, block.value), f"{name_of(page)}:{block.line}: {typed.shown(block)}"


def last_answer(output: str) -> Any:
    """Return the last JSON value of an output; answers of the service have no line end between them."""
    value, rest = None, output.strip()
    while rest:
        value, end = json.JSONDecoder().raw_decode(rest)
        rest = rest[end:].lstrip()
    return value


def until(block: Block, typed: Page, where: str) -> str:
    """Type a block again and again until its output has the words of its marker; returns that output."""
    last = ""

    def has_come() -> bool:
        nonlocal last
        last, _ = typed.typed(block)
        return block.value in last

    assert wait_for(has_come, SECONDS), f"{where} has no {block.value!r}: {last}"
    return last


def missing(shown: Any, came: Any, at: str = "") -> list[str]:
    """Return what is shown and did not come: a field, or a value of another type.

    Of a list that is shown, each entry is held against the one that came in its place.
    """
    if isinstance(shown, dict) and isinstance(came, dict):
        absent = [f"{at}/{name}" for name in shown if name not in came]
        return absent + [
            one for name in shown if name in came for one in missing(shown[name], came[name], f"{at}/{name}")
        ]
    if isinstance(shown, list) and isinstance(came, list):
        if len(shown) > len(came):
            return [f"{at}: {len(came)} entries came"]
        return [
            one
            for n, (there, here) in enumerate(zip(shown, came, strict=False))
            for one in missing(there, here, f"{at}/{n}")
        ]
    return [] if type(shown) is type(came) else [f"{at}: {came!r} came"]
