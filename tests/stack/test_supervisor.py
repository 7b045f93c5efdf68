"""Children are kept running, end in order and within bounds, and never outlive the supervisor."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.patience import wait_for
from tests.stack.processes import is_alive, living_with
from wangtimer.stack.child import ChildSpec, inherited_environment
from wangtimer.stack.supervisor import StartError, StopRequest, Supervisor

pytestmark = pytest.mark.processes

IGNORES_SIGTERM = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('up', flush=True)
time.sleep(60)
"""
FORKS = """
import subprocess, time
print(subprocess.Popen(['sleep', '60']).pid, flush=True)
time.sleep(60)
"""
NOTES_ITS_END = """
import pathlib, signal, sys, time
def end(*_):
    with open('ends', 'a') as file: file.write(sys.argv[1] + ' ')
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
pathlib.Path(sys.argv[1]).touch()
time.sleep(60)
"""


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(said: list[str]) -> Iterator[Supervisor]:
    supervisor = Supervisor(said.append)
    yield supervisor
    supervisor.stop(seconds=0)


def python_child(folder: Path, name: str, code: str, *words: str) -> ChildSpec:
    return ChildSpec(
        name=name,
        argv=(sys.executable, "-c", code, *words),
        log=folder / f"{name}.log",
        working_directory=folder,
        environment=inherited_environment(),
    )


def test_a_child_that_is_killed_is_started_again_after_a_pause(
    supervisor: Supervisor, said: list[str], tmp_path: Path
) -> None:
    first = supervisor.start(python_child(tmp_path, "worker", "import time; time.sleep(60)"))
    os.kill(first.pid, signal.SIGKILL)

    def runs_again() -> bool:
        supervisor.restart_dead()
        child = supervisor.children()["worker"]
        return child.pid != first.pid and not child.has_ended()

    assert wait_for(runs_again, seconds=5)
    assert len(said) == 1
    assert "worker was killed by SIGKILL; it is started again in 0.5 s" in said[0]


def test_a_child_that_keeps_dying_is_started_less_and_less_often(
    supervisor: Supervisor, said: list[str], tmp_path: Path
) -> None:
    supervisor.start(replace(python_child(tmp_path, "worker", ""), argv=("false",)))

    def has_died_three_times() -> bool:
        supervisor.restart_dead()
        return len(said) == 3

    assert wait_for(has_died_three_times, seconds=10)
    pauses = [line.split(" again in ")[1].split(" s")[0] for line in said]
    assert pauses == ["0.5", "1", "2"]


