"""Collects what the rows measure; the table is printed at the end, and written where CHAOS_REPORT says."""

import os
from pathlib import Path

import pytest

from tests.chaos.report import table, write_page
from tests.chaos.run import Measured

_measured: list[Measured] = []


@pytest.fixture
def measured() -> list[Measured]:
    """The rows so far; append to it."""
    return _measured


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _measured:
        return
    terminalreporter.section("chaos")
    terminalreporter.write_line(table(_measured))
    if path := os.environ.get("CHAOS_REPORT"):
        write_page(_measured, Path(path), os.environ.get("CHAOS_COMMAND", "make chaos"))
        terminalreporter.write_line(f"written to {path}")
