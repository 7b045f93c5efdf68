"""A pytest plugin that writes down how each test ended, once it has made sure that the copy is what is tested."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TREE, REPORT = "BROKEN_TREE", "BROKEN_REPORT"


class Witness:
    """Notes every phase of every test: `[node id, phase, outcome, first line of the failure]`."""

    def __init__(self, report: Path) -> None:
        self._report = report
        self._seen: list[tuple[str, str, str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = str(crash.message if crash else report.longrepr or "").partition("\n")[0]
        self._seen.append((report.nodeid, report.when or "", report.outcome, message))

    def pytest_sessionfinish(self) -> None:
        self._report.write_text(json.dumps(self._seen))


def pytest_configure(config: pytest.Config) -> None:
    tree = Path(os.environ[TREE])
    for where in (_imported_here(), _imported_by_a_child()):
        if not where.is_relative_to(tree):
            raise pytest.UsageError(f"{where} is tested, not the copy in {tree}")
    # Under xdist what the workers saw reaches the main process too.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Witness(Path(os.environ[REPORT])))


def _imported_here() -> Path:
    import wangtimer

    return Path(wangtimer.__file__ or "")


def _imported_by_a_child() -> Path:
    """Return what the processes import that tests start, wherever they start them."""
    question = [sys.executable, "-c", "import wangtimer; print(wangtimer.__file__)"]
    return Path(subprocess.run(question, cwd="/", check=True, capture_output=True, text=True).stdout.strip())
