"""A run of some tests against a copy of the repository."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.broken.witness import REPORT, TREE

# Longer than a test may take before tests/conftest.py takes it for one that hangs.
LONGEST_S = 1_200
# A mutation that only makes the code stumble shows nothing of the promise.
STUMBLES = (
    "NameError",
    "SyntaxError",
    "IndentationError",
    "ImportError",
    "ModuleNotFoundError",
    "UnboundLocalError",
)
FAILED = 1
# Of a run that was cut off, as `timeout` says it.
CUT_OFF = 124


@dataclass(frozen=True, slots=True)
class Session:
    """How a run ended: pytest's exit code, what it printed, and the first line of each test's failure.

    A fixture that failed is no failure of its test.
    """

    exit_code: int
    output: str
    failures: dict[str, str]

    def red(self, test: str) -> str:
        """Return how the test failed, in any of its parameters; "" where it did not."""
        if self.exit_code != FAILED:
            return ""
        of_test = [why for one, why in self.failures.items() if one == test or one.startswith(f"{test}[")]
        return next((why for why in of_test if not _is_stumble(why)), "")


def _is_stumble(why: str) -> bool:
    """Tell whether the error, named up to the first colon and sometimes with its module, is one of `STUMBLES`."""
    return why.partition(":")[0].rpartition(".")[2] in STUMBLES


def run(tree: Path, tests: Sequence[str], *options: str) -> Session:
    """Run tests in the copy at `tree`, with the copy's code in front of any installed one."""
    report = tree.with_suffix(".json")
    tested = {"PYTHONPATH": str(tree), TREE: str(tree), REPORT: str(report)}
    done = _pytest(tree, ["-p", "tests.broken.witness", *options, *tests], tested)
    phases = json.loads(report.read_text()) if report.exists() else []
    failures = {test: why for test, phase, outcome, why in phases if (phase, outcome) == ("call", "failed")}
    return Session(done.returncode, done.stdout, failures)


def not_found(tree: Path, tests: Sequence[str]) -> str:
    """Return what pytest says of tests that are not in this tree; "" where all are."""
    done = _pytest(tree, ["--collect-only", *tests], {"PYTHONPATH": str(tree)})
    return done.stdout if done.returncode else ""


def _pytest(
    tree: Path, arguments: Sequence[str], variables: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run pytest in a tree, with this process's environment but for what would change the run.

    A run that lasts longer than `LONGEST_S` is cut off: nothing went red in it.
    """
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "WANGTIMER_"))
    }
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    try:
        return subprocess.run(
            argv,
            cwd=tree,
            env=inherited | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST_S,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, CUT_OFF, f"cut off after {LONGEST_S} s")
