"""The embedded default: its processes share memory, and each may be killed without a loss."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.patience import wait_for
from tests.stack.running_up import running_up
from wangtimer.stack.arrivals import SECOND_MS, EverySecond, Journal
from wangtimer.stack.embedded import PROCESSES, EmbeddedStack
from wangtimer.stack.service import is_ready

pytestmark = pytest.mark.processes

# By itself each of the Python processes takes some 110 MB, and all of them 1,000 MB.
MOST_MB = 350
VALKEY = "valkey-server"


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[EmbeddedStack]:
    with running_up(tmp_path) as running:
        yield running


@pytest.fixture
def received(tmp_path: Path) -> Iterator[tuple[str, Journal]]:
    """The URL of a receiver, and what it gets."""
    out = tmp_path / "requests.jsonl"
    argv = [sys.executable, "-m", "wangtimer.stack.receiver", "--out", str(out)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        yield f"http://127.0.0.1:{receiver.stdout.readline().strip()}/", Journal(out)
        receiver.terminate()


def supervisor_of(stack: EmbeddedStack) -> int:
    return int((stack.directory.path / "lock").read_text())


def children_of(parent: int) -> dict[str, int]:
    """Return the processes that this one started, by their names."""
    ids = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return {Path(f"/proc/{pid}/comm").read_text().strip(): int(pid) for pid in ids}


def memory_mb(pid: int) -> float:
    """Return the memory of a process; what it shares with others counts in part."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1_024


def test_they_share_what_all_import_and_none_has_threads_before_it_is_forked(stack: EmbeddedStack) -> None:
    supervisor = supervisor_of(stack)
    children = children_of(supervisor)
    assert set(children) == {VALKEY, *PROCESSES}
    assert len(os.listdir(f"/proc/{supervisor}/task")) == 1
    workers_of_web = children_of(children["web"])
    memory = {pid: memory_mb(pid) for pid in (supervisor, *children.values(), *workers_of_web.values())}
    assert sum(memory.values()) < MOST_MB, memory


@pytest.mark.timeout(180)
def test_whichever_process_is_killed_no_firing_is_lost(
    stack: EmbeddedStack, received: tuple[str, Journal]
) -> None:
    url, journal = received
    timer = {"key": "ticks", "schedule": {"cron": "* * * * * *"}, "target": {"url": url}}
    headers = {"WangTimer-App": "default"}
    made = requests.post(f"{stack.api_url}/v1/timers", json=timer, headers=headers, timeout=10)
    assert made.status_code == 201, made.text
    ticks = EverySecond(str(made.json()["id"]), time.time() * SECOND_MS)
    for name in (VALKEY, *PROCESSES):
        kill(name, stack)
    last = int(time.time()) * SECOND_MS
    came: set[int] = set()

    def all_have_come() -> bool:
        came.update(arrival.fire_at for arrival in journal.new_arrivals())
        return ticks.expected(last) <= came

    assert wait_for(all_have_come, seconds=60), sorted(ticks.expected(last) - came)


def kill(name: str, stack: EmbeddedStack) -> None:
    """Kill the process, and wait until another one is in its place and does its work."""
    killed = children_of(supervisor_of(stack))[name]
    ready = stack.directory.run / f"{name}.ready"
    ready.unlink(missing_ok=name in (VALKEY, "web"))
    os.kill(killed, signal.SIGKILL)

    def is_back() -> bool:
        present = children_of(supervisor_of(stack)).get(name, killed)
        does_work = is_ready(stack.api_url) if name in (VALKEY, "web") else ready.exists()
        return present != killed and does_work

    assert wait_for(is_back, seconds=30), name
