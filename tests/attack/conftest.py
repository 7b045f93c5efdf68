"""One ground for all rows; totals are printed at the end, and the page is written where ATTACK_REPORT says."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.attack import Tried
from tests.attack.ground import Ground
from tests.attack.page import page, totals
from tests.attack.table import SECTIONS

_tried: list[Tried] = []


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with Ground(tmp_path_factory.mktemp("attack")) as made:
        yield made


@pytest.fixture
def tried() -> list[Tried]:
    """The rows so far; append to it."""
    return _tried


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _tried:
        return
    terminalreporter.section("attacks")
    for one in _tried:
        if not one.is_held:
            terminalreporter.write_line(f"NOT HELD: {one.attack.tried}")
            terminalreporter.write_line(f"    must happen: {one.attack.expected}")
            terminalreporter.write_line(f"    happened:    {one.happened}")
    by_attack = {one.attack: one for one in _tried}
    if len(by_attack) < sum(len(section.attacks) for section in SECTIONS):
        terminalreporter.write_line(f"{len(by_attack)} rows of the table were tried; no page is written")
        return
    terminalreporter.write_line(totals(SECTIONS, by_attack))
    if path := os.environ.get("ATTACK_REPORT"):
        Path(path).write_text(page(SECTIONS, by_attack), encoding="utf-8")
        terminalreporter.write_line(f"written to {path}")
