"""The service's own distribution, installed where nothing of this repository is: `wangtimer up` runs from it."""

import signal
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest
import requests

from tests.client.flaky import flaky
from tests.linked_environment import LinkedEnvironment
from tests.patience import wait_for
from tests.stack.commands import Command
from wangtimer.client.api_key import Bearer, key_in_file
from wangtimer.stack.ports import free_port

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
# Of this process' environment nothing that leads to this repository.
PLAIN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]


@dataclass(frozen=True, slots=True)
class Built:
    """What a release is made of."""

    wheel: Path
    sdist: Path


def build(sources: Path, folder: Path, *targets: str) -> None:
    wanted = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", *wanted, "-d", str(folder)]
    subprocess.run(command, cwd=sources, check=True, capture_output=True, timeout=200)


def contents(wheel: Path) -> dict[str, bytes]:
    with ZipFile(wheel) as files:
        return {name: files.read(name) for name in files.namelist()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    build(ROOT, folder, "sdist", "wheel")
    return Built(folder / f"wangtimer-{VERSION}-py3-none-any.whl", folder / f"wangtimer-{VERSION}.tar.gz")


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> LinkedEnvironment:
    return LinkedEnvironment.of_wheel(tmp_path_factory.mktemp("installed") / "venv", built.wheel)


@pytest.fixture
def up(installed: LinkedEnvironment, tmp_path: Path) -> Iterator[tuple[Command, str]]:
    """The service, run by the installed command, and where it listens."""
    port = free_port()
    argv = ("up", "--data-dir", str(tmp_path / "data"), "--port", str(port))
    command = Command(tmp_path, *argv, program=str(installed.command("wangtimer")), environment=PLAIN)
    yield command, f"http://127.0.0.1:{port}"
    command.end()


def test_the_source_distribution_makes_the_same_wheel(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as files:
        files.extractall(tmp_path)
    build(tmp_path / f"wangtimer-{VERSION}", tmp_path, "wheel")
    assert contents(tmp_path / built.wheel.name) == contents(built.wheel)


def test_the_command_is_of_this_version_and_of_its_own_environment(installed: LinkedEnvironment) -> None:
    said = subprocess.run(
        [installed.command("wangtimer"), "--version"], env=PLAIN, capture_output=True, text=True, timeout=100
    )
    assert said.stdout.split()[-1] == VERSION, said.stderr
    asked = [installed.python, "-I", "-c", "import wangtimer; print(wangtimer.__path__[0])"]
    found = subprocess.run(asked, env=PLAIN, capture_output=True, text=True, timeout=100)
    assert installed.folder in Path(found.stdout).parents, found.stderr


def test_a_timer_fires_from_it(up: tuple[Command, str], tmp_path: Path) -> None:
    command, url = up
    command.await_line("Ctrl-C", seconds=120)
    with flaky() as target:
        timer = {
            "schedule": {"delay": "1s"},
            "target": {"url": f"{target.url}/expire", "json": {"order": 42}},
        }
        key = Bearer(key_in_file(tmp_path / "data" / "key"))
        made = requests.post(f"{url}/v1/timers", json=timer, auth=key, timeout=30)
        assert made.status_code == 201, made.text
        assert wait_for(lambda: target.came, seconds=60), command.output()
    method, path, headers = target.came[0]
    assert (method, path, target.bodies[0]) == ("POST", "/expire", {"order": 42})
    assert headers["User-Agent"] == f"WangTimer/{VERSION}"
    command.process.send_signal(signal.SIGTERM)
    assert command.process.wait(60) == 0
    assert command.living() == []
