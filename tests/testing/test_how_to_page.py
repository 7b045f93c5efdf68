"""docs/how-to/test-your-timers.md: its files, written down and run as a user does."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from wangtimer.testing import Answer, MadeCall, WangTimer

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "test-your-timers.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the page's files."""
    files = defaultdict(str)
    for name, code in EXAMPLES:
        files[name] += code
    for name, code in files.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    return tmp_path


def run(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=project, capture_output=True, text=True, timeout=110
    )


def test_its_examples_pass(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{TEXT.count('def test_')} passed" in done.stdout


def test_every_example_is_a_file() -> None:
    assert len(EXAMPLES) == TEXT.count("```python")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(?:wangtimer\.)?([a-z_]+)[(`]", TEXT))))
def test_every_name_it_names_is_there(name: str) -> None:
    has = {*dir(WangTimer), *MadeCall.__dataclass_fields__, *Answer.__dataclass_fields__}
    others = {
        "wangtimer",
        "make_wangtimer",
        "wangtimer_client",
        "start",
        "timezone",
        "url",
        "follow",
        "assert",
        "testing",
    }
    assert name in has | others
