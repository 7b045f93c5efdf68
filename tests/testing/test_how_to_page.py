"""docs/how-to/test-your-timers.md: its files, written down and run as a user does."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.in_one import in_one
from wangtimer.testing import Answer, MadeCall, WangTimer

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "test-your-timers.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A folder with the page's files; no module of it is left behind."""
    files = defaultdict(str)
    for name, code in EXAMPLES:
        files[name] += code
    for name, code in files.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    yield tmp_path
    for name in files:
        sys.modules.pop(name.removesuffix(".py"), None)


@pytest.mark.test_all
def test_its_examples_pass(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # In this process: to load the service once more would take longer than all its examples.
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(project)
    code = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(project), str(project)])
    told = capfd.readouterr().out
    assert code == 0, told
    assert f"{TEXT.count('def test_')} passed" in told


def test_every_example_is_a_file() -> None:
    assert len(EXAMPLES) == TEXT.count("```python")


@in_one("name", sorted(set(re.findall(r"`(?:wangtimer\.)?([a-z_]+)[(`]", TEXT))))
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