def test_what_a_dead_child_left_running_is_ended_before_it_is_started_again(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    child = supervisor.start(python_child(tmp_path, "web", FORKS))
    assert wait_for(lambda: child.spec.log.read_text().endswith("\n"), seconds=5)
    left_behind = int(child.spec.log.read_text())
    os.kill(child.pid, signal.SIGKILL)

    def is_buried() -> bool:
        supervisor.restart_dead()
        return child.process.returncode is not None

    assert wait_for(is_buried, seconds=5)
    assert wait_for(lambda: not is_alive(left_behind), seconds=2)


def test_a_child_that_ends_at_start_is_reported_with_its_last_lines(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    supervisor.start(python_child(tmp_path, "web", "import sys; sys.exit('port 80: permission denied')"))
    with pytest.raises(StartError, match=r"web ended at start, see .*web\.log:\nport 80: permission denied"):
        wait_for(lambda: not supervisor.all_ready(), seconds=5)


def test_a_program_that_is_missing_is_reported_by_name(supervisor: Supervisor, tmp_path: Path) -> None:
    with pytest.raises(StartError, match="web: cannot run no-such-program"):
        supervisor.start(replace(python_child(tmp_path, "web", ""), argv=("no-such-program",)))


def test_a_child_is_ready_once_it_touches_its_file_and_not_by_an_old_one(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    ready, go = tmp_path / "ready", tmp_path / "go"
    ready.touch()
    code = f"""
import pathlib, time
while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)
pathlib.Path({str(ready)!r}).touch(); time.sleep(60)
"""
    supervisor.start(replace(python_child(tmp_path, "worker", code), ready_file=ready))
    assert not supervisor.all_ready()
    assert supervisor.unready() == ["worker"]
    go.touch()
    assert wait_for(supervisor.all_ready, seconds=5)


def test_lower_ranks_end_before_higher_ones(supervisor: Supervisor, tmp_path: Path) -> None:
    for name, rank in (("server", 2), ("worker", 1), ("web", 0)):
        supervisor.start(python_child(tmp_path, name, NOTES_ITS_END, name), rank)
    assert wait_for(
        lambda: all((tmp_path / name).exists() for name in ("web", "worker", "server")), seconds=5
    )
    supervisor.stop(seconds=5)
    assert (tmp_path / "ends").read_text().split() == ["web", "worker", "server"]


def test_a_child_that_ignores_sigterm_is_killed_when_its_time_is_up(
    supervisor: Supervisor, said: list[str], tmp_path: Path
) -> None:
    child = supervisor.start(python_child(tmp_path, "worker", IGNORES_SIGTERM))
    assert wait_for(lambda: "up" in child.spec.log.read_text(), seconds=5)
    supervisor.stop(seconds=0.3)
    assert not is_alive(child.pid)
    assert said == ["worker did not end within 0.3 s and is killed"]


def test_a_stop_request_is_noted_and_the_old_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert wait_for(lambda: stop.has_come, seconds=1)
    assert signal.getsignal(signal.SIGTERM) is before


SUPERVISES = """
import sys, time
from pathlib import Path
from wangtimer.stack.child import ChildSpec, inherited_environment
from wangtimer.stack.supervisor import Supervisor
folder = Path(sys.argv[1])
(folder / 'app.py').write_text('def app(environ, start): start("200 OK", []); return [b"ok"]')
commands = {
    'sleeper': ('sleep', '600'),
    'stubborn': (sys.executable, '-c', sys.argv[2]),
    'web': ('gunicorn', '--no-control-socket', '--workers', '2', '--threads', '4',
            '--bind', f'unix:{folder}/web.sock', 'app:app'),
}
supervisor = Supervisor()
for name, argv in commands.items():
    if name in sys.argv[3:]:
        supervisor.start(ChildSpec(name, argv, folder / (name + '.log'), folder, inherited_environment()))
print('started', flush=True)
supervisor.tend_until(lambda: False)
"""


def supervising_process(folder: Path, *names: str) -> "tuple[subprocess.Popen[str], str]":
    """Start a supervisor of the named children; return it and what marks its descendants."""
    mark = f"WANGTIMER_TEST_MARK={folder}"
    name, _, value = mark.partition("=")
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISES, str(folder), IGNORES_SIGTERM, *names],
        env={**os.environ, name: value},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process, mark


def test_after_sigkill_of_the_supervisor_no_child_is_left(tmp_path: Path) -> None:
    process, mark = supervising_process(tmp_path, "sleeper", "stubborn")
    assert wait_for(lambda: len(living_with(mark)) == 3, seconds=10)
    assert wait_for(lambda: "up" in (tmp_path / "stubborn.log").read_text(), seconds=10)
    process.kill()
    process.wait()
    assert wait_for(lambda: not living_with(mark), seconds=2)


def test_after_sigkill_of_the_supervisor_no_gunicorn_worker_is_left_within_ten_seconds(
    tmp_path: Path,
) -> None:
    process, mark = supervising_process(tmp_path, "web")
    # the supervisor, gunicorn's master and its two workers
    assert wait_for(lambda: len(living_with(mark)) == 4, seconds=10)
    process.kill()
    process.wait()
    assert wait_for(lambda: not living_with(mark), seconds=10)
