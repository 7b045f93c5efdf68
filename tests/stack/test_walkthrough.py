"""The walkthrough of the compatible paths does what it says when it is pasted, in both languages."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import wait_for
from tests.stack.test_demo import up, with_keys
from wangtimer.stack.ports import free_port

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
PAGES = ("docs/api.md", "docs/api.zh-CN.md")


def steps(page: str) -> list[str]:
    """Return the walkthrough's steps, as they are pasted; the comments that number them stay."""
    (block,) = re.findall(r"<!-- walkthrough -->\n```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    return re.split(r"^(?=# \d)", block, flags=re.MULTILINE)[1:]


@pytest.fixture
def target(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """A target's port, and the file of what came to it."""
    out = tmp_path / "requests.jsonl"
    argv = [sys.executable, "-m", "wangtimer.stack.receiver", "--port", "0", "--out", str(out)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield int(process.stdout.readline()), out
    process.terminate()
    process.wait(5)


@pytest.mark.timeout(180)
def test_the_walkthrough_runs_as_it_is_pasted(tmp_path: Path, target: tuple[int, Path]) -> None:
    port, (target_port, out) = free_port(), target
    service = up(tmp_path, port, with_keys())
    try:
        service.await_line("Ctrl-C", seconds=60)
        for page in PAGES:
            walk(page, port, target_port, out, tmp_path)
    finally:
        service.end()


def walk(page: str, port: int, target_port: int, out: Path, folder: Path) -> None:
    """Paste the steps up to the call into one shell, and the others once the call has come."""
    before = out.read_text().count("\n")
    shell = shutil.which("bash") or "sh"
    pasted = subprocess.Popen(
        [shell], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert pasted.stdin is not None
    made, enabled, called, listed, ended = (
        # A timer of its own in each language: a name is free only once.
        step.replace("localhost:5000", f"localhost:{port}")
        .replace("127.0.0.1:8000", f"127.0.0.1:{target_port}")
        .replace(".wangtimer/key", f"{folder}/data/key")
        .replace("close-unpaid-orders", f"close-unpaid-orders-{PAGES.index(page)}")
        for step in steps(page)
    )
    # The answers come one a line.
    pasted.stdin.write(f"{made}{enabled}\necho\n{called}")
    pasted.stdin.flush()
    has_come = wait_for(lambda: out.read_text().count("\n") > before, seconds=20)
    answers, _ = pasted.communicate(f"{listed}\necho\n{ended}", timeout=30)
    assert [json.loads(line)["code"] for line in answers.split("\n") if line] == [0, 0, 0], answers
    assert has_come, f"{page}: nothing was called"
    assert json.loads(out.read_text().splitlines()[-1])["path"] == "/close"
