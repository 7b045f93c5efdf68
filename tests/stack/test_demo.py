"""`make demo` and `wangtimer up` as a newcomer runs them: whole, without a terminal, and gone afterwards."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.patience import wait_for
from tests.stack.commands import Command
from tests.stack.running_up import up
from wangtimer.client.api_key import Bearer, key_in_file
from wangtimer.stack.ports import free_port

pytestmark = pytest.mark.processes


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Command]:
    command = Command(tmp_path, "-m", "wangtimer.stack.demo", environment=with_keys())
    yield command
    command.end()


def with_keys() -> dict[str, str]:
    """Return an environment in which every request needs a key, as a newcomer's does."""
    return {name: value for name, value in os.environ.items() if name != "WANGTIMER_AUTH"}


@pytest.mark.timeout(90)
def test_the_demo_shows_ten_callbacks_and_leaves_nothing_behind(demo: Command, tmp_path: Path) -> None:
    code = demo.process.wait(75)
    assert code == 0, demo.output()
    assert "lost 0, duplicates 0, early 0" in demo.output()
    assert " once " in demo.output()
    assert demo.output().count("ms late") >= 10
    assert demo.living() == []
    assert list(tmp_path.glob("wangtimer-*")) == []


@pytest.mark.parametrize("when", ["starting", "ready after", "ms late"])
def test_an_interrupted_demo_leaves_nothing_behind(demo: Command, tmp_path: Path, when: str) -> None:
    demo.await_line(when, seconds=40)
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(30) == 130
    assert demo.living() == []
    assert "Traceback" not in demo.output()
    assert list(tmp_path.glob("wangtimer-*")) == []


def test_nobody_else_reads_the_files_of_a_data_directory_that_was_there_before(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)
    running = up(tmp_path, free_port(), with_keys())
    try:
        running.await_line("Ctrl-C", seconds=60)
        files = {path.name: path.stat().st_mode & 0o077 for path in data.rglob("*") if path.is_file()}
        assert {"wangtimer.db", "key", "web.log", "valkey.log"} <= set(files)
        assert {name for name, others_may in files.items() if others_may} == set()
    finally:
        running.end()


def test_a_timer_is_still_there_after_a_restart_even_after_sigkill(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/api/timer/v1/def"
    first = up(tmp_path, port, with_keys())
    try:
        first.await_line("Ctrl-C", seconds=30)
        notify = {"url": "http://127.0.0.1:9/", "method": "POST"}
        key_file = tmp_path / "data" / "key"
        assert key_file.stat().st_mode & 0o777 == 0o600
        key = Bearer(key_in_file(key_file))
        timer = {"name": "daily", "cron": "0 9 * * *", "notifyHTTPParam": notify}
        timer_id = requests.post(url, json=timer, auth=key, timeout=5).json()["id"]
        first.process.kill()
        first.process.wait()
        assert wait_for(lambda: not first.living(), seconds=10), "SIGKILL of the supervisor left orphans"
        second = up(tmp_path, port, with_keys())
        second.await_line("Ctrl-C", seconds=30)
        # The key still counts.
        answer = requests.get(url, params={"id": timer_id}, auth=key, timeout=5).json()
        assert answer["data"]["name"] == "daily"
        second.process.send_signal(signal.SIGTERM)
        assert second.process.wait(30) == 0
        assert second.living() == []
    finally:
        first.end()
