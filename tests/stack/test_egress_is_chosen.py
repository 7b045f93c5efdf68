"""Processes that need the rules of egress do not start without them; `wangtimer up` brings its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wangtimer.stack.child import inherited_environment
from wangtimer.stack.ports import free_port
from wangtimer.stack.procfile import read_commands

pytestmark = pytest.mark.processes


def started(name: str, tmp_path: Path, seconds: float, **variables: str) -> tuple[int | None, str]:
    """Run a line of the Procfile; return its exit code, None where it went on, and what it said."""
    environment = inherited_environment() | {
        "WANGTIMER_DATABASE_URL": f"sqlite:///{tmp_path / 'w.db'}",
        "WANGTIMER_STORE_URL": f"redis://127.0.0.1:{free_port()}/0",
        "WANGTIMER_BROKER_URL": f"redis://127.0.0.1:{free_port()}/0",
        "WANGTIMER_HTTP_BIND": f"127.0.0.1:{free_port()}",
    }
    environment.pop("WANGTIMER_EGRESS", None)
    argv = read_commands()[name].argv
    program = str(Path(sys.executable).parent / argv[0])
    process = subprocess.Popen(
        [program, *argv[1:]],
        env=environment | variables,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return None, process.communicate()[0]
    return process.returncode, said


@pytest.mark.parametrize("name", ["web", "callback"])
def test_without_rules_it_does_not_start_and_one_line_says_what_to_write(name: str, tmp_path: Path) -> None:
    code, said = started(name, tmp_path, 60)
    assert code not in (0, None), said
    (line,) = [one for one in said.splitlines() if "WANGTIMER_EGRESS" in one]
    assert line.startswith("wangtimer: WANGTIMER_EGRESS is not set: write WANGTIMER_EGRESS=public")
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["web", "callback"])
def test_rules_that_cannot_be_read_stop_it_with_one_line(name: str, tmp_path: Path) -> None:
    code, said = started(name, tmp_path, 60, WANGTIMER_EGRESS="public,10.0.0.1/8")
    assert code not in (0, None), said
    (line,) = [one for one in said.splitlines() if "WANGTIMER_EGRESS" in one]
    assert "write 10.0.0.0/8" in line
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["scheduler"])
def test_a_process_that_makes_no_calls_needs_none(name: str, tmp_path: Path) -> None:
    code, said = started(name, tmp_path, 15)
    assert code is None, said
    assert "WANGTIMER_EGRESS" not in said
