"""A forked child is what the same program would be, run by itself; but what was imported is in memory once."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import wait_for
from wangtimer.stack.procfile import read_commands

pytestmark = pytest.mark.processes

# A process with one thread, as a forking one is. It runs the module `role` and prints how that ended.
FORKS = """
import os, sys
from pathlib import Path
from wangtimer.stack.child import ChildSpec, launch
folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))
held = os.open(folder, os.O_RDONLY)
os.set_inheritable(held, True)
child = launch(ChildSpec(
    'callback', ('python', '-m', 'role', 'word'), folder / 'log', folder / 'data', {'PATH': '/bin', 'ONLY': 'this'},
    forked_module='role',
))
print(child.pid, flush=True)
print(child.process.wait(), 'and goes on', flush=True)
"""


class Forking:
    def __init__(self, folder: Path, role: str) -> None:
        (folder / "data").mkdir()
        (folder / "role.py").write_text(role)
        self._log = folder / "log"
        self.process = subprocess.Popen(
            [sys.executable, "-c", FORKS, str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self._out = self.process.stdout
        self.child_pid = int(self._out.readline())

    def end(self) -> str:
        """Return how the child ended."""
        ended, words, _ = self._out.readline().partition(" and goes on\n")
        assert words, "the child went on with the work of its parent"
        return ended

    def log(self) -> str:
        return self._log.read_text()


@pytest.fixture
def forking(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Forking]:
    process = Forking(tmp_path, request.param)
    yield process
    process.process.kill()
    process.process.wait()


@pytest.mark.parametrize(
    ("forking", "code", "words"),
    [
        ("print('done')", "0", "done\n"),
        ("import sys; sys.exit(3)", "3", ""),
        ("raise SystemExit('wangtimer: no such place')", "1", "wangtimer: no such place\n"),
        ("1 / 0", "1", "ZeroDivisionError: division by zero\n"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "-15", ""),
        (
            "import threading, time; "
            "threading.Thread(target=lambda: (time.sleep(0.3), print('its thread ended'))).start()",
            "0",
            "its thread ended\n",
        ),
        ("import atexit; atexit.register(lambda: print('at its exit'))", "0", "at its exit\n"),
    ],
    indirect=["forking"],
)
def test_it_ends_as_a_program_does(forking: Forking, code: str, words: str) -> None:
    assert forking.end() == code
    assert forking.log().endswith(words)


SAYS_WHAT_IT_IS = """
import json, os, signal, sys, threading
print(json.dumps({
    'words': sys.argv, 'environment': dict(os.environ), 'folder': os.getcwd(), 'name': open('/proc/self/comm').read(),
    'session': os.getsid(0) == os.getpid(), 'files': sorted(map(int, os.listdir('/proc/self/fd')))[:-1],
    'stdin': sys.stdin.read(), 'blocked': list(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    'term': signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, 'threads': threading.active_count(),
}))
"""


@pytest.mark.parametrize("forking", [SAYS_WHAT_IT_IS], indirect=True)
def test_it_has_its_own_words_environment_folder_session_and_output_and_no_file_of_its_parent(
    forking: Forking, tmp_path: Path
) -> None:
    assert forking.end() == "0"
    said: dict[str, Any] = json.loads(forking.log())
    assert said["words"][1:] == ["-m", "role", "word"]
    assert said["environment"] == {"PATH": "/bin", "ONLY": "this"}
    assert said["folder"] == str(tmp_path / "data")
    assert said["name"] == "callback\n"
    assert said["session"]
    assert said["files"] == [0, 1, 2]
    assert said["stdin"] == ""
    assert (said["blocked"], said["term"], said["threads"]) == ([], True, 1)


@pytest.mark.parametrize("forking", ["import time; time.sleep(60)"], indirect=True)
def test_it_dies_with_its_parent(forking: Forking) -> None:
    forking.process.kill()
    assert wait_for(lambda: not Path(f"/proc/{forking.child_pid}/cmdline").exists(), seconds=5)


@pytest.mark.parametrize("forking", ["import time; time.sleep(60)"], indirect=True)
def test_it_is_killed_as_any_process(forking: Forking) -> None:
    os.kill(forking.child_pid, signal.SIGKILL)
    assert forking.end() == "-9"


def test_each_process_of_the_embedded_default_is_a_module_and_flower_is_none() -> None:
    modules = {name: command.module for name, command in read_commands().items()}
    workers = dict.fromkeys(("beat", "scheduler", "migrate", "trigger", "callback"), "celery")
    assert modules == {**workers, "web": "gunicorn", "stream": "wangtimer.stream", "flower": None}
